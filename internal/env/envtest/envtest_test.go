package envtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"testing"

	"floe/internal/env"
	"floe/internal/env/envtest"
	"floe/internal/experiment"
)

// The laws hold for an environment that is nothing like the first one, so they
// ask for nothing of that one's own.
func TestAToyObeysTheLaws(t *testing.T) { envtest.Run(t, dots{}) }

// dots asks for a line of at least N dots; one more than needed is not optimal.
type dots struct{}

type line struct {
	N    int    `json:"n"`
	Name string `json:"name"`
}

func (dots) Name() string                 { return "dots" }
func (dots) Version() string              { return "dots/1" }
func (dots) Features() int                { return 2 }
func (dots) Actions() int                 { return 2 }
func (dots) Groups() []string             { return []string{"even", "odd"} }
func (d dots) Validate(o env.Order) error { return errors.Join(d.faults(o)...) }

func (dots) Space() env.Space {
	return env.Space{
		Sizes: []string{"short", "long"},
		Knobs: []env.Knob{{Name: "spread", Doc: "How far lengths vary.", Min: 1, Max: 9, Default: 5, Easy: 1, Hard: 9, Tests: "optimal"}},
	}
}

func (dots) Checks() []env.Check {
	return []env.Check{{Name: "readable", Doc: "There is a dot, and nothing but dots."}, {Name: "enough", Doc: "There are N dots."}}
}

func (d dots) faults(o env.Order) (errs []error) {
	fault := func(found bool, format string, args ...any) {
		if found {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	fault(o.Samples < 0 || o.Agents < 0, "%d samples, %d agents", o.Samples, o.Agents)
	fault(!slices.Contains([]string{env.SplitTrain, env.SplitValidation, env.SplitBenchmark}, o.Split), "split %q", o.Split)
	fault(o.Objective != "sum_of_costs", "objective %q", o.Objective)
	fault(len(o.Curriculum.Rows) == 0, "no rows")
	for _, r := range o.Curriculum.Rows {
		v, ok := r.Knob("spread")
		fault(!ok || v < 1 || v > 9, "spread %v", v)
		fault(!slices.Contains(d.Space().Sizes, r.Size) || r.DataRatio < 0, "size %q with %v", r.Size, r.DataRatio)
	}
	return errs
}

func (d dots) Generate(ctx context.Context, o env.Order, take func(env.Task) error, progress func(done, total int)) (experiment.Conformance, error) {
	if err := d.Validate(o); err != nil {
		return experiment.Conformance{}, err
	}
	taken := 0
	c := experiment.Conformance{Requested: o.Samples, Realised: o.Samples}
	for _, row := range o.Curriculum.Rows {
		n := o.Samples / len(o.Curriculum.Rows)
		spread, _ := row.Knob("spread")
		c.Rows = append(c.Rows, experiment.ConformanceRow{Size: row.Size, Requested: n, Realised: n, Knobs: []experiment.Realised{{Name: "spread"}}})
		rng := experiment.Rand(o.Seed, o.Split, row.Size)
		for taken < n*len(c.Rows) {
			if err := ctx.Err(); err != nil {
				return experiment.Conformance{}, err
			}
			l := line{N: 1 + rng.IntN(int(spread)) + 10*(len(row.Size)%2), Name: fmt.Sprintf("%04x", rng.IntN(1<<14))}
			if split(l.Name) != o.Split {
				continue
			}
			if err := take(d.task(o, row.Size, taken, l)); err != nil {
				return experiment.Conformance{}, err
			}
			taken++
			progress(taken, o.Samples)
		}
	}
	return c, ctx.Err()
}

func split(name string) string {
	h := fnv.New32()
	_, _ = h.Write([]byte(name))
	return []string{env.SplitTrain, env.SplitValidation, env.SplitBenchmark}[h.Sum32()%3]
}

func (d dots) task(o env.Order, size string, i int, l line) env.Task {
	body, _ := json.Marshal(l)
	return env.Task{
		ID: fmt.Sprintf("%s%s-%d", o.IDPrefix, size, i), Size: size, Group: d.Groups()[l.N%2], Objective: o.Objective,
		Optimum: l.N, Prompt: fmt.Sprintf("%s: write %d dots.", l.Name, l.N), Instance: body,
	}
}

func (d dots) Benchmark(agents, n int, objective string) (orders []env.Order) {
	for _, size := range d.Space().Sizes {
		orders = append(orders, env.Order{
			Split: env.SplitBenchmark, Seed: "b", IDPrefix: "b-", Agents: agents, Objective: objective, Samples: n,
			Curriculum: experiment.Curriculum{Rows: []experiment.Row{{Size: size, DataRatio: 1, Knobs: []experiment.Knob{{Name: "spread", Value: 5}}}}},
		})
	}
	return orders
}

func (dots) Open(t env.Task) (env.Problem, error) {
	var l line
	if err := json.Unmarshal(t.Instance, &l); err != nil || l.N == 0 {
		return nil, fmt.Errorf("open task %q: %s", t.ID, t.Instance)
	}
	return &problem{t, l}, nil
}

type problem struct {
	task env.Task
	line line
}

func (p *problem) Task() env.Task       { return p.task }
func (p *problem) Episode() env.Episode { return &episode{} }

func (p *problem) Demonstration() ([]int, error) {
	acts := slices.Repeat([]int{1}, p.line.N)
	return append(acts, 0), nil
}

func (p *problem) Judge(answer string) env.Verdict {
	n := strings.Count(answer, ".")
	v := env.Verdict{Optimum: p.line.N, Tokens: len(answer)}
	switch {
	case n == 0 || n != len(answer):
		v.Failed, v.Faults = []string{"readable"}, []string{"not a line of dots"}
	case n < p.line.N:
		v.Failed, v.Faults = []string{"enough"}, []string{"too few dots"}
	default:
		v.Valid, v.Optimal, v.Cost = true, n == p.line.N, n
	}
	return v
}

// episode writes a dot with action 1 and ends with action 0, but not at once.
type episode struct {
	n    int
	done bool
}

func (e *episode) Observe(dst []int32) []int32 { return append(dst, int32(min(e.n, 1))) }
func (e *episode) Done() bool                  { return e.done }
func (e *episode) Answer() string              { return strings.Repeat(".", e.n) }

func (e *episode) Act(action int) {
	if e.done {
		return
	}
	e.done = action == 0 && e.n > 0
	if !e.done {
		e.n++
	}
}
