package plan

import (
	"strconv"

	"floe/internal/env"
	"floe/internal/experiment"
	"floe/internal/job"
	"floe/internal/orders"
)

// PolicyFile is the file of a step by which a policy is known to later steps.
func PolicyFile(spec experiment.Spec) string {
	if spec.Trainer.TrainsModel() {
		return FileModel
	}
	return FilePolicy
}

// BaseModel is all that determines the untrained policy where a language model is
// trained: its name.
type BaseModel struct {
	Model experiment.ModelSpec `json:"model"`
}

// BaseModelOf takes a spec's part of it; the spec names a model.
func BaseModelOf(spec experiment.Spec) BaseModel { return BaseModel{*spec.Trainer.Model} }

// TrainModel is all that determines a trained language model, but for what
// sampling on a GPU leaves to chance.
type TrainModel struct {
	Environment string                 `json:"environment"` // version
	Contract    string                 `json:"contract"`    // of the job
	Dataset     string                 `json:"dataset"`     // sha256
	Init        string                 `json:"init"`        // sha256 of model.json
	Epochs      int                    `json:"epochs"`
	Trainer     experiment.TrainerSpec `json:"trainer"`
	Reward      experiment.RewardSpec  `json:"reward"`
	Seed        string                 `json:"seed"`
}

// TrainModelOf trains on a dataset, from a model, both named by their sha256. How
// often checkpoints are saved and how memory is used does not change the result,
// nor does where it is trained.
func TrainModelOf(spec experiment.Spec, e env.Environment, round int, dataset, init string) TrainModel {
	t := spec.Trainer
	t.SaveEvery = 0
	recipe := *t.Recipe
	recipe.Keep, recipe.MicroBatch, recipe.Checkpointed = 0, 0, false
	if recipe.TRL != nil {
		own := *recipe.TRL
		own.VLLMMemory, own.VLLMSleep = 0, false
		recipe.TRL = &own
	}
	if recipe.Verl != nil {
		own := *recipe.Verl
		own.EngineMemory, own.Offload, own.RayAddress = 0, false, ""
		recipe.Verl = &own
	}
	t.Recipe = &recipe
	return TrainModel{
		e.Version(), job.SpecSchema, dataset, init, spec.Epochs, t, spec.Reward,
		orders.Seed(spec, "train", strconv.Itoa(round)),
	}
}

// EvaluateModel is all that determines a language model's scorecard. The server's
// own version is not in it: it is recorded beside the answers.
type EvaluateModel struct {
	Environment string  `json:"environment"` // version
	Dataset     string  `json:"dataset"`     // sha256
	Model       string  `json:"model"`       // sha256 of model.json
	Label       string  `json:"label"`       // of the policy
	Set         string  `json:"set"`         // name of the dataset
	Server      string  `json:"server"`      // kind
	Chat        bool    `json:"chat"`
	Thinking    bool    `json:"thinking"`
	Temperature float64 `json:"temperature"`
	TopP        float64 `json:"top_p"`
	MaxTokens   int     `json:"max_tokens"`
	Seed        string  `json:"seed"`
}

// EvaluateModelOf asks a model a set, both named by their sha256. Greedy answers
// depend on no seed, so experiments with other seeds share them.
func EvaluateModelOf(spec experiment.Spec, e env.Environment, dataset, model, label, set string) EvaluateModel {
	seed := "evaluate/" + set
	if spec.Ask.Temperature > 0 {
		seed = orders.Seed(spec, "evaluate", set)
	}
	r, a := spec.Trainer.Recipe, spec.Ask
	return EvaluateModel{
		e.Version(), dataset, model, label, set, spec.Serve.Kind,
		r.Chat, r.Thinking, a.Temperature, a.TopP, a.MaxTokens, seed,
	}
}

// policyStep is the step that makes the untrained policy.
func policyStep(spec experiment.Spec, e env.Environment) (kind string, inputs any) {
	if spec.Trainer.TrainsModel() {
		return KindBaseModel, BaseModelOf(spec)
	}
	return KindWarmStart, WarmStartOf(spec, e)
}

func trainInputs(spec experiment.Spec, e env.Environment, round int, dataset, init string) any {
	if spec.Trainer.TrainsModel() {
		return TrainModelOf(spec, e, round, dataset, init)
	}
	return TrainOf(spec, e, round, dataset, init)
}

func evaluateInputs(spec experiment.Spec, e env.Environment, dataset, policy, label, set string) any {
	if spec.Trainer.TrainsModel() {
		return EvaluateModelOf(spec, e, dataset, policy, label, set)
	}
	return EvaluateOf(e, dataset, policy, label, set)
}
