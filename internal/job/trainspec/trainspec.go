// Package trainspec turns a training into a job: spec.json from an experiment's spec
// and its inputs, and what a back end is given to start it.
package trainspec

import (
	"encoding/json"
	"fmt"
	"maps"

	"floe/internal/experiment"
	"floe/internal/job"
)

// Inputs are what a training works on, by addresses that the job can read.
type Inputs struct {
	Dataset job.Dataset
	Init    *job.Init // nil: the base model
	State   job.RewardState
	Seed    string
}

// Spec is the spec.json of a training.
func Spec(s experiment.Spec, in Inputs) (job.Spec, error) {
	settings, err := Settings(s.Trainer)
	if err != nil {
		return job.Spec{}, err
	}
	m := s.Trainer.Model
	return job.Spec{
		Schema:    job.SpecSchema,
		Trainer:   s.Trainer.Kind,
		BaseModel: job.Model{URI: m.URI, Revision: given(m.Revision), SHA256: given(m.SHA256)},
		Init:      in.Init,
		Dataset:   in.Dataset,
		Reward:    job.Reward{Referee: s.Job.Referee, Environment: s.Environment, Settings: s.Reward, State: in.State},
		Epochs:    s.Epochs,
		Seed:      in.Seed,
		// All tasks of all epochs in a row, the last step filled up (docs/jobs.md).
		ExpectedSteps: (s.Epochs*in.Dataset.Rows + s.Trainer.Batch - 1) / s.Trainer.Batch,
		Resume:        job.ResumeLatest,
		Limits:        job.Limits{WallSeconds: 60 * s.Job.Wall, GraceSeconds: s.Job.Grace},
		Settings:      settings,
	}, nil
}

func given(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// Settings are a trainer's settings as its recipe reads them (docs/trainer.md):
// those that all trainers share beside those of the recipe.
func Settings(t experiment.TrainerSpec) (json.RawMessage, error) {
	body, err := json.Marshal(t.Recipe)
	if err != nil {
		return nil, fmt.Errorf("settings of the recipe: %w", err)
	}
	all := map[string]any{}
	if err := json.Unmarshal(body, &all); err != nil {
		return nil, fmt.Errorf("settings of the recipe: %w", err)
	}
	maps.Copy(all, map[string]any{
		"rollouts": t.Rollouts, "batch": t.Batch, "learning_rate": t.LearningRate, "clip_norm": t.ClipNorm,
		"kl": t.KL, "temperature": t.Temperature, "save_every": t.SaveEvery,
	})
	body, err = json.Marshal(all) // keys sorted: equal settings have equal bytes
	if err != nil {
		return nil, fmt.Errorf("settings of the recipe: %w", err)
	}
	return body, nil
}

// Name is the name of the job of a step with a spec. The same step asked for with
// other settings of the machine is another job, with a directory of its own: no
// trainer goes on from a checkpoint of another spec.
func Name(step experiment.StepID, digest string) string {
	return job.ForStep(experiment.StepID{Kind: step.Kind, Key: job.Digest([]byte(step.Key + "/" + digest))})
}
