package policy_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"floe/internal/env"
	"floe/internal/experiment"
)

// corridor is a tiny environment: walk along n cells from start to goal, with
// the letters L and R, and S to stay. Leaving the corridor ends an episode.
type corridor struct{}

const (
	corridorMax      = 8
	corridorActions  = 3
	corridorLetters  = "LRS"
	corridorFeatures = 1 + (2*corridorMax - 1) + corridorMax
)

var _ env.Playable = corridor{}

func (corridor) Name() string        { return "corridor" }
func (corridor) Version() string     { return "corridor/1" }
func (corridor) Space() env.Space    { return env.Space{Sizes: []string{"8"}} }
func (corridor) Checks() []env.Check { return []env.Check{{Name: "arrives"}} }
func (corridor) Groups() []string    { return []string{"all"} }
func (corridor) Features() int       { return corridorFeatures }
func (corridor) Actions() int        { return corridorActions }

func (corridor) Validate(env.Order) error               { return nil }
func (corridor) Benchmark(int, int, string) []env.Order { return nil }
func (corridor) Generate(_ context.Context, o env.Order, take func(env.Task) error, _ func(done, total int)) (experiment.Conformance, error) {
	rng := experiment.Rand("corridor", o.Seed)
	for i := range o.Samples {
		w := walk{Cells: 4 + rng.IntN(corridorMax-3)}
		w.Start = rng.IntN(w.Cells)
		w.Goal = (w.Start + 1 + rng.IntN(w.Cells-1)) % w.Cells
		instance, err := json.Marshal(w)
		if err != nil {
			return experiment.Conformance{}, err
		}
		if err := take(env.Task{ID: fmt.Sprintf("%s-%d", o.Seed, i), Size: "8", Optimum: w.distance(), Instance: instance}); err != nil {
			return experiment.Conformance{}, err
		}
	}
	return experiment.Conformance{}, nil
}

func (corridor) Open(t env.Task) (env.Problem, error) {
	p := &corridorProblem{task: t}
	return p, json.Unmarshal(t.Instance, &p.walk)
}

type walk struct{ Cells, Start, Goal int }

func (w walk) distance() int { return max(w.Goal-w.Start, w.Start-w.Goal) }

type corridorProblem struct {
	walk
	task env.Task
}

func (p *corridorProblem) Task() env.Task { return p.task }

func (p *corridorProblem) Judge(answer string) env.Verdict {
	v := env.Verdict{Optimum: p.distance(), Tokens: len(answer)}
	e := p.Episode().(*corridorEpisode)
	for _, letter := range answer {
		e.Act(strings.IndexRune(corridorLetters, letter))
	}
	if v.Valid = e.at == p.Goal; v.Valid {
		v.Cost = len(answer)
		v.Optimal = v.Cost == v.Optimum
	}
	return v
}

func (p *corridorProblem) Episode() env.Episode { return &corridorEpisode{p: p, at: p.Start} }

func (p *corridorProblem) Demonstration() ([]int, error) {
	if p.Cells == 0 {
		return nil, errors.New("no corridor")
	}
	actions := make([]int, p.distance())
	for i := range actions {
		if p.Goal > p.Start {
			actions[i] = 1
		}
	}
	return actions, nil
}

type corridorEpisode struct {
	p    *corridorProblem
	at   int
	done []byte
}

func (e *corridorEpisode) Observe(dst []int32) []int32 {
	offset := int32(1 + e.p.Goal - e.at + corridorMax - 1)
	return append(dst, 0, offset, int32(2*corridorMax+e.at))
}

func (e *corridorEpisode) Act(action int) {
	e.done = append(e.done, corridorLetters[action])
	e.at += []int{-1, 1, 0}[action]
}

func (e *corridorEpisode) Done() bool {
	return e.at < 0 || e.at >= e.p.Cells || e.at == e.p.Goal || len(e.done) == 3*corridorMax
}

func (e *corridorEpisode) Answer() string { return string(e.done) }

// corridors draws n opened problems.
func corridors(t testing.TB, n int, seed string) []env.Problem {
	t.Helper()
	return open(t, corridor{}, env.Order{Samples: n, Seed: seed})
}

func open(t testing.TB, e env.Environment, o env.Order) []env.Problem {
	t.Helper()
	tasks, _, err := env.Tasks(context.Background(), e, o, func(int, int) {})
	if err != nil {
		t.Fatal(err)
	}
	problems := make([]env.Problem, len(tasks))
	for i, task := range tasks {
		if problems[i], err = e.Open(task); err != nil {
			t.Fatal(err)
		}
	}
	return problems
}
