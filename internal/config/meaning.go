package config

import (
	"floe/internal/designer"
	"floe/internal/experiment"
)

// checkMeaning refuses settings that contradict each other: what they ask for
// together can never happen.
func (d *decoder) checkMeaning(spec experiment.Spec) {
	t, g, l := spec.Trainer, spec.Designer, spec.Limits
	if t.WarmStart > 0 && t.WarmEpochs == 0 && !t.TrainsModel() && d.sound("trainer.kind", "trainer.warm_start", "trainer.warm_epochs") {
		d.Add(d.at("trainer.warm_epochs", "trainer.warm_start"), "trainer.warm_epochs",
			"found 0 with warm_start %d, which would be imitated in no pass; want at least 1, or warm_start 0", t.WarmStart)
	}
	kind, known := designer.KindOf(g.Kind)
	if !known || !kind.Asks || !d.sound("designer.kind") {
		return
	}
	d.checkFirstCall(g, l)
	if l.ModelCost > 0 && kind.Name == "openai" && !endpointName.MatchString(g.Endpoint) && d.sound("designer.endpoint", "limits.model_cost") {
		d.Add(d.at("limits.model_cost"), "limits.model_cost",
			"found %v with an endpoint that is not named in the worker's endpoints file and so has no prices; want designer.endpoint to be such a name, or no bound (0)", l.ModelCost)
	}
}

// checkFirstCall refuses limits that not even one call can keep.
func (d *decoder) checkFirstCall(g experiment.DesignerSpec, l experiment.LimitsSpec) {
	if l.ModelCalls == 0 && d.sound("limits.model_calls") {
		d.Add(d.at("limits.model_calls"), "limits.model_calls", "found 0 with designer.kind %s, which asks a model after each round; want at least 1", g.Kind)
	}
	if l.ModelTokens < g.MaxTokens && d.sound("limits.model_tokens", "designer.max_tokens") {
		d.Add(d.at("limits.model_tokens", "designer.max_tokens"), "limits.model_tokens",
			"found %d; want at least designer.max_tokens, which is %d: one reply may take so many", l.ModelTokens, g.MaxTokens)
	}
}

// checkAsk refuses a bound on money for answers that have no price.
func (d *decoder) checkAsk(spec *experiment.Spec) {
	a, s := spec.Ask, spec.Serve
	if a == nil || s == nil || a.CostBudget == 0 || !d.sound("serve.kind", "serve.endpoint", "ask.cost_budget") {
		return
	}
	if s.Kind != experiment.ServeExternal || !endpointName.MatchString(s.Endpoint) {
		d.Add(d.at("ask.cost_budget"), "ask.cost_budget",
			"found %v with a server that is not named in the worker's endpoints file and so has no prices; want token_budget, or serve.kind external with such a name", a.CostBudget)
	}
}

// checkDevice refuses a training that is to use what it has not.
func (d *decoder) checkDevice(spec *experiment.Spec) {
	r, j := spec.Trainer.Recipe, spec.Job
	if r.TRL == nil || j == nil || !d.sound("job.gpus", "trainer.recipe.trl.device") {
		return
	}
	if r.TRL.Device == "cuda" && j.GPUs == 0 {
		d.Add(d.at("job.gpus"), "job.gpus", "found 0 with trainer.recipe.trl.device cuda; want at least 1, or device auto or cpu")
	}
}
