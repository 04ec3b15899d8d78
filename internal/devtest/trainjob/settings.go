package trainjob

import (
	"bytes"
	"encoding/json"
	"fmt"

	"floe/internal/experiment"
)

// settings are those of docs/trainer.md, by the same names and no others. A number
// that learns has no use for most of them.
type settings struct {
	experiment.RecipeSpec

	Rollouts     int     `json:"rollouts"`
	Batch        int     `json:"batch"`
	LearningRate float64 `json:"learning_rate"`
	ClipNorm     float64 `json:"clip_norm"`
	KL           float64 `json:"kl"`
	Temperature  float64 `json:"temperature"`
	SaveEvery    int     `json:"save_every"`
}

func readSettings(body []byte) (settings, error) {
	s := settings{Rollouts: 8, Batch: 32, LearningRate: 1e-5, SaveEvery: 10}
	s.Tuning, s.LoraRank, s.Keep = "lora", 32, 2
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return settings{}, fmt.Errorf("settings: %w", err)
	}
	if s.Rollouts < 2 || s.Batch < 1 || s.SaveEvery < 1 || s.LearningRate <= 0 || (s.Tuning != "lora" && s.Tuning != "full") {
		return settings{}, fmt.Errorf("settings: found rollouts %d, batch %d, save_every %d, learning_rate %v, tuning %q; want 2, 1, 1, more than 0, and lora or full",
			s.Rollouts, s.Batch, s.SaveEvery, s.LearningRate, s.Tuning)
	}
	return s, nil
}

// gain is the share of what it cannot do that the model learns in a step whose
// groups all teach: a tenth with the usual learning rate.
func (s settings) gain() float64 { return min(0.5, 1e4*s.LearningRate) }
