package behaviour

import (
	"math"

	"floe/internal/curriculum"
	"floe/internal/env"
	"floe/internal/experiment"
)

// trend is Kendall's tau-b between the place of a size on the ladder and the
// field: concordant less discordant pairs, over the root of the pairs not tied in
// the one times those not tied in the other. Of the knobs only sizes with samples
// count: elsewhere they mean nothing. Nil when no two sizes differ.
func (f field) trend(c experiment.Curriculum, space env.Space) *float64 {
	var values []float64
	for _, size := range space.Sizes {
		if row, _ := c.Row(size); f.name == curriculum.FieldShare || row.DataRatio > 0 {
			values = append(values, f.of(c, size))
		}
	}
	agree, pairs, untied := 0, 0, 0
	for i, low := range values {
		for _, high := range values[i+1:] {
			pairs++
			switch {
			case high > low:
				agree++
				untied++
			case high < low:
				agree--
				untied++
			}
		}
	}
	if untied == 0 {
		return nil
	}
	tau := float64(agree) / math.Sqrt(float64(untied)*float64(pairs))
	return &tau
}

// fellBy is by how many standard errors a valid rate must drop to count as
// fallen: one. At 50 answers per size that is about ten points at even odds.
const fellBy = 1

// correction counts what becomes of the moves of the last design. A move is a
// setting of a size that it changed; validation contradicts it if the size's valid
// rate fell afterwards, whatever the direction of the move: more samples or fewer,
// harder or easier. Sizes without answers in either round do not count.
func correction(m *experiment.Measures, asked experiment.Curriculum, before, last Round, space env.Space) {
	for _, size := range space.Sizes {
		was, is := before.Scorecard.Of(size), last.Scorecard.Of(size)
		if was.N == 0 || is.N == 0 {
			continue
		}
		moves, reversed := 0, 0
		for _, f := range fields(space) {
			move := f.move(before.Curriculum, last.Curriculum, size)
			if move == 0 {
				continue
			}
			moves++
			if f.move(last.Curriculum, asked, size) == -move {
				reversed++
			}
		}
		if fell(was, is) {
			m.Contradicted += moves
			m.Reversed += reversed
		} else {
			m.Upheld += moves
			m.Undone += reversed
		}
	}
}

// fell compares two rates by the standard error of their difference, with the
// variance of the pooled rate.
func fell(was, is experiment.Rates) bool {
	pooled := float64(was.Valid+is.Valid) / float64(was.N+is.N)
	se := math.Sqrt(pooled * (1 - pooled) * (1/float64(was.N) + 1/float64(is.N)))
	return is.ValidRate() < was.ValidRate()-fellBy*se
}
