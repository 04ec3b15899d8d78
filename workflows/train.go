package workflows

import (
	"errors"
	"time"

	"go.temporal.io/sdk/workflow"

	"floe/activities"
)

// train does a round's training. A job that only one machine can see is waited for
// there; one whose step was cancelled or has failed for good is ended, so that it
// holds no device that nobody waits for.
func train(ctx workflow.Context, in RoundInput, g *gate, input activities.TrainInput) (activities.Trained, error) {
	w := trainWait(in.Spec)
	for {
		out, err := step(ctx, in, g, w, "train", in.summary("train %d epochs", in.Spec.Epochs), do.Train, input)
		if err != nil {
			if in.Spec.Trainer.TrainsModel() {
				stopTraining(ctx, in, stopWait(w), input)
			}
			return out, err
		}
		if out.Elsewhere == "" {
			return out, nil
		}
		note(ctx, in, "the training is at work on %s; waits for a worker there", out.Elsewhere)
		w = w.on(out.Elsewhere)
	}
}

// stopStart is how long a job that is to be stopped waits for a worker that can: a
// machine that is gone must not keep an experiment from ending.
const stopStart = 15 * time.Minute

// stopTraining ends the job of a training and waits until it is gone, also when the
// round was cancelled. What cannot be stopped is told, in the log and in the UI.
func stopTraining(ctx workflow.Context, in RoundInput, w wait, input activities.TrainInput) {
	cancelled := errors.Is(ctx.Err(), workflow.ErrCanceled)
	ctx, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	if cancelled {
		note(ctx, in, "cancelled; the training's job is being stopped")
	}
	for {
		out, err := call(ctx, w, in.Spec.Limits, in.summary("stop the training's job"), do.StopTraining, input)
		switch {
		case err != nil:
			workflow.GetLogger(ctx).Error("the job of a training may still be at work: it could not be stopped", "error", err)
			note(ctx, in, "its job may still be at work: it could not be stopped: %s", deepest(err))
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
