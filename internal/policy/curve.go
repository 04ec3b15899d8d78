package policy

import "floe/internal/experiment"

// curvePoints bounds the length of a training's curve.
const curvePoints = 200

// curve is a training's curve, one point for every few steps: their mean, so
// that thinning it also calms it. The fields are exported for the saved state.
type curve struct {
	Points []experiment.TrainingPoint `json:"points"`
	// Sum and Steps are the steps since the last point.
	Sum   experiment.TrainingPoint `json:"sum"`
	Steps int                      `json:"steps"`
}

// add counts a step of total in.
func (c *curve) add(p experiment.TrainingPoint, total int) {
	c.Steps++
	c.Sum.Reward += p.Reward
	c.Sum.ValidRate += p.ValidRate
	c.Sum.Spread += p.Spread
	c.Sum.Entropy += p.Entropy
	c.Sum.GradNorm += p.GradNorm
	c.Sum.WeightAcc += p.WeightAcc
	c.Sum.WeightLen += p.WeightLen
	stride := (total + curvePoints - 1) / curvePoints
	if c.Steps < stride && p.Step < total {
		return
	}
	n := float64(c.Steps)
	c.Points = append(c.Points, experiment.TrainingPoint{
		Step:      p.Step,
		Epoch:     p.Epoch,
		Reward:    c.Sum.Reward / n,
		ValidRate: c.Sum.ValidRate / n,
		Spread:    c.Sum.Spread / n,
		Entropy:   c.Sum.Entropy / n,
		GradNorm:  c.Sum.GradNorm / n,
		WeightAcc: c.Sum.WeightAcc / n,
		WeightLen: c.Sum.WeightLen / n,
	})
	c.Sum, c.Steps = experiment.TrainingPoint{}, 0
}
