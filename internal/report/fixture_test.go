package report_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"floe/internal/experiment"
)

// The fixture is a whole experiment with made-up numbers: nothing in it was
// measured. It is drawn from named streams, so it is the same everywhere.

var (
	fixtureSizes  = []string{"3x3", "4x4", "5x5", "6x6", "7x7", "8x8", "9x9", "10x10"}
	fixtureChecks = []string{"parse", "agent_count", "start", "bounds", "hole", "jump", "collision", "goal"}
)

const fixtureRationale = `Sizes up to 5x5 are mastered: more than four in five answers are valid, so further samples there teach little. I move their share to 7x7 to 9x9, where between a third and a half of the answers are valid and groups still disagree.

On 10x10 most groups fail as a whole. I lower its hole_ratio rather than its share, so that some plans succeed and give a signal. I keep wait_ratio on the large maps, since collisions remain the most frequent failure there.`

func fixture() experiment.Results {
	r := experiment.Results{
		Name:  "fixture-trained-designer",
		State: "completed",
		Spec:  fixtureSpec(),
		Provenance: experiment.Provenance{
			Version: "v0.0.0-fixture", Commit: "0123456789abcdef0123456789abcdef01234567", Dirty: true,
			GoVersion: "go1.26.8", Platform: "linux/amd64", Host: "fixture-host", CPUs: 8, Environment: "lake v1",
			Modules: []string{"go.temporal.io/sdk@v1.51.0", "github.com/sashabaranov/go-openai@v1.43.0"},
			Started: "2026-01-02T03:04:05Z", Finished: "2026-01-02T03:41:17Z",
			WorkflowID: "experiment/fixture-trained-designer", RunID: "00000000-0000-4000-8000-000000000000",
		},
		Base: fixtureCard("untrained", "validation", 50, -1),
	}
	for round := range 3 {
		r.Rounds = append(r.Rounds, fixtureRound(round))
	}
	for i := range r.Rounds[:2] {
		r.Rounds[i].Transcript = fixtureTranscript(i, r.Rounds[i].Curriculum, r.Rounds[i+1].Curriculum)
	}
	for _, agents := range []int{3, 4, 5} {
		set := fmt.Sprintf("benchmark-%d", agents)
		r.Benchmarks = append(r.Benchmarks, experiment.BenchmarkResult{
			Agents:  agents,
			Base:    fixtureBenchmark("untrained", set, agents, -1),
			Trained: fixtureBenchmark("round 2", set, agents, 2),
		})
	}
	return r
}

func fixtureSpec() experiment.Spec {
	return experiment.Spec{
		Name: "fixture-trained-designer", Environment: "lake", Rounds: 3, Seed: 7, Samples: 4000, Epochs: 2, Agents: 2,
		Objective:  "sum_of_costs",
		Validation: experiment.ValidationSpec{Sizes: fixtureSizes, Instances: 50},
		Reward:     experiment.RewardSpec{Floor: 0.3, FreeTokens: 1500, FullTokens: 4096, AccuracyLow: 0.5, AccuracyTop: 0.8, LengthOf: "valid"},
		Trainer:    experiment.TrainerSpec{Kind: "embedded", Rollouts: 8, Batch: 32, LearningRate: 0.002, ClipNorm: 1, Temperature: 1, WarmStart: 300, WarmEpochs: 6, SaveEvery: 50},
		Designer:   experiment.DesignerSpec{Kind: "openai", Context: "V6", Details: "bookkeeping", Model: "fixture-4b", MaxTokens: 4096, Repairs: 2},
		Benchmarks: experiment.BenchmarkSpec{Agents: []int{3, 4, 5}, Instances: 150},
		Limits:     experiment.LimitsSpec{StepMinutes: 1440, Attempts: 5, ModelCalls: 100, ModelTokens: 1_000_000},
	}
}

// skill is the made-up chance of a valid answer; round -1 is the untrained policy.
func skill(size, round, agents int) float64 {
	difficulty := 0.48*float64(size) + 1.1*float64(agents-2)
	return 1 / (1 + math.Exp(difficulty-0.2-[]float64{-0.4, 1.0, 1.9, 2.5}[round+1]))
}

func fixtureCard(policy, set string, perSize, round int) *experiment.Scorecard {
	rng := experiment.Rand("fixture", policy, set)
	card := &experiment.Scorecard{Policy: policy, Set: set, Checks: fixtureChecks}
	for i, size := range fixtureSizes {
		card.Cells = append(card.Cells, fixtureCells(rng, i, size, perSize, round, 2)...)
	}
	return card
}

func fixtureBenchmark(policy, set string, agents, round int) *experiment.Scorecard {
	rng := experiment.Rand("fixture", policy, set)
	card := &experiment.Scorecard{Policy: policy, Set: set, Checks: fixtureChecks}
	for i, size := range fixtureSizes[agents-3:] {
		card.Cells = append(card.Cells, fixtureCells(rng, i+agents-3, size, 150, round, agents)...)
	}
	return card
}

func fixtureCells(rng *rand.Rand, level int, size string, n, round, agents int) []experiment.Cell {
	p := skill(level, round, agents)
	direct := fixtureCell(rng, size, "direct", n/2, level, p)
	wait := fixtureCell(rng, size, "wait", n-n/2, level, p*0.86)
	return []experiment.Cell{direct, wait}
}

func fixtureCell(rng *rand.Rand, size, group string, n, level int, p float64) experiment.Cell {
	c := experiment.Cell{Size: size, Group: group, N: n, Errors: make([]int, len(fixtureChecks))}
	weights := []float64{0.05, 0.02, 0.03, 0.12, 0.3, 0.08, 0.35 + 0.03*float64(level), 0.25}
	for range n {
		optimum := int64(4 + 2*level + rng.IntN(5))
		c.Tokens += int64(180+60*level) + int64(rng.IntN(120))
		if rng.Float64() >= p {
			c.Errors[failed(rng, weights)]++
			if rng.Float64() < 0.3 {
				c.Errors[7]++
			}
			continue
		}
		c.Valid++
		c.Optimum += optimum
		c.Cost += optimum
		if rng.Float64() < 0.66 {
			c.Optimal++
		} else {
			c.Cost += 1 + int64(rng.IntN(3))
		}
	}
	return c
}

// failed draws the first check that an answer fails; never the last, which
// fixtureCell adds on its own.
func failed(rng *rand.Rand, weights []float64) int {
	sum := 0.0
	for _, w := range weights[:7] {
		sum += w
	}
	x := rng.Float64() * sum
	for i, w := range weights[:7] {
		if x -= w; x < 0 {
			return i
		}
	}
	return 6
}

var fixtureShares = [][]float64{
	{0.165, 0.081, 0.102, 0.148, 0.121, 0.093, 0.174, 0.116},
	{0.060, 0.060, 0.102, 0.148, 0.190, 0.180, 0.174, 0.086},
	{0.040, 0.040, 0.060, 0.120, 0.200, 0.220, 0.214, 0.106},
}

var fixtureHoles = [][]float64{
	{0.31, 0.12, 0.24, 0.08, 0.42, 0.19, 0.37, 0.45},
	{0.31, 0.12, 0.24, 0.15, 0.30, 0.19, 0.25, 0.10},
	{0.31, 0.20, 0.24, 0.20, 0.30, 0.25, 0.25, 0.15},
}

var fixtureWaits = [][]float64{
	{0.44, 0.62, 0.13, 0.35, 0.71, 0.28, 0.55, 0.09},
	{0.44, 0.62, 0.30, 0.35, 0.50, 0.28, 0.40, 0.09},
	{0.44, 0.62, 0.40, 0.45, 0.50, 0.40, 0.40, 0.20},
}

func fixtureCurriculum(round int) experiment.Curriculum {
	var c experiment.Curriculum
	for i, size := range fixtureSizes {
		c.Rows = append(c.Rows, experiment.Row{Size: size, DataRatio: fixtureShares[round][i], Knobs: []experiment.Knob{
			{Name: "hole_ratio", Value: fixtureHoles[round][i]},
			{Name: "wait_ratio", Value: fixtureWaits[round][i]},
		}})
	}
	return c
}

func fixtureRound(round int) experiment.RoundResult {
	c := fixtureCurriculum(round)
	return experiment.RoundResult{
		Round:       round,
		Curriculum:  c,
		Conformance: fixtureConformance(round, c),
		Training:    fixtureTraining(round),
		Scorecard:   fixtureCard(fmt.Sprintf("round %d", round), "validation", 50, round),
		Steps:       fixtureSteps(round),
	}
}

func fixtureConformance(round int, c experiment.Curriculum) *experiment.Conformance {
	rng := experiment.Rand("fixture", "conformance", fmt.Sprint(round))
	conf := &experiment.Conformance{Requested: 4000}
	for i, row := range c.Rows {
		n := int(math.Round(4000 * row.DataRatio))
		line := experiment.ConformanceRow{Size: row.Size, Requested: n, Realised: n}
		if i == 0 {
			line.Repeats = n / 5
		}
		for _, k := range row.Knobs {
			realised := rounded(k.Value + 0.02*(rng.Float64()-0.5))
			line.Knobs = append(line.Knobs, experiment.Realised{Name: k.Name, Requested: k.Value, Realised: realised})
		}
		middle := 4 + 2.1*float64(i)
		for cost := 2; cost < 32; cost++ {
			z := (float64(cost) - middle) / (1.4 + 0.35*float64(i))
			if k := int(float64(n) * 0.3 * math.Exp(-z*z/2)); k > 0 {
				line.Optima = append(line.Optima, experiment.CostCount{Cost: cost, Count: k})
			}
		}
		conf.Realised += line.Realised
		conf.Repeats += line.Repeats
		conf.Rows = append(conf.Rows, line)
	}
	return conf
}

// rounded keeps four decimals, so that machines that fuse multiplications agree.
func rounded(x float64) float64 { return math.Round(10000*x) / 10000 }

func fixtureTraining(round int) *experiment.Training {
	rng := experiment.Rand("fixture", "training", fmt.Sprint(round))
	t := &experiment.Training{Trainer: "embedded", Samples: 4000, Epochs: 2, Steps: 250, Rollouts: 64000, Decisions: 812_400 + int64(rng.IntN(90_000))}
	for step := 1; step <= t.Steps; step += 4 {
		x := float64(step) / float64(t.Steps)
		from, to := []float64{0.24, 0.41, 0.52}[round], []float64{0.56, 0.6, 0.66}[round]
		valid := from + (to-from)*(1-math.Exp(-3*x)) + 0.07*(rng.Float64()-0.5)
		accuracy := rounded(0.8 - 0.3*math.Exp(-4*x))
		t.Curve = append(t.Curve, experiment.TrainingPoint{
			Step: step, Epoch: rounded(2 * x), Reward: rounded(0.9 * valid), ValidRate: rounded(valid),
			Spread:   rounded(0.62 - 0.12*x - 0.06*float64(round) + 0.1*(rng.Float64()-0.5)),
			Entropy:  rounded(1.05*math.Exp(-0.9*x-0.5*float64(round)) + 0.03*rng.Float64()),
			GradNorm: rounded(0.4 + 0.3*rng.Float64()), WeightAcc: accuracy, WeightLen: rounded(1 - accuracy),
		})
	}
	return t
}

func fixtureSteps(round int) []experiment.StepRef {
	var steps []experiment.StepRef
	for i, name := range []string{"generate", "train", "validate", "design"} {
		if round == 2 && name == "design" {
			continue
		}
		kind := []string{"dataset", "train", "validate", "design"}[i]
		id, err := experiment.NewStepID(kind, []int{round, i})
		if err != nil {
			panic(err)
		}
		steps = append(steps, experiment.StepRef{Step: name, ID: id, Seconds: rounded([]float64{48.2, 611.7, 27.4, 9.8}[i] * (1 + 0.07*float64(round)))})
	}
	return steps
}

func fixtureTranscript(round int, before, used experiment.Curriculum) *experiment.Transcript {
	asked := used.Clone()
	asked.Rows[7].DataRatio = 0.116
	asked.Rows[7].Knobs[0].Value = 0.05
	t := &experiment.Transcript{
		Round: round, Designer: "openai", Model: "fixture-4b", Context: "V6",
		Sections:  []experiment.Section{{Name: "failures", Text: "size valid optimal collision hole\n3x3  0.70  0.58  4 3\n10x10 0.08 0.06 21 14"}, {Name: "training", Text: fmt.Sprintf("Round %d of 3 has just ended. Each round trains for 2 epochs.", round)}},
		Prompt:    "Write the next curriculum.",
		Outcome:   []string{"projected", "ok"}[round],
		Rationale: fixtureRationale, Asked: asked, Used: used,
		Attempts: []experiment.Attempt{{
			Reply: "```yaml\n10x10: {data_ratio: 0.116, hole_ratio: 0.05, wait_ratio: 0.09}\n```", FinishReason: "stop", Class: "yaml",
			PromptTokens: 1840 + 310*round, CompletionTokens: 512, LatencyMS: 9_412,
		}},
		Changes: changes(before, used),
	}
	if round == 0 {
		t.Repairs = []string{"shares summed to 1.03; all were scaled to sum to 1", "10x10: hole_ratio 0.05 is below the least, 0.1"}
		return t
	}
	t.Asked = used
	t.Rationale = strings.SplitN(fixtureRationale, "\n", 2)[0]
	return t
}

func changes(before, after experiment.Curriculum) []experiment.Change {
	var list []experiment.Change
	for i, row := range after.Rows {
		old := before.Rows[i]
		if row.DataRatio != old.DataRatio {
			list = append(list, experiment.Change{Size: row.Size, Field: "data_ratio", From: old.DataRatio, To: row.DataRatio})
		}
		for j, k := range row.Knobs {
			if k.Value != old.Knobs[j].Value {
				list = append(list, experiment.Change{Size: row.Size, Field: k.Name, From: old.Knobs[j].Value, To: k.Value})
			}
		}
	}
	return list
}
