package policy_test

import (
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
	r, err := policy.Train(context.Background(), c)
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
	for _, cores := range []int{1, 3} {
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

func TestStrongKLHoldsThePolicy(t *testing.T) {
	c := config(t, 5)
	c.Spec.LearningRate = 0.01
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
		c := config(t, 5)
		c.Spec.LearningRate = 0.01
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

// A step is 32 tasks of 8 rollouts, as experiments have by default.
func BenchmarkStep(b *testing.B) {
	c := config(b, 1)
	c.Problems, c.Spec.Batch = corridors(b, 3200, "train"), 32
	for b.Loop() {
		train(b, c)
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(100*b.N), "us/step")
}
