package curriculum_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"floe/internal/curriculum"
	"floe/internal/experiment"
)

// dry refuses rows with more holes than bound says for their size.
func dry(bound map[string]float64) func(experiment.Row) error {
	return func(r experiment.Row) error {
		if holes, _ := r.Knob("hole_ratio"); holes > bound[r.Size] {
			return fmt.Errorf("too many holes\nfor the agents")
		}
		return nil
	}
}

func TestFitEasesARowUntilItCanBeDrawn(t *testing.T) {
	c := even()
	c.Rows[0].Knobs[0].Value = 0.5
	got, repairs, err := curriculum.Fit(c, pond(), dry(map[string]float64{"3x3": 0.3, "4x4": 1, "5x5": 1}))
	if err != nil {
		t.Fatal(err)
	}
	want := even()
	want.Rows[0] = row("3x3", 0.5, 0.25, 0.1, 1.5)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v; want %v", got, want)
	}
	said := `3x3 hole_ratio 0.50 -> 0.25: easier, since no task can be drawn otherwise
3x3 wait_ratio 0.20 -> 0.10: easier, since no task can be drawn otherwise
3x3 depth 2.00 -> 1.50: easier, since no task can be drawn otherwise`
	if got := strings.Join(repairs, "\n"); got != said {
		t.Errorf("repairs\n%s\nwant\n%s", got, said)
	}
}

func TestFitSharesOutWhatCannotBeDrawn(t *testing.T) {
	got, repairs, err := curriculum.Fit(even(), pond(), dry(map[string]float64{"3x3": -1, "4x4": 1, "5x5": 1}))
	want := even()
	want.Rows[0].DataRatio, want.Rows[1].DataRatio, want.Rows[2].DataRatio = 0, 0.5, 0.5
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
	if len(repairs) != 1 || repairs[0] != "3x3 gets no samples: too many holes; for the agents" {
		t.Errorf("repairs %q", repairs)
	}
}

func TestFitLeavesWhatCanBeDrawnAlone(t *testing.T) {
	for seed := range uint64(50) {
		c := random(t, seed)
		got, repairs, err := curriculum.Fit(c, pond(), func(experiment.Row) error { return nil })
		if err != nil || len(repairs) > 0 || !reflect.DeepEqual(got, c) {
			t.Fatalf("seed %d: got %v, %v, %v", seed, got, repairs, err)
		}
	}
}

func TestFitDoesNotAskForRowsWithoutSamples(t *testing.T) {
	c := of(row("3x3", 0, 0.5, 0, 1), row("4x4", 1, 0.1, 0, 1), row("5x5", 0, 0.5, 0, 1))
	got, repairs, err := curriculum.Fit(c, pond(), dry(map[string]float64{"3x3": -1, "4x4": 1, "5x5": -1}))
	if err != nil || len(repairs) > 0 || !reflect.DeepEqual(got, c) {
		t.Errorf("got %v, %v, %v", got, repairs, err)
	}
}

func TestFitFailsWhenNothingCanBeDrawn(t *testing.T) {
	_, _, err := curriculum.Fit(even(), pond(), func(r experiment.Row) error { return errors.New("no room") })
	want := "no size of the curriculum can be drawn: 3x3 gets no samples: no room; 4x4 gets no samples: no room; 5x5 gets no samples: no room"
	if err == nil || err.Error() != want {
		t.Errorf("got %v; want %s", err, want)
	}
}
