package lake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"

	"floe/internal/curriculum"
	"floe/internal/env"
	"floe/internal/experiment"
)

// Drawing. Candidates come in chunks, each from a stream of its own, and are
// taken in the order of their numbers: the result does not depend on who
// evaluated which chunk when.
const (
	chunk = 32
	// A group that yields too little within a budget of candidates has no more
	// distinct instances, for all that can be told: then it repeats. The rarest
	// groups that were met (two agents, no holes, 10x10) yield 1 in 700.
	budgetLeast     = 200_000
	budgetPerSample = 20_000
)

// cell is one size and group of an order, and how many instances it wants.
type cell struct {
	n, holes int
	size     string
	group    string
	want     int
	row      int // of the curriculum
}

// cells splits an order into what each size and group has to yield.
func cells(o env.Order) []cell {
	shares := make([]float64, len(o.Curriculum.Rows))
	for i, r := range o.Curriculum.Rows {
		shares[i] = r.DataRatio
	}
	var all []cell
	for i, count := range curriculum.Apportion(shares, o.Samples) {
		r := o.Curriculum.Rows[i]
		n := mustSize(r.Size)
		holes, waits := knobsOf(r)
		wait := int(math.Round(waits * float64(count)))
		c := cell{n: n, holes: holeCount(holes, n), size: r.Size, row: i}
		for _, g := range []struct {
			name string
			want int
		}{{groupFree, count - wait}, {groupWait, wait}} {
			c.group, c.want = g.name, g.want
			if g.want > 0 {
				all = append(all, c)
			}
		}
	}
	return all
}

func knobsOf(r experiment.Row) (holes, waits float64) {
	holes, _ = r.Knob(knobHoles)
	waits, _ = r.Knob(knobWaits)
	return holes, waits
}

// holeCount is floor(ratio * n * n) of the decimal that was written: in floating
// point 0.29 * 100 would be 28.
func holeCount(ratio float64, n int) int {
	r, ok := new(big.Rat).SetString(strconv.FormatFloat(ratio, 'g', -1, 64))
	if !ok {
		return 0 // not a number: refused by checkOrder
	}
	r.Mul(r, big.NewRat(int64(n*n), 1))
	return int(new(big.Int).Quo(r.Num(), r.Denom()).Int64())
}

// checkOrder says everything that makes an order impossible.
func checkOrder(o env.Order) error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if o.Agents < MinAgents || o.Agents > MaxAgents {
		bad("%d agents; want %d to %d", o.Agents, MinAgents, MaxAgents)
	}
	if o.Samples < 0 {
		bad("%d samples; want 0 or more", o.Samples)
	}
	if o.Objective != objectiveSum && o.Objective != objectiveMakespan {
		bad("objective %q; want %s or %s", o.Objective, objectiveSum, objectiveMakespan)
	}
	switch o.Split {
	case env.SplitTrain, env.SplitValidation, env.SplitBenchmark:
	default:
		bad("split %q; want %s, %s or %s", o.Split, env.SplitTrain, env.SplitValidation, env.SplitBenchmark)
	}
	if len(o.Curriculum.Rows) == 0 {
		bad("a curriculum without sizes")
	}
	for _, r := range o.Curriculum.Rows {
		errs = append(errs, checkRow(r, o.Agents)...)
	}
	return errors.Join(errs...)
}

func checkRow(r experiment.Row, agents int) (errs []error) {
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("size "+r.Size+": "+format, args...))
	}
	if !(r.DataRatio >= 0 && r.DataRatio <= 1) { // this way round, NaN is refused too
		bad("data_ratio %v; want 0 to 1", r.DataRatio)
	}
	for _, k := range space().Knobs {
		v, ok := r.Knob(k.Name)
		if !ok || !(v >= k.Min && v <= k.Max) {
			bad("%s %v; want %v to %v", k.Name, v, k.Min, k.Max)
		}
	}
	n, ok := parseSize(r.Size)
	if !ok {
		bad("unknown; want %s to %s", sizeName(MinSize), sizeName(MaxSize))
	}
	if len(errs) > 0 || r.DataRatio == 0 {
		return errs
	}
	holes, _ := knobsOf(r)
	free, most := n*n-holeCount(holes, n), n*n-2*agents
	switch {
	case most < 0:
		bad("%d agents need %d distinct cells, the map has %d; want at most %d agents", agents, 2*agents, n*n, n*n/2)
	case free < 2*agents:
		bad("hole_ratio %v leaves %d free cells, %d agents need %d; want at most %d holes (%s)", holes, free, agents, 2*agents,
			most, strconv.FormatFloat(math.Floor(100*float64(most)/float64(n*n))/100, 'g', -1, 64))
	}
	return errs
}

// generate draws the tasks of an order.
func generate(ctx context.Context, o env.Order, progress func(done, total int)) ([]env.Task, experiment.Conformance, error) {
	if err := checkOrder(o); err != nil {
		return nil, experiment.Conformance{}, err
	}
	var tasks []env.Task
	record := newRecord(o)
	for _, c := range cells(o) {
		found, err := fill(ctx, o, c, func(n int) { progress(len(tasks)+n, o.Samples) })
		if err != nil {
			return nil, experiment.Conformance{}, err
		}
		for i := range c.want {
			t, err := found[i%len(found)].task(o, c)
			if err != nil {
				return nil, experiment.Conformance{}, err
			}
			tasks = append(tasks, t)
		}
		record.add(c, found, o.Objective)
	}
	// A trainer takes tasks in order: sizes and groups must be mixed.
	experiment.Rand(o.Seed, "order").Shuffle(len(tasks), func(i, j int) { tasks[i], tasks[j] = tasks[j], tasks[i] })
	number(tasks, o.IDPrefix)
	return tasks, record.conformance(o), nil
}

// number gives the tasks their IDs: prefix, size and a running number per size.
func number(tasks []env.Task, prefix string) {
	next := map[string]int{}
	for i := range tasks {
		size := tasks[i].Size
		tasks[i].ID = fmt.Sprintf("%s%s-%04d", prefix, size, next[size])
		next[size]++
	}
}

// candidate is one instance that fits its cell.
type candidate struct {
	in       Instance
	digest   digest
	solution Solution
}

func (c candidate) optimum(objective string) int {
	if objective == objectiveMakespan {
		return c.solution.Makespan
	}
	return c.solution.SumOfCosts
}

func (c candidate) task(o env.Order, of cell) (env.Task, error) {
	body, err := json.Marshal(c.in)
	if err != nil {
		return env.Task{}, fmt.Errorf("encode an instance: %w", err)
	}
	return env.Task{
		Size: of.size, Group: of.group, Objective: o.Objective, Optimum: c.optimum(o.Objective),
		Prompt: renderPrompt(c.in), Instance: body,
	}, nil
}

// fill finds the distinct instances of a cell: as many as it wants, or all that
// a generous budget of candidates shows.
func fill(ctx context.Context, o env.Order, c cell, progress func(found int)) ([]candidate, error) {
	budget := max(budgetLeast, c.want*budgetPerSample) / chunk
	workers := runtime.GOMAXPROCS(0)
	seen := map[digest]bool{}
	var found []candidate
	dry := 0 // chunks since the last new instance
	for first := 0; first < budget && len(found) < c.want && dry < budgetLeast/chunk; first += workers {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		wave, err := draws(o, c, first, workers)
		if err != nil {
			return nil, err
		}
		for _, drawn := range wave {
			dry++
			for _, d := range drawn {
				if len(found) < c.want && !seen[d.digest] {
					seen[d.digest], dry = true, 0
					found = append(found, d)
				}
			}
		}
		progress(len(found))
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s with %d holes and %d agents: no %s instance was found; want another wait_ratio or hole_ratio for this size", c.size, c.holes, o.Agents, c.group)
	}
	return found, nil
}

// draws evaluates some chunks at the same time and returns them in order.
func draws(o env.Order, c cell, first, chunks int) ([][]candidate, error) {
	wave, errs := make([][]candidate, chunks), make([]error, chunks)
	var wg sync.WaitGroup
	for i := range chunks {
		wg.Go(func() { wave[i], errs[i] = drawChunk(o, c, first+i) })
	}
	wg.Wait()
	return wave, errors.Join(errs...)
}

var solvers = sync.Pool{New: func() any { return NewSolver() }}

func drawChunk(o env.Order, c cell, number int) ([]candidate, error) {
	rng := experiment.Rand(o.Seed, c.size, strconv.Itoa(c.holes), c.group, strconv.Itoa(number))
	solver := solvers.Get().(*Solver)
	defer solvers.Put(solver)
	var fit []candidate
	for range chunk {
		in := drawInstance(rng, c.n, c.holes, o.Agents)
		d := digestOf(in)
		if d.split() != o.Split {
			continue
		}
		s, err := solver.Solve(in, o.Objective)
		if err != nil {
			return nil, err
		}
		if s.Solvable && s.NeedsWait == (c.group == groupWait) {
			fit = append(fit, candidate{in, d, s})
		}
	}
	return fit, nil
}

// drawInstance puts holes, starts and goals on distinct cells, uniformly.
func drawInstance(rng *rand.Rand, n, holes, agents int) Instance {
	order := rng.Perm(n * n)
	at := func(i int) Cell { return Cell{order[i] / n, order[i] % n} }
	grid := make([]byte, n*n)
	for i := range grid {
		grid[i] = 'F'
	}
	for i := range holes {
		grid[order[i]] = 'H'
	}
	in := Instance{N: n, Grid: make([]string, n), Starts: make([]Cell, agents), Goals: make([]Cell, agents)}
	for r := range n {
		in.Grid[r] = string(grid[r*n : (r+1)*n])
	}
	for a := range agents {
		in.Starts[a], in.Goals[a] = at(holes+2*a), at(holes+2*a+1)
	}
	return in
}
