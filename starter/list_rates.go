package main

import (
	"context"
	"errors"
	"sync"
	"time"

	enumspb "go.temporal.io/api/enums/v1"

	"floe/internal/experiment"
	"floe/workflows"
)

// Bounds of the look-ups of a list.
const (
	lookUps     = 8
	lookUpsWait = 2 * time.Second
)

var errNotMeasured = errors.New("not measured yet")

// lookUpRates fills in what visibility does not know of the last validations: each
// experiment's workflow does. What cannot be asked in time stays unknown.
func (a *app) lookUpRates(ctx context.Context, all []listed) {
	ctx, cancel := context.WithTimeout(ctx, lookUpsWait)
	defer cancel()
	places := make(chan struct{}, lookUps)
	var wg sync.WaitGroup
	for i := range all {
		l := &all[i]
		if l.ValidRate == nil {
			continue
		}
		wg.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			if r, err := a.lastRates(ctx, *l); err == nil {
				valid, optimal := r.ValidRate(), r.OptimalRate()
				l.ValidRate, l.OptimalRate, l.N = &valid, &optimal, &r.N
			}
		})
	}
	wg.Wait()
}

// lastRates are those of an experiment's last validation. One that has ended well
// has left its result; another is asked, which needs a worker.
func (a *app) lastRates(ctx context.Context, l listed) (experiment.Rates, error) {
	run := a.temporal.GetWorkflow(ctx, workflows.ExperimentID(l.Name), l.runID)
	var rounds []workflows.RoundFigures
	if l.status == enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED {
		var out workflows.ExperimentResult
		if err := run.Get(ctx, &out); err != nil {
			return experiment.Rates{}, err
		}
		rounds = out.Rounds
	} else {
		status, err := query(ctx, a.temporal, run)
		if err != nil {
			return experiment.Rates{}, err
		}
		rounds = status.Done
	}
	if len(rounds) == 0 {
		return experiment.Rates{}, errNotMeasured
	}
	return rounds[len(rounds)-1].Rates, nil
}
