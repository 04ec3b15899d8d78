package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"floe/internal/devtest/skill"
	"floe/internal/devtest/trainjob"
	"floe/internal/job"
	"floe/internal/job/runner"
	"floe/workflows"
)

// fails are the settings of an experiment whose trainings have faults.
func fails(faults string) []string {
	return []string{"--set", fmt.Sprintf("job.env=[%q]", trainjob.EnvFaults+"="+faults)}
}

// history is what is known of the attempts at a round's job.
func (l *lab) history(name string, round int) []runner.Attempt {
	l.t.Helper()
	var h runner.History
	l.read(name, fmt.Sprintf("round-%d/train/attempts.json", round), &h)
	return h.Attempts
}

func TestATrainingOutlivesItsWorker(t *testing.T) {
	t.Parallel()
	l := openLab(t, impatient...)
	l.must(append([]string{"run", l.spec, "--detach", "--set", "rounds=1", "--set", "limits.attempts=1"}, fails("hold:3")...)...)
	at := l.holds(3)
	l.kill9("worker")
	l.until("the next worker to watch the job", func() bool {
		s := l.look("lm")
		return s.Status != nil && s.Status.Progress.Attempt > 1 && s.Status.Progress.Done == 3
	})
	l.tell("go", "")
	l.must("watch", "lm")
	h := l.history("lm", 0)
	if len(h) != 1 || h[0].Number != 1 || h[0].Outcome != job.Success {
		t.Errorf("attempts %+v; want one", h)
	}
	if starts := l.of(skill.EventStart); len(starts) != 1 || starts[0].PID != at.PID {
		t.Errorf("trainings were started as %+v; want process %d alone", starts, at.PID)
	}
	l.once()
	l.quiet()
}

// TestATrainingOutlivesTheServices stops all services, as a person does who closes the
// laptop's terminal, and starts them again.
func TestATrainingOutlivesTheServices(t *testing.T) {
	t.Parallel()
	l := openLab(t, impatient...)
	l.must(append([]string{"run", l.spec, "--detach", "--set", "rounds=1"}, fails("hold:3")...)...)
	at := l.holds(3)
	l.shut()
	l.ended = true
	if !l.alive(at.PID) {
		t.Error("the training has ended with the worker")
	}
	l.machine = bootOn(t, l.data, l.env...)
	l.tell("go", "")
	l.must("watch", "lm")
	if h := l.history("lm", 0); len(h) != 1 || h[0].Outcome != job.Success {
		t.Errorf("attempts %+v; want one", h)
	}
	l.once()
	l.quiet()
}

// TestAKilledTrainingGoesOnAsIfNothingHadHappened compares with an experiment that
// shares no work and is left alone.
func TestAKilledTrainingGoesOnAsIfNothingHadHappened(t *testing.T) {
	t.Parallel()
	l := openLab(t)
	l.must("run", l.spec, "--set", "rounds=1", "--set", "share=false")
	l.must(append([]string{"run", l.spec, "--name", "killed", "--set", "rounds=1", "--set", "share=false", "--detach"}, fails("hold:3@1,tear:4@2")...)...)
	l.kill(l.holds(3).PID)
	l.must("watch", "killed")
	var outcomes []job.Outcome
	for _, a := range l.history("killed", 0) {
		outcomes = append(outcomes, a.Outcome)
	}
	if want := []job.Outcome{job.Interrupted, job.Interrupted, job.Success}; !slices.Equal(outcomes, want) {
		t.Errorf("attempts ended with %v; want %v", outcomes, want)
	}
	const weights = "round-0/train/checkpoint/adapter_model.safetensors"
	if calm, killed := l.sums("lm")[weights], l.sums("killed")[weights]; calm == "" || calm != killed {
		t.Errorf("the killed training left the weights %s; want %s", killed, calm)
	}
	calm, killed := l.samples("lm", 0), l.samples("killed", 0)
	for step := 1; step <= 6; step++ {
		if calm[step] == "" || calm[step] != killed[step] {
			t.Errorf("step %d had the tasks %q; want %q", step, killed[step], calm[step])
		}
	}
	l.quiet()
}

func TestCancelEndsTheJob(t *testing.T) { //nolint:tparallel // its parts go one after the other on one machine
	t.Parallel()
	l := openLab(t)
	l.must(append([]string{"run", l.spec, "--detach"}, fails("hold:3")...)...)
	l.holds(3)
	l.must("cancel", "lm", "--reason", "a test of cancelling")
	l.gone("lm")
	l.quiet()
	if ends := l.of(skill.EventEnd); len(ends) != 1 || ends[0].Exit != job.ExitStopped {
		t.Errorf("the training ended with %+v; want that it was let save", ends)
	}
	if *record {
		l.record("exp-lm-round-0", "round-model-cancelled.json")
	}
	t.Run("and the next run goes on from what it saved", func(t *testing.T) {
		l.tell("go", "")
		l.must(append([]string{"run", l.spec, "--set", "rounds=1", "--name", "next"}, fails("hold:3")...)...)
		l.once()
	})
}

// TestCancelEndsTheJobOfADeadWorker cancels before anybody has noticed that the worker
// which watched the job is gone.
func TestCancelEndsTheJobOfADeadWorker(t *testing.T) {
	t.Parallel()
	l := openLab(t, impatient...)
	l.must(append([]string{"run", l.spec, "--detach"}, fails("hold:3")...)...)
	l.holds(3)
	l.kill(l.child("worker"))
	l.must("cancel", "lm", "--reason", "a test of cancelling")
	l.gone("lm")
	l.quiet()
}

func TestCancelEndsTheServer(t *testing.T) {
	t.Parallel()
	for _, event := range []string{skill.EventAnswer, skill.EventDesign} {
		t.Run(event, func(t *testing.T) {
			t.Parallel()
			l := openLab(t)
			l.tell("hold", event)
			l.must("run", l.spec, "--detach")
			l.until("a server that is asked", func() bool { return l.asks("lm", event) })
			l.must("cancel", "lm", "--reason", "a test of cancelling")
			l.gone("lm")
			l.quiet()
		})
	}
}

// asks says whether a server is at work on questions that get no answer.
func (l *lab) asks(name, event string) bool {
	s := l.look(name)
	if s.Status == nil || len(l.of(skill.EventServe)) == 0 {
		return false
	}
	p := s.Status.Progress
	return event == skill.EventDesign && p.Step == "design" || event == skill.EventAnswer && strings.Contains(p.Note, "0 answered")
}

func TestAHopelessTrainingWaitsForADecision(t *testing.T) {
	t.Parallel()
	l := openLab(t)
	_, errOut, code := l.starter(append([]string{"run", l.spec, "--set", "rounds=1"}, fails("nan:2")...)...)
	if code != exitFailed || !strings.Contains(errOut, "the loss of step 2 is not finite") {
		t.Errorf("exit code %d, %s", code, errOut)
	}
	if starts := l.of(skill.EventStart); len(starts) != 1 {
		t.Errorf("%d attempts; want one, as the same fails again", len(starts))
	}
	if lines := l.must("logs", "lm", "--step", "train"); !strings.Contains(lines, "step 1 of 6") {
		t.Errorf("what the job printed is not in the log of its step:\n%s", lines)
	}
	l.quiet()
	l.must(append([]string{"retry", "lm", "--reason", "the learning rate was not to blame"}, fails("")...)...)
	l.reaches("lm", workflows.StateDone)
	l.quiet()
}

func TestATrainingThatNeverWorksIsGivenUp(t *testing.T) {
	t.Parallel()
	l := openLab(t)
	_, errOut, code := l.starter(append([]string{"run", l.spec, "--set", "rounds=1", "--set", "limits.attempts=2"}, fails("empty:0")...)...)
	if code != exitFailed || !strings.Contains(errOut, "result.json") {
		t.Errorf("exit code %d, %s", code, errOut)
	}
	if starts := l.of(skill.EventStart); len(starts) != 2 {
		t.Errorf("%d attempts; want 2", len(starts))
	}
}

func TestAHangingTrainingIsEnded(t *testing.T) {
	t.Parallel()
	l := openLab(t)
	l.must(append([]string{"run", l.spec, "--set", "rounds=1", "--set", "job.hang_minutes=0.1", "--set", "job.grace_seconds=1"}, fails("hang:3@1")...)...)
	h := l.history("lm", 0)
	if len(h) != 2 || h[0].Hung.IsZero() || h[0].Outcome != job.Failed || h[1].Outcome != job.Success {
		t.Errorf("attempts %+v; want one that stood still, and one that went on", h)
	}
	l.quiet()
}
