package trainjob

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"floe/internal/devtest/skill"
	"floe/internal/env"
	"floe/internal/job"
)

// train makes the steps that are left.
func (a *attempt) train(ctx context.Context) error {
	if why := a.asked(); why != "" {
		return ends(job.ExitStopped, "%s before the first step of this attempt", why)
	}
	referee, err := startReferee(ctx, a.spec.Reward, a.dataset, a.out)
	if err != nil {
		return ends(job.ExitBadSpec, "reward.referee: %v", err)
	}
	defer referee.end()
	if a.done == 0 { // a fault is due once its step was made, not where an attempt goes on from it
		if err := a.fault(); err != nil {
			return err
		}
	}
	for a.done < a.spec.ExpectedSteps {
		if err := a.step(referee); err != nil {
			return err
		}
		if err := a.progress(ctx, job.PhaseTraining); err != nil {
			return err
		}
		if err := a.fault(); err != nil {
			return err
		}
		last := a.done == a.spec.ExpectedSteps
		if last || a.done%a.settings.SaveEvery == 0 {
			if err := a.save(ctx); err != nil {
				return err
			}
		}
		if why := a.asked(); why != "" && !last {
			return a.halt(ctx, why)
		}
	}
	return nil
}

// halt saves and ends as asked.
func (a *attempt) halt(ctx context.Context, why string) error {
	if a.saved < a.done {
		if err := a.save(ctx); err != nil {
			return err
		}
	}
	return ends(job.ExitStopped, "%s after step %d", why, a.done)
}

// step samples a group of answers to each task of the batch, has them scored, and
// learns from the groups whose rewards differ.
func (a *attempt) step(referee *referee) error {
	began := time.Now()
	n := a.done + 1
	tasks := a.batch(n)
	answers, err := a.sample(n, tasks)
	if err != nil {
		return err
	}
	verdicts, err := referee.score(answers, a.state)
	if err != nil {
		return err
	}
	if wait := a.faults.slow; wait > 0 {
		time.Sleep(wait)
	}
	m := summarise(verdicts, a.settings.Rollouts, a.spec.Reward.Settings)
	m.set("weight_acc", verdicts[0].Weights.Accuracy)
	m.set("weight_len", verdicts[0].Weights.Length)
	m.set("epoch", float64(n*a.settings.Batch)/float64(len(a.tasks)))
	m.set("learning_rate", a.settings.LearningRate)
	m.set("loss", -m.of("reward"))
	if a.faults.due("nan", n) != nil {
		m["loss"] = nil
	}
	a.skill += (1 - a.skill) * skill.Skill(a.settings.gain()*m.of("spread"))
	a.state.Answers += int64(len(verdicts))
	a.state.Within += int64(math.Round(m.of("within_rate") * float64(len(verdicts))))
	a.done = n
	seconds := time.Since(began).Seconds()
	m.set("step_seconds", seconds)
	m.set("tokens_per_second", m.of("answers")*m.of("answer_tokens")/seconds)
	a.seconds, a.data = &seconds, m
	return errors.Join(a.tell(tasks, m), finite(n, m["loss"]))
}

func finite(step int, loss *float64) error {
	if loss == nil {
		return ends(job.ExitBadData, "the loss of step %d is not finite", step)
	}
	return nil
}

// sample draws the answers of a step; those to one task stand together. What is
// drawn depends on the job's seed, the step and the skill alone.
func (a *attempt) sample(step int, tasks []env.Task) ([]answer, error) {
	var answers []answer
	for i, t := range tasks {
		e, p, err := skill.Open(a.spec.Reward.Environment, t)
		if err != nil {
			return nil, ends(job.ExitBadData, "%v", err)
		}
		for k := range a.settings.Rollouts {
			text, err := a.skill.Solve(e, p, strings.Join([]string{a.spec.Seed, strconv.Itoa(step), strconv.Itoa(i), strconv.Itoa(k)}, "/"))
			if err != nil {
				return nil, ends(job.ExitBadData, "task %s: %v", t.ID, err)
			}
			answers = append(answers, answer{ID: fmt.Sprintf("%d.%d.%d", step, i, k), Task: t.ID, Text: text})
		}
	}
	return answers, nil
}

// tell writes down a step.
func (a *attempt) tell(tasks []env.Task, m metrics) error {
	ids := make([]string, len(tasks))
	for i, t := range tasks {
		ids[i] = t.ID
	}
	line, err := json.Marshal(job.Metrics{Step: a.done, Time: time.Now().UTC(), Attempt: a.number, Data: m})
	if err != nil {
		return err
	}
	sample, err := json.Marshal(map[string]any{"step": a.done, "ids": ids})
	if err != nil {
		return err
	}
	a.say("step %d of %d: reward %.3f, skill %.4f", a.done, a.spec.ExpectedSteps, m.of("reward"), float64(a.skill))
	return errors.Join(a.add(a.own("metrics", "jsonl"), line), a.add(a.own("samples", "jsonl"), sample),
		a.note(skill.Entry{Event: skill.EventStep, Step: a.done, IDs: ids}))
}

func (a *attempt) progress(ctx context.Context, phase string) error {
	p := job.Progress{
		Schema: job.ProgressSchema, JobID: a.id, Attempt: a.number, Phase: phase, Step: a.done,
		TotalSteps: max(a.spec.ExpectedSteps, a.done), Updated: time.Now().UTC(), StepSeconds: a.seconds, Metrics: a.data,
	}
	if a.seconds != nil {
		left := *a.seconds * float64(p.TotalSteps-p.Step)
		p.RemainingSeconds = &left
	}
	if p.Metrics == nil {
		p.Metrics = map[string]*float64{}
	}
	body, err := json.Marshal(p)
	if err != nil {
		return err
	}
	if err := a.local.Put(ctx, fileProgress, body); err != nil || a.mirror == nil {
		return err
	}
	if err := a.mirror.Put(ctx, fileProgress, body); err != nil { // costs the worker news, and not the job
		a.say("%s was not put: %v", fileProgress, err)
	}
	return nil
}

// asked says why to stop, or nothing.
func (a *attempt) asked() string {
	select {
	case s := <-a.stop:
		a.stop <- s // for whoever asks again
		return s.String() + " received"
	default:
	}
	if !a.until.IsZero() && time.Now().After(a.until) {
		return "limits.wall_seconds reached"
	}
	body, err := os.ReadFile(filepath.Join(a.path, fileStop))
	const every = 10 * time.Second // looks into a store
	if err != nil && a.mirror != nil && time.Since(a.looked) >= every {
		a.looked = time.Now()
		body, err = fs.ReadFile(a.mirror, fileStop)
	}
	if err != nil {
		return ""
	}
	text := strings.TrimSpace(string(body))
	if n, err := strconv.Atoi(text); err == nil && n < a.number {
		return "" // it is meant for an earlier attempt
	}
	return fileStop + " found"
}

// fault does what was asked to go wrong after a step.
func (a *attempt) fault() error {
	if a.faults.due("kill", a.done) != nil {
		a.say("kills itself after step %d", a.done)
		return syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	if f := a.faults.due("exit", a.done); f != nil {
		return ends(f.value, "meant to end with %d after step %d", f.value, a.done)
	}
	if a.faults.due("hang", a.done) != nil {
		a.say("hangs after step %d", a.done)
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT)
		if err := a.note(skill.Entry{Event: skill.EventHold, Step: a.done}); err != nil {
			return err
		}
		select {}
	}
	if a.faults.due("hold", a.done) != nil {
		return a.wait()
	}
	return nil
}

// wait holds the training until the file is there that lets it go, or it is asked
// to stop.
func (a *attempt) wait() error {
	a.say("holds after step %d", a.done)
	if err := a.note(skill.Entry{Event: skill.EventHold, Step: a.done}); err != nil {
		return err
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for a.asked() == "" {
		if _, err := os.Stat(os.Getenv(EnvGo)); err == nil { //nolint:gosec // the test that started us named it
			return nil
		}
		<-tick.C
	}
	return nil
}
