package workflows_test

import (
	"testing"

	"floe/activities"
	"floe/internal/plan"
	"floe/workflows"
)

func TestProgressOfAnEndedStepIsOutdated(t *testing.T) {
	at := func(round int, step string, done int) activities.Progress {
		return activities.Progress{Round: round, Step: step, Done: done, Total: 10}
	}
	for _, c := range []struct {
		name     string
		p, known activities.Progress
		want     bool
	}{
		{"an earlier round", at(1, plan.KindDesign, 9), at(2, "starting", 0), true},
		{"an earlier step of the round", at(2, plan.KindTrain, 9), at(2, plan.KindEvaluate, 1), true},
		{"an earlier step while paused before the next", at(2, plan.KindTrain, 9), at(2, "before "+plan.KindEvaluate, 0), true},
		{"a step before its decision", at(2, plan.KindDesign, 1), at(2, plan.KindDecision, 0), true},
		{"a signal after a heartbeat", at(2, plan.KindTrain, 4), activities.Progress{Round: 2, Step: plan.KindTrain, Done: 5, Attempt: 1}, true},
		{"more of the same step", at(2, plan.KindTrain, 6), at(2, plan.KindTrain, 5), false},
		{"the next step", at(2, plan.KindEvaluate, 0), at(2, plan.KindTrain, 9), false},
		{"the first step", at(2, plan.KindGenerate, 0), at(2, "starting", 0), false},
		{"the next round", at(3, "starting", 0), at(2, plan.KindDesign, 0), false},
		{"a step of no order", at(3, "publish", 0), at(3, plan.KindTrain, 5), false},
		{"another attempt from the start", activities.Progress{Step: plan.KindTrain, Total: 10, Attempt: 2}, activities.Progress{Step: plan.KindTrain, Done: 5, Total: 10, Attempt: 1}, false},
	} {
		if got := workflows.Outdated(c.p, c.known); got != c.want {
			t.Errorf("%s: outdated = %v; want %v", c.name, got, c.want)
		}
	}
}

func TestAnEndedStepLeavesTheStatus(t *testing.T) {
	s := newStage(t, nil)
	s.design = func(in activities.DesignInput) activities.Designed {
		s.SignalWorkflow(workflows.SignalProgress, activities.Progress{Round: in.Where.Round, Step: plan.KindDesign, Done: 9, Total: 10})
		return activities.Designed{Done: done("design", in.Where.Round), Outcome: "ok"}
	}
	s.ExecuteWorkflow(workflows.Experiment, workflows.ExperimentInput{Spec: spec()})
	v, err := s.QueryWorkflow(workflows.QueryStatus)
	if err != nil {
		t.Fatal(err)
	}
	var status workflows.Status
	if err := v.Get(&status); err != nil {
		t.Fatal(err)
	}
	if p := status.Progress; p.Round != 2 || p.Step != "" || !status.Reported(1) {
		t.Errorf("after round 1's design the progress is %+v; want that of the benchmarks", p)
	}
}
