package plan

import (
	"strconv"

	"floe/internal/designer"
	"floe/internal/env"
	"floe/internal/experiment"
	"floe/internal/orders"
	"floe/internal/policy"
)

// Kinds of steps.
const (
	KindCurriculum = "curriculum"
	KindWarmStart  = "warm-start"
	KindValidation = "validation-set"
	KindGenerate   = "generate"
	KindTrain      = "train"
	KindEvaluate   = "evaluate"
	KindDesign     = "design"
	KindBenchmark  = "benchmark-set"
	KindBaseModel  = "base-model" // in warm-start's place where a language model is trained
)

// Files of steps.
const (
	FileCurriculum  = "curriculum.json"
	FileDataset     = "dataset.jsonl.zst"
	FileConformance = "conformance.json"
	FilePolicy      = "policy.bin"
	FileModel       = "model.json" // in policy.bin's place where a language model is trained
	FileTraining    = "training.json"
	FileAnswers     = "answers.jsonl.zst"
	FileScorecard   = "scorecard.json"
	FileTranscript  = "transcript.json"
)

// Curriculum is all that determines round 0's curriculum.
type Curriculum struct {
	Environment string                 `json:"environment"` // version
	Seed        int64                  `json:"seed"`
	Given       *experiment.Curriculum `json:"given"`
}

// CurriculumOf takes a spec's part of it.
func CurriculumOf(spec experiment.Spec, e env.Environment) Curriculum {
	return Curriculum{e.Version(), spec.Seed, spec.Curriculum}
}

// Draw is all that determines a set of tasks.
type Draw struct {
	Environment string      `json:"environment"` // version
	Orders      []env.Order `json:"orders"`
}

// DrawOf asks an environment for the tasks of some orders.
func DrawOf(e env.Environment, list ...env.Order) Draw { return Draw{e.Version(), list} }

// WarmStart is all that determines the untrained policy.
type WarmStart struct {
	Environment string    `json:"environment"` // version
	Policy      string    `json:"policy"`      // version
	Order       env.Order `json:"order"`
	Epochs      int       `json:"epochs"`
	Seed        string    `json:"seed"`
}

// WarmStartOf takes a spec's part of it.
func WarmStartOf(spec experiment.Spec, e env.Environment) WarmStart {
	return WarmStart{e.Version(), policy.Version, orders.WarmStart(spec, e), spec.Trainer.WarmEpochs, orders.Seed(spec, "base")}
}

// Train is all that determines a trained policy.
type Train struct {
	Environment string                 `json:"environment"` // version
	Policy      string                 `json:"policy"`      // version
	Dataset     string                 `json:"dataset"`     // sha256
	Init        string                 `json:"init"`        // sha256
	Epochs      int                    `json:"epochs"`
	Trainer     experiment.TrainerSpec `json:"trainer"`
	Reward      experiment.RewardSpec  `json:"reward"`
	Seed        string                 `json:"seed"`
}

// TrainOf leaves out what changes how a training runs but not what it makes.
func TrainOf(spec experiment.Spec, e env.Environment, round int, dataset, init string) Train {
	t := spec.Trainer
	t.SaveEvery, t.WarmStart, t.WarmEpochs = 0, 0, 0
	return Train{
		e.Version(), policy.Version, dataset, init, spec.Epochs, t, spec.Reward,
		orders.Seed(spec, "train", strconv.Itoa(round)),
	}
}

// Evaluate is all that determines a scorecard.
type Evaluate struct {
	Environment string `json:"environment"` // version
	Policy      string `json:"policy"`      // version
	Dataset     string `json:"dataset"`     // sha256
	Weights     string `json:"weights"`     // sha256
	Label       string `json:"label"`       // of the policy
	Set         string `json:"set"`         // name of the dataset
}

// EvaluateOf scores a policy on a set, both named by their sha256.
func EvaluateOf(e env.Environment, dataset, weights, label, set string) Evaluate {
	return Evaluate{e.Version(), policy.Version, dataset, weights, label, set}
}

// Design is all that determines a design, but for what a model answers.
type Design struct {
	Designer string                  `json:"designer"` // version of the code
	Spec     experiment.DesignerSpec `json:"spec"`
	Evidence designer.Evidence       `json:"evidence"`
	Seed     string                  `json:"seed"`
	// Model is the sha256 of the model.json of the experiment's own model that
	// designs; empty if none does.
	Model string `json:"model,omitempty"`
}

// DesignOf asks for the curriculum of the round after this one. Model is what
// Asked names.
func DesignOf(spec experiment.Spec, round int, evidence designer.Evidence, model string) Design {
	return Design{designer.Version, spec.Designer, evidence, orders.Seed(spec, "design", strconv.Itoa(round)), model}
}

// Asked is which of an experiment's own models designs, the untrained one or the
// one just trained, both named by their sha256; empty if neither does.
func Asked(spec experiment.Spec, base, trained string) string {
	switch spec.Designer.Kind {
	case designer.KindTrained:
		return trained
	case designer.KindBase:
		return base
	}
	return ""
}

// Labels of policies and sets, as they stand in scorecards.
const (
	LabelBase     = "base"
	SetValidation = "validation"
)

// LabelRound is the label of the policy that a round left.
func LabelRound(round int) string { return "round " + strconv.Itoa(round) }

// SetBenchmark is the name of the held-out set with this many agents.
func SetBenchmark(agents int) string { return "benchmark-" + strconv.Itoa(agents) }
