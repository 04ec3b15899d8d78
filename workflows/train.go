package workflows

import (
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"floe/activities"
	"floe/internal/experiment"
)

// train does a round's training. A job that only one machine can see is waited for
// there. One whose step was cancelled or has failed is ended, so that it does not hold
// a device for nothing; one that is merely out of sight goes on.
func train(ctx workflow.Context, in RoundInput, g *gate, input activities.TrainInput) (activities.Trained, error) {
	w := trainWait(in.Spec)
	host := ""
	for {
		out, err := step(ctx, in, g, w, "train", in.summary("train %d epochs", in.Spec.Epochs), do.Train, input)
		switch {
		case err != nil && in.Spec.Trainer.TrainsModel() && outOfSight(err):
			return out, in.leave(input, host, err)
		case err != nil && in.Spec.Trainer.TrainsModel():
			in.stopTraining(ctx, stopWait(w), input)
			return out, err
		case err != nil || out.Elsewhere == "":
			return out, err
		}
		note(ctx, in, "the training runs on %s; waiting for a worker there", out.Elsewhere)
		host = out.Elsewhere
		w = w.on(host)
	}
}

// LeftJob is the job of a training that went out of sight: what it works on, and the
// machine that alone can see it, if there is one.
type LeftJob struct {
	Dataset experiment.StepID `json:"dataset"`
	Init    experiment.StepID `json:"init"`
	Again   int               `json:"again,omitempty"`
	Host    string            `json:"host,omitempty"`
}

// outOfSight says whether a training failed because it could not be watched: a service
// was away, or its watchers died. That says nothing about its job.
func outOfSight(err error) bool {
	var app *temporal.ApplicationError
	if !errors.As(err, &app) || app.Type() != kindStep {
		return false
	}
	var f Failure
	return app.Details(&f) == nil && (f.Kind == activities.KindOutage || f.Kind == activities.KindTimeout)
}

// leave adds to a failure that the training's job goes on.
func (in RoundInput) leave(input activities.TrainInput, host string, err error) error {
	f := failureOf(err, in.Where.Round, "train", in.Spec.Limits)
	f.Job = &LeftJob{Dataset: input.Dataset, Init: input.Init, Again: input.Where.Again, Host: host}
	return f.err(in.Spec.Rounds, errors.Unwrap(err))
}

// stopStart is how long a job that is to be stopped waits for a worker that can: a
// machine that is gone must not keep an experiment from ending.
const stopStart = 15 * time.Minute

// stopTraining ends the job of a training and waits until it is gone, also when the
// round was cancelled. A job that cannot be stopped shows in the log and in the UI.
func (in RoundInput) stopTraining(ctx workflow.Context, w wait, input activities.TrainInput) {
	cancelled := errors.Is(ctx.Err(), workflow.ErrCanceled)
	ctx, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	if cancelled {
		note(ctx, in, "cancelled; stopping the training's job")
	}
	for {
		out, err := call(ctx, w, in.Spec.Limits, in.summary("stop the training's job"), do.StopTraining, input)
		switch {
		case err != nil:
			workflow.GetLogger(ctx).Error("the job of a training could not be stopped and may still run", "error", err)
			note(ctx, in, "its job could not be stopped and may still run: %s", activities.DeepestMessage(err))
			return
		case out.Left != "":
			workflow.GetLogger(ctx).Info("the job of a training was left alone", "why", out.Left)
			return
		case out.Elsewhere == "":
			return
		}
		w = w.on(out.Elsewhere)
	}
}

// stopLeft ends a job that an earlier failure had left to itself.
func (e *arm) stopLeft(ctx workflow.Context, round int, j *LeftJob) {
	if j == nil {
		return
	}
	in := RoundInput{Where: e.where, Spec: e.spec}
	in.Where.Round = round
	input := activities.TrainInput{Where: in.Where, Spec: e.spec, Dataset: j.Dataset, Init: j.Init}
	input.Where.Again = j.Again
	w := trainWait(e.spec)
	if j.Host != "" {
		w = w.on(j.Host)
	}
	in.stopTraining(ctx, stopWait(w), input)
}
