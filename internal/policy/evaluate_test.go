package policy_test

import (
	"context"
	"errors"
	"math"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"floe/internal/policy"
)

func TestAnswersDoNotDependOnCoresOrPlace(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	problems := corridors(t, 50, "held out")
	evaluate := func(cores int) []policy.Answer {
		runtime.GOMAXPROCS(cores)
		answers, err := policy.Evaluate(t.Context(), newModel(t), problems, 1, "test", nil)
		if err != nil {
			t.Fatal(err)
		}
		return answers
	}
	one, four := evaluate(1), evaluate(4)
	if !reflect.DeepEqual(one, four) {
		t.Error("4 cores answer otherwise than 1")
	}
	slices.Reverse(problems)
	backward := evaluate(2)
	slices.Reverse(backward)
	if !reflect.DeepEqual(one, backward) {
		t.Error("a problem's answer depends on its place")
	}
}

func TestAnswersAreJudgedTexts(t *testing.T) {
	problems := corridors(t, 50, "held out")
	done := 0
	answers, err := policy.Evaluate(t.Context(), newModel(t), problems, 1, "test", func(d, total int) {
		if done++; d != done || total != 50 {
			t.Errorf("progress %d of %d; want %d of 50", d, total, done)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range answers {
		if want := problems[i].Judge(a.Text); !reflect.DeepEqual(a.Verdict, want) {
			t.Errorf("answer %q has verdict %+v; want %+v", a.Text, a.Verdict, want)
		}
	}
	if done != 50 {
		t.Errorf("progress was told %d times; want 50", done)
	}
}

func TestLowTemperatureIsNearlyGreedy(t *testing.T) {
	problems := corridors(t, 50, "held out")
	m := train(t, config(t, 3)).Model
	greedy, errA := policy.Evaluate(t.Context(), m, problems, 0, "a", nil)
	cold, errB := policy.Evaluate(t.Context(), m, problems, 0.001, "b", nil)
	if err := errors.Join(errA, errB); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(greedy, cold) {
		t.Error("answers at temperature 0.001 are not the most probable ones")
	}
}

func TestEvaluateRefusesBadTemperature(t *testing.T) {
	for _, temperature := range []float64{-1, math.NaN(), math.Inf(1)} {
		if _, err := policy.Evaluate(t.Context(), newModel(t), nil, temperature, "", nil); err == nil {
			t.Errorf("temperature %v went well; want an error", temperature)
		}
	}
}

func TestCancelledEvaluationStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, err := policy.Evaluate(ctx, newModel(t), corridors(t, 500, "held out"), 1, "", func(done, _ int) {
		if done == 10 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v; want %v", err, context.Canceled)
	}
}
