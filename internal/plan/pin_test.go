package plan_test

import (
	"testing"

	"floe/internal/designer"
	"floe/internal/env"
	"floe/internal/experiment"
	"floe/internal/plan"
)

// TestKeysStayWhatTheyWere pins the form of what keys digest. Another form makes
// every step of every store undone: that may be meant, and then the pins change.
func TestKeysStayWhatTheyWere(t *testing.T) {
	for _, c := range []struct {
		kind   string
		inputs any
		want   string
	}{
		{plan.KindCurriculum, plan.Curriculum{Environment: "e", Seed: 1}, "a66cadf33fc38f79"},
		{plan.KindWarmStart, plan.WarmStart{Environment: "e", Policy: "p", Epochs: 2, Seed: "s"}, "7641d2d2f64e145a"},
		{plan.KindGenerate, plan.Draw{Environment: "e", Orders: []env.Order{{Samples: 3}}}, "f8504f838859fb22"},
		{plan.KindTrain, plan.Train{Environment: "e", Policy: "p", Dataset: "d", Init: "i", Epochs: 2, Seed: "s"}, "8f112b858f2878f8"},
		{plan.KindEvaluate, plan.Evaluate{Environment: "e", Policy: "p", Dataset: "d", Weights: "w", Label: "l", Set: "v"}, "851e57c186daa1ec"},
		{plan.KindDesign, plan.Design{Designer: "d", Spec: experiment.DesignerSpec{Kind: "fixed"}, Evidence: designer.Evidence{Rounds: 3}, Seed: "s"}, "44bb71f448a8819c"},
	} {
		got, err := plan.Identify(experiment.Spec{Name: "x"}, c.kind, c.inputs, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got.ID.Key[:16] != c.want {
			t.Errorf("%s: %s; want %s", c.kind, got.ID.Key[:16], c.want)
		}
	}
}
