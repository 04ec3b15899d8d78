package lake

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"

	"floe/internal/env"
)

// pool draws for an order. Its workers, one per processor, solve chunks of
// candidates for all rows at the same time; which worker solves what, and when,
// has no influence on what is taken.
type pool struct {
	order   env.Order
	jobs    chan func(*Solver)
	workers sync.WaitGroup
	active  atomic.Int64 // rows that are being filled

	mu       sync.Mutex // guards what follows
	got      int
	progress func(done, total int)
}

func newPool(o env.Order, progress func(done, total int)) *pool {
	p := &pool{order: o, jobs: make(chan func(*Solver)), progress: progress}
	for range runtime.GOMAXPROCS(0) {
		p.workers.Go(func() {
			solver := NewSolver()
			for job := range p.jobs {
				job(solver)
			}
		})
	}
	return p
}

func (p *pool) close() {
	close(p.jobs)
	p.workers.Wait()
}

// fill fills all quotas. Those that could hold the same instances are filled one
// after the other, the others at the same time.
func (p *pool) fill(ctx context.Context, quotas []quota) ([]*filling, error) {
	fillings, errs := make([]*filling, len(quotas)), make([]error, len(quotas))
	var rows sync.WaitGroup
	for _, alike := range grouped(quotas) {
		p.active.Add(1)
		rows.Go(func() {
			defer p.active.Add(-1)
			taken := map[digest]struct{}{}
			for _, i := range alike {
				fillings[i] = &filling{quota: quotas[i], taken: taken}
				errs[i] = fillings[i].fill(ctx, p)
				fillings[i].taken = nil
			}
		})
	}
	rows.Wait()
	return fillings, errors.Join(append(errs, ctx.Err())...)
}

// grouped are the indices of quotas with the same size and holes.
func grouped(quotas []quota) (groups [][]int) {
	at := map[[2]int]int{}
	for i, q := range quotas {
		key := [2]int{q.n, q.holes}
		if q.part == 0 {
			at[key] = len(groups)
			groups = append(groups, nil)
		}
		groups[at[key]] = append(groups[at[key]], i)
	}
	return groups
}

// evaluate solves chunks of a source from a number on, as many as keep the
// workers busy, and returns them in their order.
func (p *pool) evaluate(ctx context.Context, src *source, first int, open [2]bool) []evaluation {
	wave := make([]evaluation, max(1, 2*runtime.GOMAXPROCS(0)/int(p.active.Load())))
	var chunks sync.WaitGroup
	for i := range wave {
		chunks.Add(1)
		p.jobs <- func(solver *Solver) {
			defer chunks.Done()
			if solver.heed(ctx); ctx.Err() == nil {
				src.chunk(first+i, func(c *puzzle) { wave[i].add(c, solver, src.split, open) })
			}
		}
	}
	chunks.Wait()
	return wave
}

// took reports instances that were taken.
func (p *pool) took(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.got += n
	p.progress(p.got, p.order.Samples)
}
