package report

import (
	"testing"

	"floe/internal/experiment"
)

func TestASizeWithoutSamplesHasNoGap(t *testing.T) {
	wait := func(requested, realised float64) []experiment.Realised {
		return []experiment.Realised{{Name: "wait_ratio", Requested: requested, Realised: realised}}
	}
	round := experiment.RoundResult{Round: 1, Conformance: &experiment.Conformance{
		Requested: 10, Realised: 10, Rows: []experiment.ConformanceRow{
			{Size: "4x4", Requested: 10, Realised: 10, Knobs: wait(0.3, 0.4)},
			{Size: "10x10", Knobs: wait(0.87, 0)},
		},
	}}
	if got := conformanceRow(round, []string{"wait_ratio"})[4].Text; got != "+0.1 at 4x4" {
		t.Errorf("the largest gap is %q; want that of the size with samples", got)
	}
	if got := conformanceTable(round).Rows[1][5].Text; got != unknown {
		t.Errorf("10x10, which has no samples, realised %q; want %q", got, unknown)
	}
}
