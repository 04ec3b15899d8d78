package policy_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"floe/internal/env"
	"floe/internal/experiment"
	"floe/internal/policy"
)

var reward = experiment.RewardSpec{Floor: 0.3, FreeTokens: 1500, FullTokens: 4096, AccuracyLow: 0.5, AccuracyTop: 0.8, LengthOf: "valid"}

// config trains on corridors: 100 tasks in batches of 16 make 7 steps an epoch,
// the last with 4 tasks.
func config(t testing.TB, epochs int) policy.Config {
	t.Helper()
	return policy.Config{
		Env: corridor{}, Problems: corridors(t, 100, "train"), Init: newModel(t), Epochs: epochs, Seed: "test", Reward: reward,
		Spec: experiment.TrainerSpec{
			Kind: "embedded", Rollouts: 8, Batch: 16, LearningRate: 0.005, ClipNorm: 1, Temperature: 1, SaveEvery: 1,
		},
	}
}

func newModel(t testing.TB) *policy.Model {
	t.Helper()
	m, err := policy.New(corridorFeatures, corridorActions, "test")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func train(t testing.TB, c policy.Config) policy.Result {
	t.Helper()
	r, err := policy.Train(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func rate(t testing.TB, m *policy.Model, temperature float64, good func(env.Verdict) bool) float64 {
	t.Helper()
	answers, err := policy.Evaluate(t.Context(), m, corridors(t, 200, "held out"), temperature, "test", nil)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, a := range answers {
		if good(a.Verdict) {
			n++
		}
	}
	return float64(n) / float64(len(answers))
}

func valid(v env.Verdict) bool   { return v.Valid }
func optimal(v env.Verdict) bool { return v.Optimal }

func TestTrainingLearnsToWalk(t *testing.T) {
	c := config(t, 10)
	r := train(t, c)
	if before, after := rate(t, c.Init, 1, optimal), rate(t, r.Model, 1, optimal); before > 0.35 || after < 0.9 {
		t.Errorf("optimal answers %.2f before and %.2f after; want below 0.35 and above 0.9", before, after)
	}
	if greedy := rate(t, r.Model, 0, valid); greedy != 1 {
		t.Errorf("greedy answers are valid at %.2f; want all", greedy)
	}
	curve := r.Training.Curve
	if first, last := curve[0], curve[len(curve)-1]; last.Reward < first.Reward+0.3 || last.Entropy > first.Entropy/2 {
		t.Errorf("curve from %+v to %+v; want a higher reward and a lower entropy", first, last)
	}
}

func TestTrainingCountsWhatItDid(t *testing.T) {
	r := train(t, config(t, 3))
	got := r.Training
	if got.Trainer != "embedded" || got.Samples != 100 || got.Epochs != 3 || got.Steps != 21 || got.Rollouts != 2400 {
		t.Errorf("training is %+v; want 100 samples, 3 epochs, 21 steps, 2400 rollouts", got)
	}
	if got.Decisions < got.Rollouts {
		t.Errorf("%d decisions in %d rollouts; want more", got.Decisions, got.Rollouts)
	}
	first, second := got.Curve[0], got.Curve[1]
	if len(got.Curve) != 21 || first.Step != 1 || got.Curve[20].Epoch != 3 {
		t.Errorf("curve has %d points, from step %d to epoch %v; want 21, 1, 3", len(got.Curve), first.Step, got.Curve[20].Epoch)
	}
	if first.WeightAcc != 0.5 || second.WeightAcc != 0.8 {
		t.Errorf("accuracy weighs %v, then %v; want 0.5, and 0.8 once all answers are short", first.WeightAcc, second.WeightAcc)
	}
	if want := (env.RewardState{Answers: 2400, Within: 2400}); r.Model.RewardState() != want {
		t.Errorf("the model remembers %+v; want %+v", r.Model.RewardState(), want)
	}
}

func TestNextRoundWeighsOnFromTheLast(t *testing.T) {
	c := config(t, 1)
	c.Init = train(t, c).Model
	r := train(t, c)
	if got := r.Training.Curve[0].WeightAcc; got != 0.8 {
		t.Errorf("accuracy weighs %v in the next round's first step; want 0.8", got)
	}
	if got := r.Model.RewardState().Answers; got != 1600 {
		t.Errorf("the model remembers %d answers; want 1600", got)
	}
}

func TestLongTrainingHasAShortCurve(t *testing.T) {
	c := config(t, 45)
	c.Spec.Batch, c.Spec.Rollouts = 10, 2
	r := train(t, c)
	curve := r.Training.Curve
	if len(curve) > 200 || len(curve) < 100 || curve[len(curve)-1].Step != 450 {
		t.Errorf("450 steps gave %d points up to step %d; want 100 to 200, up to the last", len(curve), curve[len(curve)-1].Step)
	}
}

// The digest says that a training gives these bytes, on any architecture. When
// it changes on purpose, so must policy.Version.
func TestTrainingIsTheSameForAnyNumberOfCores(t *testing.T) {
	const want = "5e7016a06d38d787"
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, cores := range []int{1, 2, 5} {
		runtime.GOMAXPROCS(cores)
		c := config(t, 2)
		c.Spec.KL, c.Spec.Entropy, c.Spec.Temperature = 0.01, 0.001, 0.9
		c.Spec.WarmStart, c.Spec.WarmEpochs = 20, 2
		base, err := policy.Base(t.Context(), c.Env, c.Problems, c.Spec, "test", nil)
		if err != nil {
			t.Fatal(err)
		}
		c.Init = base
		sum := sha256.Sum256(train(t, c).Model.Marshal())
		if got := hex.EncodeToString(sum[:8]); got != want {
			t.Errorf("%d cores: weights have digest %s; want %s", cores, got, want)
		}
	}
}

func TestResumedTrainingIsTheUndisturbedOne(t *testing.T) {
	c := config(t, 3)
	c.Spec.KL = 0.01
	states := map[int][]byte{}
	c.Save = func(step int, state []byte) error {
		states[step] = bytes.Clone(state)
		return nil
	}
	whole := train(t, c)
	if len(states) != 21 {
		t.Fatalf("%d saves; want one for each of 21 steps", len(states))
	}
	for _, step := range []int{1, 6, 7, 8, 13, 20, 21} {
		c.Resume = states[step]
		again := train(t, c)
		if !bytes.Equal(again.Model.Marshal(), whole.Model.Marshal()) {
			t.Errorf("resumed after step %d: other weights", step)
		}
		if !reflect.DeepEqual(again.Training, whole.Training) {
			t.Errorf("resumed after step %d: training %+v; want %+v", step, again.Training, whole.Training)
		}
	}
}

func TestStateIsRefusedByAnotherTraining(t *testing.T) {
	saved := config(t, 1)
	saved.Spec.SaveEvery = 3
	var state []byte
	saved.Save = func(_ int, s []byte) error { state = s; return nil }
	train(t, saved)
	for name, change := range map[string]func(*policy.Config){
		"another seed":     func(c *policy.Config) { c.Seed = "other" },
		"another rate":     func(c *policy.Config) { c.Spec.LearningRate = 0.001 },
		"another reward":   func(c *policy.Config) { c.Reward.Floor = 0.2 },
		"other tasks":      func(c *policy.Config) { c.Problems = corridors(t, 100, "other") },
		"another start":    func(c *policy.Config) { c.Init = train(t, config(t, 1)).Model },
		"more epochs":      func(c *policy.Config) { c.Epochs = 2 },
		"a damaged state":  func(c *policy.Config) { c.Resume = flip(state, len(state)/2) },
		"half a state":     func(c *policy.Config) { c.Resume = state[:len(state)/2] },
		"an empty state":   func(c *policy.Config) { c.Resume = []byte{} },
		"a policy instead": func(c *policy.Config) { c.Resume = c.Init.Marshal() },
	} {
		c := config(t, 1)
		c.Resume = state
		change(&c)
		if _, err := policy.Train(t.Context(), c); err == nil || !strings.Contains(err.Error(), "resume: ") {
			t.Errorf("%s: error %v; want one about resuming", name, err)
		}
	}
	saved.Spec.SaveEvery, saved.Resume = 5, state
	train(t, saved) // saving more or less often is the same training
}

func flip(file []byte, at int) []byte {
	file = bytes.Clone(file)
	file[at] ^= 0x10
	return file
}

func TestStrongKLHoldsThePolicy(t *testing.T) {
	c := config(t, 10)
	c.Spec.KL = 10
	held := train(t, c)
	c.Spec.KL = 0
	free := train(t, c)
	before := rate(t, c.Init, 1, optimal)
	if h, f := rate(t, held.Model, 1, optimal), rate(t, free.Model, 1, optimal); math.Abs(h-before) > 0.15 || f < before+0.3 {
		t.Errorf("optimal answers %.2f, with KL %.2f, without %.2f; want KL to hold on", before, h, f)
	}
}

func TestEntropyBonusKeepsThePolicyOpen(t *testing.T) {
	last := func(bonus float64) float64 {
		c := config(t, 10)
		c.Spec.Entropy = bonus
		curve := train(t, c).Training.Curve
		return curve[len(curve)-1].Entropy
	}
	if without, with := last(0), last(1); with < 0.9 || without > 0.6 {
		t.Errorf("entropy %.2f without and %.2f with a bonus; want below 0.6 and near log 3", without, with)
	}
}

// dull rewards every answer alike.
type dull struct{ env.Problem }

func (d dull) Judge(string) env.Verdict { return env.Verdict{Valid: true, Cost: 1, Optimum: 1} }

func TestGroupsWithoutSpreadTeachNothing(t *testing.T) {
	c := config(t, 2)
	for i, p := range c.Problems {
		c.Problems[i] = dull{p}
	}
	r := train(t, c)
	point := r.Training.Curve[0]
	if point.Spread != 0 || point.GradNorm != 0 {
		t.Errorf("spread %v, gradient %v; want none", point.Spread, point.GradNorm)
	}
	problems := corridors(t, 20, "held out")
	a, errA := policy.Evaluate(t.Context(), c.Init, problems, 1, "same", nil)
	b, errB := policy.Evaluate(t.Context(), r.Model, problems, 1, "same", nil)
	if errors.Join(errA, errB) != nil || !reflect.DeepEqual(a, b) {
		t.Error("the policy answers otherwise after learning nothing")
	}
}

func TestGradientThatIsNotFiniteIsAnError(t *testing.T) {
	c := config(t, 1)
	c.Reward.AccuracyLow = math.MaxFloat64 // the group's mean overflows
	c.Save = func(step int, _ []byte) error {
		t.Errorf("step %d was saved", step)
		return nil
	}
	_, err := policy.Train(t.Context(), c)
	if err == nil || !strings.Contains(err.Error(), "step 1 of 7: the gradient's norm is NaN") {
		t.Errorf("error %v; want one that names step 1 and the gradient", err)
	}
}

func TestCancelledTrainingStopsInItsStep(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := config(t, 1000)
	seen := policy.Progress{}
	c.Progress = func(p policy.Progress) {
		if seen = p; p.Answers >= 20*8 { // inside the second step
			cancel()
		}
	}
	_, err := policy.Train(ctx, c)
	if !errors.Is(err, context.Canceled) || seen.Step > 1 {
		t.Errorf("error %v after step %d; want %v within the second", err, seen.Step, context.Canceled)
	}
}

func TestProgressGrows(t *testing.T) {
	c := config(t, 2)
	var all []policy.Progress
	c.Progress = func(p policy.Progress) { all = append(all, p) }
	train(t, c)
	for i := 1; i < len(all); i++ {
		if all[i].Answers < all[i-1].Answers || all[i].Step < all[i-1].Step {
			t.Fatalf("progress went from %+v to %+v", all[i-1], all[i])
		}
	}
	if last := all[len(all)-1]; last.Step != 14 || last.Total != 14 || last.Answers != 1600 || last.Epoch != 2 || last.ValidRate == 0 {
		t.Errorf("last progress is %+v; want step 14 of 14, 1600 answers, epoch 2", last)
	}
}

func TestSaveErrorEndsTraining(t *testing.T) {
	c := config(t, 1)
	full := errors.New("disk is full")
	c.Save = func(int, []byte) error { return full }
	if _, err := policy.Train(t.Context(), c); !errors.Is(err, full) {
		t.Errorf("error %v; want %v", err, full)
	}
}

func TestImpossibleTrainingIsRefused(t *testing.T) {
	c := config(t, 0)
	c.Problems, c.Init = nil, nil
	c.Spec = experiment.TrainerSpec{LearningRate: math.NaN(), KL: -1}
	c.Save = func(int, []byte) error { return nil }
	_, err := policy.Train(t.Context(), c)
	for _, fault := range []string{"no problems", "0 epochs", "0 rollouts", "batch of 0", "save every 0", "temperature 0", "rate NaN", "kl -1", "no policy"} {
		if !strings.Contains(fmt.Sprint(err), fault) {
			t.Errorf("error %v\ndoes not say %q", err, fault)
		}
	}
}

func TestPolicyOfAnotherShapeIsRefused(t *testing.T) {
	c := config(t, 1)
	m, err := policy.New(7, corridorActions)
	if err != nil {
		t.Fatal(err)
	}
	c.Init = m
	if _, err := policy.Train(t.Context(), c); err == nil || !strings.Contains(err.Error(), "7 features") {
		t.Errorf("error %v; want one about 7 features", err)
	}
	if _, err := policy.Evaluate(t.Context(), m, c.Problems, 0, "", nil); err == nil || !strings.Contains(err.Error(), "below 7") {
		t.Errorf("error %v; want one about features below 7", err)
	}
}
