package lake

import (
	"context"
	"fmt"

	"floe/internal/env"
)

// patience is after how many chunks without a new instance a class counts as
// used up: 300,000 candidates. The rarest class of two agents, a needed wait on
// 10x10 without holes, is met once in 240 candidates, and of those one in eight
// is for validation.
const patience = 300_000 / chunkSize

// candidate is an instance that may be taken.
type candidate struct {
	kept
	digest digest
}

// evaluation is what is in a chunk.
type evaluation struct {
	fit  []candidate // of classes that are wanted
	seen [2]int      // solvable instances of the split, by class
}

// add solves a candidate, if it is of the split.
func (e *evaluation) add(p *puzzle, solver *Solver, split string, open [2]bool) {
	d := p.digest()
	if d.split() != split || !solver.load(p) || !solver.cheapest() {
		return
	}
	class, cost := classFree, solver.shortest+solver.excess
	if solver.needsWait() {
		class = classWait
	}
	e.seen[class]++
	if open[class] {
		e.fit = append(e.fit, candidate{keep(p, class, cost), d})
	}
}

// filling is a quota while it is being filled.
type filling struct {
	quota
	taken   map[digest]struct{} // by this and earlier rows
	got     []kept
	repeats []int32 // which of them come again, once it is known that there are no more
	have    [2]int  // taken, by class
	seen    [2]int  // candidates that could be taken, by class
}

// fill takes what a quota wants, or less if there is no more. In a benchmark the
// other class then stands in for one that is used up: what is held out should
// not repeat. Elsewhere the shares of the classes are what was asked for, and
// instances repeat.
func (f *filling) fill(ctx context.Context, p *pool) error {
	f.pass(ctx, p)
	if p.order.Split == env.SplitBenchmark && f.standIn() {
		f.pass(ctx, p)
	}
	if ctx.Err() != nil {
		return nil // said once, by the pool
	}
	if err := f.missing(p.order); err != nil {
		return err
	}
	f.repeat()
	return nil
}

// pass goes through the candidates in the order of their numbers until the quota
// is full or no new instance can be expected.
func (f *filling) pass(ctx context.Context, p *pool) {
	src := newSource(p.order, f.quota)
	dry := 0 // chunks since the last instance was taken
	for first := 0; ctx.Err() == nil && !f.full(); {
		before := len(f.got)
		wave := p.evaluate(ctx, src, first, [2]bool{f.open(classFree), f.open(classWait)})
		for i := range wave {
			if dry++; f.take(&wave[i]) {
				dry = 0
			}
			if src.ends(first+i+1) || dry >= patience {
				p.took(len(f.got) - before)
				return
			}
		}
		first += len(wave)
		p.took(len(f.got) - before)
	}
}

// take takes from a chunk what is wanted and new.
func (f *filling) take(e *evaluation) (some bool) {
	for class, n := range e.seen {
		f.seen[class] += n
	}
	for i := range e.fit {
		c := &e.fit[i]
		if _, taken := f.taken[c.digest]; !taken && f.open(int(c.class)) {
			f.taken[c.digest] = struct{}{}
			f.got = append(f.got, c.kept)
			f.have[c.class]++
			some = true
		}
	}
	return some
}

func (f *filling) open(class int) bool { return f.have[class] < f.want[class] }

func (f *filling) full() bool { return !f.open(classFree) && !f.open(classWait) }

// standIn gives what is wanted of a class that is used up to the other one.
func (f *filling) standIn() (changed bool) {
	for class, other := range others {
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
	for class, other := range others {
		if f.want[class] == 0 || f.have[class] > 0 {
			continue
		}
		nearest := fmt.Sprintf("want a smaller %s", knobHoles)
		if f.seen[other] > 0 {
			nearest = fmt.Sprintf("want %s = %d, or another %s", knobWaits, other, knobHoles)
		}
		return fmt.Errorf("size %s, %d agents, %s, %s = %v (%d holes), %s = %v: found none that %s; %s", f.row.Size,
			o.Agents, o.Split, knobHoles, knob(f.row, knobHoles), f.holes, knobWaits, knob(f.row, knobWaits), classDoc[class], nearest)
	}
	return nil
}

// repeat chooses as many repeats as are missing from the quota: all instances of
// a class in turn, so that none comes twice more often than another.
func (f *filling) repeat() {
	for class, want := range f.want {
		if f.have[class] == want {
			continue
		}
		var own []int32
		for i := range f.got {
			if int(f.got[i].class) == class {
				own = append(own, int32(i))
			}
		}
		for i := range want - len(own) {
			f.repeats = append(f.repeats, own[i%len(own)])
		}
	}
}

// len is how many instances the row has, repeats included.
func (f *filling) len() int { return len(f.got) + len(f.repeats) }

// at is an instance of the row: first come those that were taken, as they were,
// then the repeats.
func (f *filling) at(i int) *kept {
	if i < len(f.got) {
		return &f.got[i]
	}
	return &f.got[f.repeats[i-len(f.got)]]
}
