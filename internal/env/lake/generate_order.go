package lake

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"

	"floe/internal/curriculum"
	"floe/internal/env"
	"floe/internal/experiment"
)

// checkOrder says everything that makes an order impossible.
func checkOrder(o env.Order) error {
	var errs []error
	if !slices.Contains([]string{env.SplitTrain, env.SplitValidation, env.SplitBenchmark}, o.Split) {
		errs = append(errs, fmt.Errorf("split %.40q; want %s, %s or %s", o.Split, env.SplitTrain, env.SplitValidation, env.SplitBenchmark))
	}
	if o.Agents < MinAgents || o.Agents > MaxAgents {
		errs = append(errs, fmt.Errorf("%d agents; want %d to %d", o.Agents, MinAgents, MaxAgents))
	}
	if o.Objective != objectiveSum && o.Objective != objectiveMakespan {
		errs = append(errs, fmt.Errorf("objective %.40q; want %s or %s", o.Objective, objectiveSum, objectiveMakespan))
	}
	if o.Samples < 0 {
		errs = append(errs, fmt.Errorf("%d samples; want 0 or more", o.Samples))
	}
	return errors.Join(append(errs, checkRows(o)...)...)
}

// shareTolerance is how far shares may sum from 1: more than floating point
// adds, less than any typing error.
const shareTolerance = 1e-6

func checkRows(o env.Order) (errs []error) {
	sum := 0.0
	sizes := map[string]bool{}
	for _, r := range o.Curriculum.Rows {
		if sizes[r.Size] && o.Split != env.SplitBenchmark { // a benchmark has rows for every hole ratio
			errs = append(errs, fmt.Errorf("size %s comes twice", r.Size))
		}
		sizes[r.Size] = true
		sum += r.DataRatio
		errs = append(errs, checkRow(r, o)...)
	}
	if !(math.Abs(sum-1) <= shareTolerance) { // this way round, NaN is refused too
		errs = append(errs, fmt.Errorf("%s sums to %.6g over the sizes; want 1", curriculum.FieldShare, sum))
	}
	return errs
}

func checkRow(r experiment.Row, o env.Order) (errs []error) {
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("size %.20s: "+format, append([]any{r.Size}, args...)...))
	}
	n, known := parseSize(r.Size)
	if !known {
		bad("no such size; want %s to %s", sizeName(MinSize), sizeName(MaxSize))
	}
	if !(r.DataRatio >= 0 && r.DataRatio <= 1) {
		bad("%s = %v; want 0 to 1", curriculum.FieldShare, r.DataRatio)
	}
	if len(r.Knobs) > len(space().Knobs) {
		bad("%d knobs; want %d", len(r.Knobs), len(space().Knobs))
	}
	for _, k := range space().Knobs {
		switch v, set := r.Knob(k.Name); {
		case !set:
			bad("no %s; want %v to %v", k.Name, k.Min, k.Max)
		case !(v >= k.Min && v <= k.Max):
			bad("%s = %v; want %v to %v", k.Name, v, k.Min, k.Max)
		}
	}
	if len(errs) == 0 && r.DataRatio > 0 {
		if err := checkRoom(n, o, knob(r, knobHoles)); err != nil {
			bad("%w", err)
		}
	}
	return errs
}

// checkRoom says whether all starts and goals find cells of their own. In
// benchmarks a hole ratio that is too large stands for the largest that is not.
func checkRoom(n int, o env.Order, ratio float64) error {
	need := 2 * o.Agents
	switch free := n*n - holeCount(ratio, n); {
	case o.Agents < MinAgents || o.Agents > MaxAgents:
		return nil // said already
	case n*n < need:
		return fmt.Errorf("%d agents need %d cells for starts and goals, the map has %d", o.Agents, need, n*n)
	case free < need && o.Split != env.SplitBenchmark:
		return fmt.Errorf("%s = %v leaves %d cells, %d agents need %d for starts and goals; want at most %v",
			knobHoles, ratio, free, o.Agents, need, largestRatio(n, n*n-need))
	}
	return nil
}

// largestRatio is the largest ratio of two decimals that makes at most so many
// holes.
func largestRatio(n, holes int) float64 {
	for hundredths := 50; hundredths > 0; hundredths-- {
		if ratio := float64(hundredths) / 100; holeCount(ratio, n) <= holes {
			return ratio
		}
	}
	return 0
}

// holeCount is floor(ratio * n * n).
func holeCount(ratio float64, n int) int { return exactly(ratio, n*n, new(big.Rat)) }

// waitCount is how many of so many instances need a wait: ratio * count, rounded,
// halves up.
func waitCount(ratio float64, count int) int { return exactly(ratio, count, big.NewRat(1, 2)) }

// exactly is floor(ratio * factor + plus) of the decimal that was written: in
// floating point 0.29 * 100 is less than 29.
func exactly(ratio float64, factor int, plus *big.Rat) int {
	r, ok := new(big.Rat).SetString(strconv.FormatFloat(ratio, 'g', -1, 64))
	if !ok {
		return 0 // infinite or no number, which no checked order has
	}
	r.Mul(r, big.NewRat(int64(factor), 1)).Add(r, plus)
	return int(new(big.Int).Div(r.Num(), r.Denom()).Int64())
}

func knob(r experiment.Row, name string) float64 {
	v, _ := r.Knob(name) // checked orders set all knobs
	return v
}

// The classes of instances, as indices.
const (
	classFree = iota
	classWait
)

var (
	groups   = [2]string{classFree: groupFree, classWait: groupWait}
	classDoc = [2]string{classFree: "can be solved at least cost without a wait", classWait: "needs a wait"}
	others   = [2]int{classFree: classWait, classWait: classFree}
)

// quota is what one row of an order has to yield.
type quota struct {
	row      experiment.Row
	n, holes int
	count    int
	want     [2]int // by class
	part     int    // how many rows before have the same size and holes
}

// quotas splits a checked order into what its rows have to yield.
func quotas(o env.Order) []quota {
	shares := make([]float64, len(o.Curriculum.Rows))
	for i, r := range o.Curriculum.Rows {
		shares[i] = r.DataRatio
	}
	all := make([]quota, len(shares))
	for i, count := range curriculum.Apportion(shares, o.Samples) {
		q := quota{row: o.Curriculum.Rows[i], count: count}
		q.n, _ = parseSize(q.row.Size)
		q.holes = min(holeCount(knob(q.row, knobHoles), q.n), max(0, q.n*q.n-2*o.Agents))
		q.want[classWait] = waitCount(knob(q.row, knobWaits), count)
		q.want[classFree] = count - q.want[classWait]
		for _, before := range all[:i] {
			if before.n == q.n && before.holes == q.holes {
				q.part++
			}
		}
		all[i] = q
	}
	return all
}
