package replay_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"floe/internal/artifact"
	"floe/internal/artifact/artifacttest"
	"floe/internal/designer"
	"floe/internal/designer/replay"
	"floe/internal/env"
	"floe/internal/experiment"
)

// fickle is a designer that makes one call per answer, proposes what its seed
// says, and can be told to fail after some answers.
type fickle struct {
	mu     sync.Mutex
	asked  []string // seeds
	failAt int      // answer that fails, from 1; 0 none
	useful func(seed string) bool
}

func (f *fickle) Propose(_ context.Context, in designer.Request) (designer.Proposal, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, in.Seed)
	call := experiment.Attempt{Class: "ok", PromptTokens: 90, CompletionTokens: 10, Cost: 0.5, Server: "s"}
	if err := in.Record(call); err != nil {
		return designer.Proposal{}, err
	}
	if len(f.asked) == f.failAt {
		return designer.Proposal{}, &designer.UnavailableError{Reason: "away"}
	}
	p := designer.Proposal{Model: "m", Attempts: []experiment.Attempt{call}}
	if f.useful != nil && !f.useful(in.Seed) {
		p.Fallback = "nonsense"
		return p, nil
	}
	p.Asked = curriculumOf(experiment.Rand(in.Seed).Float64())
	return p, nil
}

// Price is a thousandth a token.
func (f *fickle) Price(prompt, reply int) (float64, bool) { return float64(prompt+reply) / 1000, true }

func curriculumOf(low float64) experiment.Curriculum {
	k := []experiment.Knob{{Name: "knob", Value: 0.1}}
	return experiment.Curriculum{Rows: []experiment.Row{{Size: "low", DataRatio: low, Knobs: k}, {Size: "high", DataRatio: 1 - low, Knobs: k}}}
}

func runner(f *fickle, n int, cells ...string) replay.Runner {
	p := replay.Plan{
		Experiment: "e", Seed: "seed", N: n,
		Evidence: designer.Evidence{
			Space:  env.Space{Sizes: []string{"low", "high"}, Knobs: []env.Knob{{Name: "knob", Max: 0.5}}},
			Rounds: 2, History: []designer.RoundEvidence{{
				Curriculum: curriculumOf(0.5),
				Scorecard:  experiment.Scorecard{Cells: []experiment.Cell{{Size: "low", N: 40, Valid: 20}, {Size: "high", N: 40}}},
			}},
		},
	}
	for _, c := range cells {
		p.Cells = append(p.Cells, replay.Cell{Name: c, Spec: experiment.DesignerSpec{Kind: "openai", Context: c, Details: "bookkeeping", MaxTokens: 100}})
	}
	return replay.Runner{
		Plan: p, Steps: artifact.Steps{Store: artifacttest.NewMemory()}, Concurrency: 1,
		Designer: func(experiment.DesignerSpec) (designer.Designer, error) { return f, nil },
	}
}

func TestAnInterruptedReplayGoesOnWhereItEnded(t *testing.T) {
	f := &fickle{failAt: 4}
	r := runner(f, 3, "V1", "V2")
	part, _, err := r.Run(t.Context())
	var away *designer.UnavailableError
	if !errors.As(err, &away) || part.Complete || len(part.Cells[0].Draws)+len(part.Cells[1].Draws) != 3 {
		t.Fatalf("error %v, result %+v", err, part)
	}
	f.failAt = 0
	whole, stopped, err := r.Run(t.Context())
	if err != nil || stopped != "" || !whole.Complete || len(f.asked) != 4+3 {
		t.Errorf("error %v, stopped %q, asked %d times", err, stopped, len(f.asked))
	}
	fresh, _, err := runner(&fickle{}, 3, "V1", "V2").Run(t.Context())
	if err != nil || inJSON(t, fresh) != inJSON(t, whole) {
		t.Errorf("an interrupted replay found something else than one in one piece: %v", err)
	}
}

func TestTwoReplaysAtOnceAskForEachAnswerOnce(t *testing.T) {
	f := &fickle{}
	r := runner(f, 8, "V1", "V2")
	r.Concurrency = 4
	results := make([]replay.Result, 2)
	var wg sync.WaitGroup
	for i := range results {
		wg.Go(func() {
			var err error
			if results[i], _, err = r.Run(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if len(f.asked) != 16 || !results[0].Complete || inJSON(t, results[0]) != inJSON(t, results[1]) {
		t.Errorf("asked %d times for 16 answers; equal results: %v", len(f.asked), inJSON(t, results[0]) == inJSON(t, results[1]))
	}
}

func inJSON(t *testing.T, v any) string {
	t.Helper()
	body, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestTheSameDrawHasTheSameSeedInEveryCell(t *testing.T) {
	f := &fickle{}
	got, _, err := runner(f, 2, "V1", "V2").Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if f.asked[0] != f.asked[1] || f.asked[0] == f.asked[2] {
		t.Errorf("seeds %q", f.asked)
	}
	for i := range 2 {
		if a, b := got.Cells[0].Draws[i], got.Cells[1].Draws[i]; a.Proposal != b.Proposal || a.Seed != b.Seed || a.Step == b.Step {
			t.Errorf("draw %d: %+v and %+v", i, a, b)
		}
	}
}

func TestAReplayIsSummedUpOverItsUsableAnswers(t *testing.T) {
	f := &fickle{useful: func(seed string) bool { return !strings.Contains(seed, "draw 1/") }}
	got, _, err := runner(f, 4, "V3").Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := got.Cells[0]
	if c.Usable != 3 || c.Distinct != 3 || c.Tokens != 400 || c.Cost != 2 || !(c.NoiseFloor > 0) || c.Draws[1].Proposal != "" {
		t.Errorf("cell %+v", c)
	}
	s := c.Settings[0]
	var mean float64
	for _, i := range []int{0, 2, 3} {
		mean += c.Draws[i].Asked.Rows[0].DataRatio / 3
	}
	if s.Size != "low" || s.Field != "data_ratio" || s.Now != 0.5 || s.Mean < mean-1e-9 || s.Mean > mean+1e-9 || !(s.SD > 0) {
		t.Errorf("setting %+v; want mean %v", s, mean)
	}
	if knob := c.Settings[1]; knob.Field != "knob" || knob.SD != 0 || knob.Mean != 0.1 {
		t.Errorf("setting %+v", knob)
	}
	if c.Outcomes[0].Class != "ok" || c.Outcomes[0].Count != 3 || c.Outcomes[1].Count != 1 || c.Classes[0].Count != 4 {
		t.Errorf("outcomes %+v, classes %+v", c.Outcomes, c.Classes)
	}
}

func TestTheBudgetCountsAnswersFromBefore(t *testing.T) {
	f := &fickle{}
	r := runner(f, 50, "V1")
	r.MaxTokens = 5000
	first, stopped, err := r.Run(t.Context())
	if err != nil || !strings.Contains(stopped, "5000 tokens has no room") || first.Cells[0].Tokens > 5000 || len(f.asked) == 0 {
		t.Fatalf("stopped %q after %d, error %v", stopped, len(f.asked), err)
	}
	asked := len(f.asked)
	if _, stopped, err = r.Run(t.Context()); err != nil || stopped == "" || len(f.asked) != asked {
		t.Errorf("asked %d times more, error %v", len(f.asked)-asked, err)
	}
	r.MaxTokens, r.MaxCost = 0, 20
	if _, stopped, err = r.Run(t.Context()); err != nil || !strings.Contains(stopped, "budget of 20 has no room") || len(f.asked) > 40 {
		t.Errorf("stopped %q after %d, error %v", stopped, len(f.asked), err)
	}
}

func TestPlansAreNamedByAllThatIsAsked(t *testing.T) {
	id := func(change func(*replay.Plan)) string {
		p := runner(&fickle{}, 2, "V1", "V2").Plan
		change(&p)
		id, err := p.ID()
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	same := id(func(*replay.Plan) {})
	for name, change := range map[string]func(*replay.Plan){
		"n":          func(p *replay.Plan) { p.N = 3 },
		"a cell":     func(p *replay.Plan) { p.Cells = p.Cells[:1] },
		"a setting":  func(p *replay.Plan) { p.Cells[0].Spec.Temperature = 1 },
		"the seed":   func(p *replay.Plan) { p.Seed = "other" },
		"a result":   func(p *replay.Plan) { p.Evidence.History[0].Scorecard.Cells[0].Valid = 21 },
		"experiment": func(p *replay.Plan) { p.Experiment = "f" },
	} {
		if id(change) == same {
			t.Errorf("another %s has the same name", name)
		}
	}
	if id(func(*replay.Plan) {}) != same {
		t.Error("equal plans have different names")
	}
}

func TestAModelWithoutPricesIsNotAskedUnderABoundOnMoney(t *testing.T) {
	r := runner(&fickle{}, 2, "V1")
	r.MaxCost = 1
	r.Designer = func(experiment.DesignerSpec) (designer.Designer, error) { return unpriced{}, nil }
	if _, _, err := r.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "prompt_price and reply_price") {
		t.Errorf("error %v", err)
	}
}

type unpriced struct{}

func (unpriced) Propose(context.Context, designer.Request) (designer.Proposal, error) {
	return designer.Proposal{}, errors.New("asked")
}
func (unpriced) Price(int, int) (float64, bool) { return 0, false }
