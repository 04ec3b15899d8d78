package activities

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"floe/internal/artifact"
	"floe/internal/checkpoint"
	"floe/internal/designer"
	"floe/internal/endpoint"
	"floe/internal/experiment"
	"floe/internal/plan"
	"floe/internal/serve"
	"floe/internal/serve/pool"
)

// FileModel is by what a step names its language model.
const FileModel = plan.FileModel

// Models make language models answer.
type Models interface {
	// Use has a model answer, until the use is done.
	Use(ctx context.Context, w pool.Want, report func(note string)) (*pool.Use, error)
	// Clear frees the device of this worker for a training.
	Clear(ctx context.Context) error
}

// model is a language model as a step left it.
type model struct {
	experiment.Model

	step artifact.Manifest
	sum  string // of model.json: what stands for it in the keys of later steps
}

func (a *Activities) model(ctx context.Context, id experiment.StepID) (model, error) {
	m, err := plan.Need(ctx, a.Steps, id)
	if err != nil {
		return model{}, err
	}
	out := model{step: m, sum: sumOf(m, FileModel)}
	return out, a.Steps.ReadJSON(ctx, m, FileModel, &out.Model)
}

// baseModel notes which language model an experiment starts from.
func (a *Activities) baseModel(ctx context.Context, in WarmStartInput) (Done, error) {
	inputs := plan.BaseModelOf(in.Spec)
	_, done, err := a.step(ctx, in.Where, in.Spec, plan.KindBaseModel, inputs, func(context.Context, *artifact.Hold, func(int, int, string)) ([]artifact.Body, error) {
		return jsonFiles(FileModel, experiment.Model{Base: inputs.Model})
	})
	return done, err
}

// passThrough is a chat template that leaves a prompt as it is, for models that are
// trained on plain text.
const passThrough = "{% for m in messages %}{{ m['content'] }}{% endfor %}" //nolint:gosec // no credential

// use has a model answer. Label is for people and part of the name under which its
// checkpoint is served.
func (a *Activities) use(ctx context.Context, spec experiment.Spec, m model, label string, report func(int, int, string)) (*pool.Use, error) {
	note := func(text string) { report(0, 0, text) }
	want := pool.Want{Trainer: spec.Trainer, Serve: *spec.Serve, Tokens: max(designer.Longest(spec), spec.Serve.Context)}
	if !spec.Trainer.Recipe.Chat && spec.Serve.Kind == "vllm" {
		want.Serve.Args = append([]string{"--chat-template", passThrough}, want.Serve.Args...)
	}
	if m.Checkpoint != nil {
		c, err := a.checkpoint(ctx, spec, m, label, note)
		if err != nil {
			return nil, err
		}
		want.Checkpoint, want.Full = &c, m.Checkpoint.Kind == "full"
	}
	if spec.Serve.Kind != experiment.ServeExternal {
		if err := a.device(ctx, "", note); err != nil {
			return nil, err
		}
	}
	return a.Models.Use(ctx, want, note)
}

// checkpoint brings what a server loads to where it finds it.
func (a *Activities) checkpoint(ctx context.Context, spec experiment.Spec, m model, label string, note func(string)) (serve.Checkpoint, error) {
	label = spec.Name + " " + label
	folder := filepath.Join(a.Folder, "checkpoints")
	if s := spec.Serve; s.Kind == experiment.ServeExternal {
		if !s.Load { // whoever runs the server has put it there: the store's name for it tells them what is wanted
			prefix := "/" + filepath.Dir(objectOf(m.step, checkpoint.Prefix+"manifest.json"))
			return serve.Checkpoint{Label: label, Dir: prefix, SHA256: m.Checkpoint.ManifestSHA256}, nil
		}
		folder = s.Folder
	}
	c, err := checkpoint.Fetch(ctx, a.Steps, m.step, folder, checkpoint.Model, note)
	if err != nil {
		return serve.Checkpoint{}, err
	}
	return c.Served(label), nil
}

// objectOf is the key of a step's file in the store.
func objectOf(m artifact.Manifest, file string) string {
	f, _ := m.File(file)
	return f.Object
}

// givenUp says that what an activity did is not wanted any more; a worker that stops
// is no reason to.
func givenUp(ctx context.Context) bool {
	return ctx.Err() != nil && !errors.Is(context.Cause(ctx), errStopping)
}

// priceOf is the price of a served model, if its endpoint has one.
func priceOf(p *endpoint.Prices) func(promptTokens, replyTokens int) float64 {
	if p == nil {
		return nil
	}
	return p.Cost
}

// needsModels says why a language model cannot be served by this worker.
func (a *Activities) needsModels() error {
	if a.Models == nil || a.Jobs == nil {
		return badInput(fmt.Errorf("this worker trains and serves no language models"))
	}
	return nil
}
