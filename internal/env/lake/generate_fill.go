package lake

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"floe/internal/env"
)

const (
	// patience is after how many chunks without a new instance a class counts as
	// used up: 300,000 candidates. The rarest class of two agents, 10x10 without
	// holes, is met about once in 700 candidates, of which one in eight is for
	// validation.
	patience = 300_000 / chunkSize
	// chunksPerWorker is how many chunks are evaluated before instances are taken.
	chunksPerWorker = 2
)

// candidate is an instance that may be taken.
type candidate struct {
	puzzle puzzle
	digest digest
	class  int
	cost   int // least sum of costs
}

// evaluation is what is in a chunk.
type evaluation struct {
	fit  []candidate
	seen [2]int // solvable instances of the split, by class
}

// filling is a quota while it is being filled.
type filling struct {
	quota
	got  []candidate
	have [2]int // taken, by class
	seen [2]int // candidates that could be taken, by class
}

func (f *filling) open(class int) bool { return f.have[class] < f.want[class] }

func (f *filling) full() bool { return !f.open(classFree) && !f.open(classWait) }

// pool takes instances for an order, all of them different.
type pool struct {
	order   env.Order
	solvers []*Solver // one per worker
	taken   map[digest]bool
}

func newPool(o env.Order) *pool {
	p := &pool{order: o, taken: map[digest]bool{}}
	for range runtime.GOMAXPROCS(0) {
		p.solvers = append(p.solvers, NewSolver())
	}
	return p
}

// fill takes what a quota wants, or less if there is no more. In a benchmark
// the other class then stands in for one that is used up: what is held out must
// not repeat. Elsewhere the shares of the classes are what was asked for, and
// instances repeat.
func (p *pool) fill(ctx context.Context, q quota, progress func(got int)) (*filling, error) {
	f := &filling{quota: q}
	if err := p.pass(ctx, f, progress); err != nil {
		return nil, err
	}
	if p.order.Split == env.SplitBenchmark && f.standIn() {
		if err := p.pass(ctx, f, progress); err != nil {
			return nil, err
		}
	}
	return f, f.missing(p.order)
}

// standIn gives what is wanted of a class that is used up to the other one.
func (f *filling) standIn() (changed bool) {
	for class, other := range [2]int{classWait, classFree} {
		if f.open(class) && !f.open(other) && f.seen[other] > 0 {
			f.want[other] += f.want[class] - f.have[class]
			f.want[class] = f.have[class]
			return true
		}
	}
	return false
}

// missing is the error of a class of which there is nothing at all.
func (f *filling) missing(o env.Order) error {
	for class, other := range [2]int{classWait, classFree} {
		if f.want[class] == 0 || f.have[class] > 0 {
			continue
		}
		nearest := fmt.Sprintf("want a smaller %s", knobHoles)
		if f.seen[other] > 0 {
			nearest = fmt.Sprintf("want %s = %d, or another %s", knobWaits, other, knobHoles)
		}
		return fmt.Errorf("draw %s instances of %d agents for %s with %s = %v (%d holes) and %s = %v: found none that %s; %s", f.row.Size,
			o.Agents, o.Split, knobHoles, knob(f.row, knobHoles), f.holes, knobWaits, knob(f.row, knobWaits), classDoc[class], nearest)
	}
	return nil
}

var classDoc = [2]string{classFree: "can be solved without a wait", classWait: "needs a wait"}

// pass goes through the candidates in the order of their numbers until a quota
// is full or no new instance can be expected. So the result does not depend on
// the number of workers.
func (p *pool) pass(ctx context.Context, f *filling, progress func(got int)) error {
	src := newSource(p.order, f.quota)
	dry := 0 // chunks since the last instance was taken
	for first := 0; !f.full(); first += len(p.solvers) * chunksPerWorker {
		wave := p.evaluate(ctx, src, first, f)
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("draw %s instances: %w", f.row.Size, err)
		}
		for i := range wave {
			if dry++; p.take(f, &wave[i]) {
				dry = 0
			}
			if src.ends(first+i+1) || dry >= patience {
				return nil
			}
		}
		progress(len(f.got))
	}
	return nil
}

// take takes from a chunk what is wanted and new.
func (p *pool) take(f *filling, e *evaluation) (some bool) {
	for class, n := range e.seen {
		f.seen[class] += n
	}
	for _, c := range e.fit {
		if f.open(c.class) && !p.taken[c.digest] {
			p.taken[c.digest] = true
			f.got = append(f.got, c)
			f.have[c.class]++
			some = true
		}
	}
	return some
}

// evaluate solves some chunks at the same time, and returns them in their order.
func (p *pool) evaluate(ctx context.Context, src *source, first int, f *filling) []evaluation {
	wave := make([]evaluation, len(p.solvers)*chunksPerWorker)
	var next atomic.Int64
	var workers sync.WaitGroup
	for _, solver := range p.solvers {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(wave) && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				src.chunk(first+i, func(c *puzzle) { wave[i].add(c, solver, src.split, f) })
			}
		})
	}
	workers.Wait()
	return wave
}

// add solves a candidate of the split.
func (e *evaluation) add(p *puzzle, solver *Solver, split string, f *filling) {
	d := p.digest()
	if d.split() != split || !solver.load(p) || !solver.cheapest() {
		return
	}
	c := candidate{digest: d, class: classFree, cost: solver.shortest + solver.excess}
	if solver.needsWait() {
		c.class = classWait
	}
	e.seen[c.class]++
	if f.open(c.class) {
		c.puzzle = *p
		e.fit = append(e.fit, c)
	}
}
