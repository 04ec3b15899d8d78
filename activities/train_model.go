package activities

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"

	"floe/internal/artifact"
	"floe/internal/experiment"
	"floe/internal/job"
	"floe/internal/job/runner"
	"floe/internal/job/trainspec"
	"floe/internal/plan"
)

// training is a step that trains a language model, with what it works on.
type training struct {
	in     TrainInput
	inputs plan.TrainModel
	data   artifact.Manifest
	rows   int
	init   model
}

func (a *Activities) training(ctx context.Context, in TrainInput) (training, error) {
	e, err := a.Environment(in.Spec.Environment)
	if err != nil {
		return training{}, badInput(err)
	}
	t := training{in: in}
	if t.data, err = plan.Need(ctx, a.Steps, in.Dataset); err != nil {
		return training{}, err
	}
	var drawn experiment.Conformance
	if err := a.Steps.ReadJSON(ctx, t.data, FileConformance, &drawn); err != nil {
		return training{}, err
	}
	t.rows = drawn.Realised
	if t.init, err = a.model(ctx, in.Init); err != nil {
		return training{}, err
	}
	t.inputs = plan.TrainModelOf(in.Spec, e, in.Where.Round, sumOf(t.data, FileDataset), t.init.sum)
	return t, nil
}

// trainModel trains a language model as a job, which outlives this worker: another
// attempt of this activity finds the job by its name and goes on watching. Only
// StopTraining ends a job.
func (a *Activities) trainModel(ctx context.Context, in TrainInput) (Trained, error) {
	if err := a.needsModels(); err != nil {
		return Trained{}, err
	}
	t, err := a.training(ctx, in)
	if err != nil {
		return Trained{}, classify(ctx, err)
	}
	var elsewhere *runner.ElsewhereError
	var left jobDir
	m, done, err := a.step(ctx, in.Where, in.Spec, plan.KindTrain, t.inputs, func(ctx context.Context, h *artifact.Hold, report func(int, int, string)) ([]artifact.Body, error) {
		files, d, err := a.runJob(ctx, h.ID(), t, report)
		errors.As(err, &elsewhere)
		left = d
		return files, err
	})
	if elsewhere != nil {
		return Trained{Elsewhere: elsewhere.Host}, nil
	}
	if err != nil {
		return Trained{}, err
	}
	if err := left.remove(ctx); err != nil {
		activity.GetLogger(ctx).Warn("the directory of a finished job was not removed", "step", m.ID.String(), "error", err)
	}
	var found experiment.Training
	if err := a.Steps.ReadJSON(ctx, m, FileTraining, &found); err != nil {
		return Trained{}, classify(ctx, err)
	}
	return Trained{Done: done, Steps: found.Steps, Rollouts: found.Rollouts, Decisions: found.Decisions}, nil
}

// runJob brings the job of a step to its end and collects what it left.
func (a *Activities) runJob(ctx context.Context, step experiment.StepID, t training, report func(int, int, string)) ([]artifact.Body, jobDir, error) {
	j, d, err := a.trainingJob(ctx, step, t)
	if err != nil {
		return nil, d, err
	}
	j.Report = func(done, total int, note string) {
		kept(ctx, done) // the job goes on without this worker
		report(done, total, note)
	}
	following, end := context.WithCancel(ctx)
	log := follow(following, j.Backend)
	defer log.wait()
	defer end()
	j.Backend = log
	j.Put = func(ctx context.Context) error {
		if t.in.Spec.Job.Backend == backendProcess {
			if err := a.device(ctx, d.job, func(text string) { report(0, j.Spec.ExpectedSteps, text) }); err != nil {
				return err
			}
			report(0, j.Spec.ExpectedSteps, "waits for model servers to end")
			if err := a.Models.Clear(ctx); err != nil {
				return fmt.Errorf("free the device: %w", err)
			}
		}
		return a.put(ctx, d, t, func(text string) { report(0, j.Spec.ExpectedSteps, text) })
	}
	verdict, history, err := j.Run(ctx)
	if _, ended := errors.AsType[*runner.EndedError](err); err == nil || ended {
		log.tail()
	}
	if err != nil {
		return nil, d, err
	}
	report(j.Spec.ExpectedSteps, j.Spec.ExpectedSteps, "storing the checkpoint")
	files, err := a.collectOutputs(ctx, t, j, d, verdict, history)
	return files, d, err
}

// backendProcess trains on the worker's own machine: its jobs are known there alone.
const backendProcess = "process"

// trainingJob is the job of a step and where its files are.
func (a *Activities) trainingJob(ctx context.Context, step experiment.StepID, t training) (runner.Job, jobDir, error) {
	s := t.in.Spec
	backend, err := a.Jobs(s)
	if err != nil {
		return runner.Job{}, jobDir{}, badInput(err)
	}
	d := a.jobDir(s)
	d.step = step
	inputs, err := d.inputs(a, t)
	if err != nil {
		return runner.Job{}, d, err
	}
	spec, err := trainspec.Spec(s, inputs)
	if err != nil {
		return runner.Job{}, d, badInput(err)
	}
	body, digest, err := spec.Marshal()
	if err != nil {
		return runner.Job{}, d, badInput(err)
	}
	d.job, d.spec = trainspec.Name(step, digest), body
	j := runner.Job{
		Backend: backend, Files: d.files(ctx), Spec: spec, Digest: digest,
		Request: d.request(s, digest), Record: record{a.Steps.Store, recordKey(step)},
		Work:     a.claimant(ctx, t.in.Where).Work,
		Attempts: s.Limits.Attempts, Resumes: s.Job.Resumes,
		Patience: job.Patience{Least: time.Duration(s.Job.Hang * float64(time.Minute))},
		Every:    a.JobPoll, Log: a.Steps.Log,
	}
	if s.Job.Backend == backendProcess {
		j.Host = a.Host
	}
	return j, d, nil
}

// StopTraining ends the job of a training that was cancelled or has failed, and
// returns when it is gone. A job that another experiment waits for goes on.
func (a *Activities) StopTraining(ctx context.Context, in TrainInput) (Stopped, error) {
	if err := a.needsModels(); err != nil {
		return Stopped{}, err
	}
	ctx, b := a.begin(ctx, in.Where, "stop the training")
	defer b.end()
	t, err := a.training(ctx, in)
	if err != nil {
		return Stopped{}, classify(ctx, err)
	}
	step, err := plan.Identify(in.Spec, plan.KindTrain, t.inputs, in.Where.Again)
	if err != nil {
		return Stopped{}, badInput(err)
	}
	holder, held, err := a.Steps.Holder(ctx, step.ID)
	if err != nil {
		return Stopped{}, classify(ctx, err)
	}
	if held && holder.Owner.Experiment != in.Where.Name {
		return Stopped{Left: "experiment " + holder.Owner.Experiment + " goes on with it"}, nil
	}
	j, _, err := a.trainingJob(ctx, step.ID, t)
	if err != nil {
		return Stopped{}, classify(ctx, err)
	}
	j.Report = b.report
	err = j.Stop(ctx)
	if elsewhere, ok := errors.AsType[*runner.ElsewhereError](err); ok {
		return Stopped{Elsewhere: elsewhere.Host}, nil
	}
	return Stopped{}, classify(ctx, err)
}
