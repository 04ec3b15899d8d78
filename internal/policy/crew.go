package policy

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"

	"floe/internal/experiment"
)

// shards is the number of parts a batch's gradient is summed in. It is fixed,
// and the parts are added in order, so that weights do not depend on the number
// of cores; it bounds how many cores a training step can use.
const shards = 16

// crew is what works on batches: a tree per worker, a gradient per shard.
type crew struct {
	model     *Model
	trees     []*tree
	gradients [][]row // after gather, the first is the sum
	tallies   [shards]tally
	squares   []float64 // of the gradient's numbers, summed by slab
}

func newCrew(m, start *Model, temperature float64) *crew {
	c := &crew{model: m, squares: make([]float64, (len(m.rows)+slabRows-1)/slabRows)}
	for range min(shards, runtime.GOMAXPROCS(0)) {
		c.trees = append(c.trees, newTree(m, start, temperature))
	}
	for range shards {
		c.gradients = append(c.gradients, make([]row, len(m.rows)))
	}
	return c
}

// maxNorm is the largest gradient whose squares Adam can hold.
const maxNorm = 1e15

// tally counts what a batch did.
type tally struct {
	groups, spread int64 // tasks, and those whose rewards were unequal
	answers        int64
	valid, within  int64 // answers that were valid, that stayed within the free length
	decisions      int64
	reward         float64 // sum over answers
	entropy        float64 // sum over decisions
}

func (t *tally) add(o tally) {
	t.groups += o.groups
	t.spread += o.spread
	t.answers += o.answers
	t.valid += o.valid
	t.within += o.within
	t.decisions += o.decisions
	t.reward += o.reward
	t.entropy += o.entropy
}

// gather takes the lessons of a batch of n tasks and sums their gradients into
// the first shard's. Task i is for shard i mod shards.
func (c *crew) gather(ctx context.Context, n int, lesson func(t *tree, i int, g *layers) (tally, error)) (tally, error) {
	used := min(shards, n)
	err := each(ctx, len(c.trees), used, func(worker, shard int) error {
		g := c.model.layers(c.gradients[shard])
		clear(c.gradients[shard])
		c.tallies[shard] = tally{}
		for i := shard; i < n && ctx.Err() == nil; i += shards {
			part, err := lesson(c.trees[worker], i, &g)
			if err != nil {
				return err
			}
			c.tallies[shard].add(part)
		}
		return nil
	})
	if err != nil {
		return tally{}, err
	}
	total := c.tallies[0]
	for _, t := range c.tallies[1:used] {
		total.add(t)
	}
	return total, c.sum(ctx, used)
}

// sum adds the shards' gradients up, in order, into the first. It works on
// slabs of rows, also in order, as one core alone would take a tenth of a step.
func (c *crew) sum(ctx context.Context, used int) error {
	return c.slabs(ctx, func(slab, from, to int) {
		sum := c.gradients[0][from:to]
		for _, g := range c.gradients[1:used] {
			for i := range sum {
				add(&sum[i], &g[from+i])
			}
		}
		c.squares[slab] = squares(sum)
	})
}

// climb moves the model along the gathered gradient, as a mean over decisions,
// and returns its norm before clipping.
func (c *crew) climb(ctx context.Context, opt *adam, decisions int64, limit, rate float64) (float64, error) {
	sum := 0.0
	for _, s := range c.squares {
		sum += s
	}
	mean := 1 / float64(max(decisions, 1))
	norm := float64(math.Sqrt(sum) * mean)
	if !(norm <= maxNorm) { // this way round, NaN is refused too
		return norm, fmt.Errorf("the gradient's norm is %v; its squares would not be finite", norm)
	}
	move := opt.next(mean*clip(norm, limit), rate)
	return norm, c.slabs(ctx, func(_, from, to int) { move(c.model.rows, c.gradients[0], from, to) })
}

const slabRows = 64

// slabs does a piece of work for every slab of rows.
func (c *crew) slabs(ctx context.Context, do func(slab, from, to int)) error {
	rows := len(c.model.rows)
	return each(ctx, len(c.trees), len(c.squares), func(_, slab int) error {
		do(slab, slab*slabRows, min((slab+1)*slabRows, rows))
		return nil
	})
}

// order shuffles n tasks for one epoch.
func order(n int, seed, what string, epoch int) []int {
	return experiment.Rand(seed, what, strconv.Itoa(epoch)).Perm(n)
}

// each does n pieces of work with the workers given. It returns the error of the
// first piece that has one, or why ctx ended.
func each(ctx context.Context, workers, n int, do func(worker, piece int) error) error {
	errs := make([]error, n)
	var next atomic.Int64
	var wg sync.WaitGroup
	for w := range min(workers, n) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				errs[i] = do(w, i)
			}
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// meter counts pieces done, for a progress callback that may be nil.
type meter struct {
	mu          sync.Mutex
	done, total int
	report      func(done, total int)
}

func (m *meter) tick() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done++
	if m.report != nil {
		m.report(m.done, m.total)
	}
}
