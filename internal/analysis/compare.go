package analysis

import (
	"math"
	"slices"

	"floe/internal/scorecard"
)

// Outcome is what one policy made of one instance.
type Outcome struct {
	ID      string
	Valid   bool
	Optimal bool
}

// Result is one cell's answers to one set. Set names the instances: pairs are
// only made where it is the same.
type Result struct {
	Arm      int
	Seed     int64
	Set      string
	Outcomes []Outcome
}

// Metrics are what is counted, by name.
var Metrics = []string{"valid", "optimal"}

func (o Outcome) counts(metric string) bool {
	if metric == "optimal" {
		return o.Optimal
	}
	return o.Valid
}

// Row is one arm and one metric.
type Row struct {
	Arm    string  `json:"arm"`
	Metric string  `json:"metric"`
	Wanted int     `json:"cells_wanted"` // cells of the arm
	Cells  int     `json:"cells"`        // of them that are complete; the rest are holes
	N      int     `json:"n"`            // answers, pooled over seeds
	K      int     `json:"k"`            // of them that count
	Rate   float64 `json:"rate"`
	Low    float64 `json:"low"` // Wilson 95 %, over instances; the spread between seeds comes on top
	High   float64 `json:"high"`
	Seeds  Spread  `json:"seeds"`
	Versus *Versus `json:"versus,omitempty"` // nil for the baseline, and where nothing can be paired
}

// Spread is how a rate differs between seeds.
type Spread struct {
	Mean float64  `json:"mean"`
	SD   *float64 `json:"sd"` // sample standard deviation; null for fewer than two
	Min  float64  `json:"min"`
	Max  float64  `json:"max"`
}

// Versus is an arm's difference to the baseline on the same instances of the same
// seeds.
type Versus struct {
	Baseline   string  `json:"baseline"`
	Pairs      Pairs   `json:"pairs"` // first is the arm
	Difference float64 `json:"difference"`
	Low        float64 `json:"low"` // Newcombe 95 %, over instances
	High       float64 `json:"high"`
	P          float64 `json:"p"`      // McNemar, exact
	PHolm      float64 `json:"p_holm"` // adjusted for the arms compared
	Seeds      Spread  `json:"seeds"`  // of the differences, seed by seed
	Better     int     `json:"better"` // seeds in which the arm is ahead
	Worse      int     `json:"worse"`
}

// Table compares arms on one set: for each metric a row per arm, in order. Wanted
// is how many cells each arm has.
func Table(arms []string, wanted []int, baseline int, results []Result) []Row {
	var rows []Row
	for _, metric := range Metrics {
		first := len(rows)
		for arm, name := range arms {
			rows = append(rows, row(name, arm, wanted[arm], baseline, metric, results))
			if v := rows[len(rows)-1].Versus; v != nil {
				v.Baseline = arms[baseline]
			}
		}
		adjust(rows[first:])
	}
	return rows
}

func row(name string, arm, wanted, baseline int, metric string, results []Result) Row {
	r := Row{Arm: name, Metric: metric, Wanted: wanted}
	var perSeed, diffs []float64
	var pairs Pairs
	for _, own := range results {
		if own.Arm != arm || len(own.Outcomes) == 0 {
			continue
		}
		k := count(own.Outcomes, metric)
		r.Cells++
		r.K += k
		r.N += len(own.Outcomes)
		perSeed = append(perSeed, float64(k)/float64(len(own.Outcomes)))
		other := slices.IndexFunc(results, func(o Result) bool { return o.Arm == baseline && o.Seed == own.Seed && o.Set == own.Set })
		if arm == baseline || other < 0 {
			continue
		}
		if p := pair(own.Outcomes, results[other].Outcomes, metric); p.N() > 0 {
			pairs = pairs.Plus(p)
			diffs = append(diffs, p.Difference())
		}
	}
	if r.N > 0 {
		r.Rate = float64(r.K) / float64(r.N)
	}
	r.Low, r.High = scorecard.Wilson(r.K, r.N, scorecard.Z95)
	r.Seeds = spread(perSeed)
	if pairs.N() > 0 {
		r.Versus = versus(pairs, diffs)
	}
	return r
}

func count(outcomes []Outcome, metric string) int {
	k := 0
	for _, o := range outcomes {
		if o.counts(metric) {
			k++
		}
	}
	return k
}

// pair matches instances by name.
func pair(first, second []Outcome, metric string) Pairs {
	right := make(map[string]bool, len(second))
	for _, o := range second {
		right[o.ID] = o.counts(metric)
	}
	var p Pairs
	for _, o := range first {
		b, there := right[o.ID]
		switch a := o.counts(metric); {
		case !there:
		case a && b:
			p.Both++
		case a:
			p.First++
		case b:
			p.Second++
		default:
			p.Neither++
		}
	}
	return p
}

func versus(p Pairs, diffs []float64) *Versus {
	v := &Versus{Pairs: p, Difference: p.Difference(), P: p.McNemar(), Seeds: spread(diffs)}
	v.Low, v.High = p.Interval()
	for _, d := range diffs {
		switch {
		case d > 0:
			v.Better++
		case d < 0:
			v.Worse++
		}
	}
	return v
}

// spread of some numbers; zeros where there are none.
func spread(x []float64) Spread {
	if len(x) == 0 {
		return Spread{}
	}
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	s := Spread{Mean: sum / float64(len(x)), Min: slices.Min(x), Max: slices.Max(x)}
	if len(x) > 1 {
		squares := 0.0
		for _, v := range x {
			squares += sq(v - s.Mean)
		}
		sd := math.Sqrt(squares / float64(len(x)-1))
		s.SD = &sd
	}
	return s
}

// adjust fills in the adjusted p values of the comparisons of one metric.
func adjust(rows []Row) {
	var p []float64
	for _, r := range rows {
		if r.Versus != nil {
			p = append(p, r.Versus.P)
		}
	}
	p = Holm(p)
	for _, r := range rows {
		if r.Versus != nil {
			r.Versus.PHolm, p = p[0], p[1:]
		}
	}
}
