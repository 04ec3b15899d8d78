package rule

import (
	"fmt"
	"math"
	"strings"

	"floe/internal/curriculum"
	"floe/internal/designer"
	"floe/internal/env"
	"floe/internal/experiment"
)

// linear goes from easy to hard over the rounds, whatever validation finds: a
// competence-based curriculum whose competence grows linearly (Platanios et al.
// 2019, arXiv:1903.09848). With n sizes and the next round r of R, counted from 0,
//
//	t = r / (R-1)                    from 0 in the first round to 1 in the last
//	c = 1/n + (1 - 1/n) t            competence: the part of the ladder that is open
//	share of size i, from 0, = clamp(c n - i, 0, 1) / (c n)
//	knob = easy + (hard - easy) t    between the environment's own ends
//
// so that the open part of the ladder shares the samples evenly, and the last round
// has all sizes. Starting at the easiest size alone, and the knobs, are ours.
func linear(in designer.Request) (designer.Proposal, error) {
	if in.Shown.Training == nil {
		return designer.Proposal{}, hidden("linear", "which round of how many this is")
	}
	next, rounds := in.Shown.Training.Round+1, in.Shown.Training.Rounds
	t := 1.0
	if next < rounds {
		t = float64(next) / float64(rounds-1)
	}
	asked := climb(in.Space, t)
	return designer.Proposal{Asked: asked, Rationale: climbed(in.Space, asked, t)}, nil
}

func climb(space env.Space, t float64) experiment.Curriculum {
	n := float64(len(space.Sizes))
	open := 1 + (n-1)*t // c n
	shares := make([]float64, len(space.Sizes))
	for i := range shares {
		shares[i] = max(0, min(1, open-float64(i))) / open
	}
	var c experiment.Curriculum
	for i, thousandths := range curriculum.Apportion(shares, parts) {
		row := experiment.Row{Size: space.Sizes[i], DataRatio: float64(thousandths) / parts}
		for _, k := range space.Knobs {
			v := math.Round(1000*(k.Easy+(k.Hard-k.Easy)*t)) / 1000
			row.Knobs = append(row.Knobs, experiment.Knob{Name: k.Name, Value: max(k.Min, min(k.Max, v))})
		}
		c.Rows = append(c.Rows, row)
	}
	return c
}

func climbed(space env.Space, asked experiment.Curriculum, t float64) string {
	last := 0
	for i, row := range asked.Rows {
		if row.DataRatio > 0 {
			last = i
		}
	}
	parts := []string{fmt.Sprintf("The next round is %s of the way from easy to hard: sizes up to %s share the samples", percent(t), asked.Rows[last].Size)}
	for i, k := range space.Knobs {
		parts = append(parts, fmt.Sprintf("%s is %s on its way from %s to %s", k.Name, number(asked.Rows[0].Knobs[i].Value), number(k.Easy), number(k.Hard)))
	}
	return strings.Join(append(parts, "whatever validation finds."), ", ")
}
