package config

import (
	"cmp"
	"reflect"
	"slices"

	"floe/internal/config/strict"
	"floe/internal/designer"
	"floe/internal/experiment"
)

// ownServer are settings of servers that floe starts, theirs those of others'.
var (
	ownServer = []string{"program", "args", "context", "parallel", "memory", "reasoning", "sleep", "idle_minutes", "start_minutes"}
	theirs    = []string{"endpoint", "model", "load", "folder"}
)

// idleOfServe are what a kind of server does not read.
func idleOfServe(kind string) []string {
	if kind == experiment.ServeExternal {
		return ownServer
	}
	return theirs
}

func (d *decoder) checkServe(spec *experiment.Spec) {
	s := spec.Serve
	if !d.sound("serve.kind") {
		return
	}
	d.checkIdleServe(s)
	d.checkArguments("serve.args", s.Args)
	d.checkArguments("serve.program", s.Program)
	if s.Kind == experiment.ServeExternal {
		d.checkExternal(s)
	}
	if s.Load && spec.Trainer.Recipe.Tuning != "lora" {
		d.Add(d.at("serve.load"), "serve.load", "found true with tuning %s; want lora: only adapters can be loaded into a server that runs", spec.Trainer.Recipe.Tuning)
	}
	if s.Kind == "sglang" && !spec.Trainer.Recipe.Chat && d.sound("trainer.recipe.chat") {
		d.Add(d.at("trainer.recipe.chat"), "trainer.recipe.chat", "found false with serve.kind sglang, which would ask in the model's chat template; want vllm, which passes prompts on unchanged")
	}
	if need := designer.Longest(*spec); cmp.Or(s.Context, need) < need &&
		d.sound("serve.context", "ask.max_tokens", "trainer.recipe.max_prompt_tokens", "designer.kind", "designer.max_tokens") {
		d.Add(d.at("serve.context"), "serve.context", "found %d; want at least %d: max_prompt_tokens + ask.max_tokens is %d, and a designer that is served takes %d for its prompt and designer.max_tokens",
			s.Context, need, spec.Trainer.Recipe.PromptTokens+spec.Ask.MaxTokens, designer.PromptRoom)
	}
}

// checkIdleServe refuses what the kind of server does not read. What has its
// default is let pass: effective files say everything.
func (d *decoder) checkIdleServe(s *experiment.ServeSpec) {
	other := "vllm or sglang"
	if s.Kind != experiment.ServeExternal {
		other = experiment.ServeExternal
	}
	v := reflect.ValueOf(*s)
	for _, f := range fieldsOf(v.Type()) {
		at := strict.Join("serve", f.key)
		if _, given := d.given[at]; given && slices.Contains(idleOfServe(s.Kind), f.key) && !f.isDefault(v.Field(f.index)) && d.sound(at) {
			d.Add(d.at(at), at, "found a setting that kind %s does not read; want it only with kind %s", s.Kind, other)
		}
	}
}

// checkExternal looks at a server that somebody else runs.
func (d *decoder) checkExternal(s *experiment.ServeSpec) {
	switch {
	case s.Endpoint == "" && d.sound("serve.endpoint"):
		d.Add(d.at("serve.kind"), "serve.endpoint", "found nothing; want an external server: a name in the worker's endpoints file, or its base URL")
	case s.Endpoint != "" && !endpointName.MatchString(s.Endpoint):
		if err := plainURL(s.Endpoint); err != nil {
			d.Add(d.at("serve.endpoint"), "serve.endpoint", "%v; want an http or https URL, or a name in the worker's endpoints file", err)
		}
	}
	if s.Load != (s.Folder != "") && d.sound("serve.load", "serve.folder") {
		d.Add(d.at("serve.load", "serve.folder"), "serve.folder", "found load: %v and folder %q; want both or neither: the server finds the checkpoints in that folder", s.Load, s.Folder)
	}
}
