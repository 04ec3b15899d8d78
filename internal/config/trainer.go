package config

import (
	"cmp"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"floe/internal/config/strict"
	"floe/internal/experiment"
)

// modelSections are read only where a language model is trained.
var modelSections = []string{"job", "serve", "ask", "trainer.model", "trainer.recipe"}

// embeddedSettings are read by the embedded trainer alone.
var embeddedSettings = []string{"entropy", "warm_start", "warm_epochs"}

// checkTrainer fills in what a trainer's kind decides, and finds what it does not
// read or lacks.
func checkTrainer(d *decoder, spec *experiment.Spec) {
	if !d.sound("trainer.kind") {
		return
	}
	if !spec.Trainer.TrainsModel() {
		for _, path := range modelSections {
			if _, given := d.given[path]; given {
				d.Add(d.at(path), path, "found settings that trainer.kind embedded does not read; want them only with trainer.kind trl or verl")
			}
		}
		return
	}
	d.fillTrainer(&spec.Trainer)
	d.checkModel(spec)
	d.checkRecipe(spec.Trainer)
	d.checkJob(spec)
	d.checkServe(spec)
}

// fillTrainer gives settings that the file leaves out their values for a language
// model, and refuses those that only the embedded trainer reads.
func (d *decoder) fillTrainer(t *experiment.TrainerSpec) {
	v := reflect.ValueOf(t).Elem()
	for _, f := range fieldsOf(v.Type()) {
		at := strict.Join("trainer", f.key)
		_, given := d.given[at]
		switch {
		case !given && f.model != "":
			d.value(f, &yaml.Node{Kind: yaml.ScalarNode, Value: f.model}, at, v.Field(f.index))
		case given && slices.Contains(embeddedSettings, f.key) && !v.Field(f.index).IsZero() && d.sound(at):
			d.Add(d.at(at), at, "found a setting that kind %s does not read; want it only with kind embedded", t.Kind)
		}
	}
	if t.Recipe == nil {
		t.Recipe = new(experiment.RecipeSpec)
		d.fill("trainer.recipe", t.Recipe)
	}
	if t.Kind == experiment.TrainerTRL && t.Recipe.TRL == nil {
		t.Recipe.TRL = new(experiment.TRLSpec)
		d.fill("trainer.recipe.trl", t.Recipe.TRL)
	}
	if t.Kind == experiment.TrainerVerl && t.Recipe.Verl == nil {
		t.Recipe.Verl = new(experiment.VerlSpec)
		d.fill("trainer.recipe.verl", t.Recipe.Verl)
	}
}

// fill gives all fields of a section that no file has their defaults.
func (d *decoder) fill(path string, section any) {
	d.structure(&yaml.Node{Kind: yaml.MappingNode}, path, reflect.ValueOf(section).Elem())
}

// lacks tells a section that must be there.
func (d *decoder) lacks(path, want string) {
	d.Add(d.at("trainer.kind"), path, "found nothing; want %s", want)
}

func (d *decoder) checkModel(spec *experiment.Spec) {
	t := spec.Trainer
	if t.Model == nil {
		d.lacks("trainer.model", "the language model that kind "+t.Kind+" trains, such as {uri: Qwen/Qwen3-4B, revision: 1cfa9a72}")
	}
	if spec.Job == nil {
		d.lacks("job", "where kind "+t.Kind+" trains, such as {backend: process}")
	}
	if spec.Serve == nil {
		spec.Serve = new(experiment.ServeSpec)
		d.fill("serve", spec.Serve)
	}
	if spec.Ask == nil {
		spec.Ask = new(experiment.AskSpec)
		d.fill("ask", spec.Ask)
	}
}

func (d *decoder) checkRecipe(t experiment.TrainerSpec) {
	r := t.Recipe
	if t.Kind == experiment.TrainerTRL && r.Verl != nil {
		d.Add(d.at("trainer.recipe.verl"), "trainer.recipe.verl", "found settings of verl beside kind trl; want trl")
	}
	if t.Kind == experiment.TrainerVerl && r.TRL != nil {
		d.Add(d.at("trainer.recipe.trl"), "trainer.recipe.trl", "found settings of trl beside kind verl; want verl")
	}
	answers := t.Rollouts * t.Batch
	if r.MicroBatch > 0 && answers%r.MicroBatch != 0 && d.sound("trainer.recipe.micro_batch", "trainer.rollouts", "trainer.batch") {
		d.Add(d.at("trainer.recipe.micro_batch", "trainer.batch", "trainer.rollouts"), "trainer.recipe.micro_batch",
			"found %d; want a divisor of rollouts * batch, which is %d", r.MicroBatch, answers)
	}
	if r.Thinking && !r.Chat {
		d.Add(d.at("trainer.recipe.thinking"), "trainer.recipe.thinking", "found true beside chat: false; want a chat template to think in")
	}
	if t.LearningRate == 0 && d.sound("trainer.learning_rate") {
		d.Add(d.at("trainer.learning_rate"), "trainer.learning_rate", "found 0; want more, with kind %s", t.Kind)
	}
}

// groups are the sections of job that one back end reads.
func groups(j *experiment.JobSpec) map[string]bool {
	return map[string]bool{"slurm": j.Slurm != nil, "ray": j.Ray != nil, "kubernetes": j.Kubernetes != nil, "commands": j.Commands != nil}
}

func (d *decoder) checkJob(spec *experiment.Spec) {
	j := spec.Job
	if j == nil || !d.sound("job.backend") {
		return
	}
	own := j.Backend
	if own == "command" {
		own = "commands"
	}
	given := groups(j)
	for _, name := range []string{"slurm", "ray", "kubernetes", "commands"} {
		if at := "job." + name; given[name] && name != own {
			d.Add(d.at(at), at, "found settings that job.backend %s does not read; want them only with their own back end", j.Backend)
		}
	}
	switch {
	case j.Backend == "ray" && j.Ray == nil:
		d.Add(d.at("job.backend"), "job.ray", "found nothing; want the cluster's address, such as {address: http://head:8265}")
	case j.Backend == "command" && j.Commands == nil:
		d.Add(d.at("job.backend"), "job.commands", "found nothing; want submit, status, stop and states (docs/backends.md)")
	case j.Backend == "kubernetes" && (j.Kubernetes == nil || j.Kubernetes.Image == "" && j.Kubernetes.Template == ""):
		d.Add(d.at("job.kubernetes", "job.backend"), "job.kubernetes.image", "found nothing; want the image with trainer and referee, or a template that has one")
	}
	if j.Wall > 0 && j.Wall*60 <= j.Grace && d.sound("job.wall_minutes", "job.grace_seconds") {
		d.Add(d.at("job.wall_minutes"), "job.wall_minutes", "found %d minutes; want more than grace_seconds, which is %d: an attempt needs that time to save", j.Wall, j.Grace)
	}
	d.checkEnv(j.Env)
	if j.Ray != nil {
		d.checkPairs("job.ray.resources", j.Ray.Resources, "NAME=number, such as H100=1", func(v string) bool {
			x, err := strconv.ParseFloat(v, 64)
			return err == nil && x > 0
		})
	}
	if c := j.Commands; c != nil {
		states := []string{"pending", "running", "ended", "preempted", "lost"}
		d.checkPairs("job.commands.states", c.States, "STATE=meaning with one of "+strict.OneOf(states), func(v string) bool { return slices.Contains(states, v) })
		if re, err := regexp.Compile(c.StateForm); err != nil || c.StateForm != "" && re.SubexpIndex("state") < 0 {
			d.Refuse(d.at("job.commands.state_form"), "job.commands.state_form", "a regular expression with a group called state")
		}
	}
}

var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// checkEnv refuses variables that are no variables, the contract's own, and secrets.
func (d *decoder) checkEnv(env []string) {
	for i, v := range env {
		at := indexed("job.env", i)
		name, _, ok := strings.Cut(v, "=")
		switch {
		case !ok || !variable.MatchString(name):
			d.Refuse(d.at(at), at, "NAME=value")
		case strings.HasPrefix(name, "FLOE_"):
			d.Add(d.at(at), at, "found %s; want no name that begins with FLOE_: those are the contract's", name)
		case secretKey.MatchString(name):
			d.Add(d.at(at), at, "found the variable %s; want no secrets in files: set them where the training runs", name)
		}
	}
}

func (d *decoder) checkPairs(path string, list []string, want string, fits func(value string) bool) {
	for i, text := range list {
		name, value, ok := strings.Cut(text, "=")
		if at := indexed(path, i); !ok || name == "" || !fits(value) {
			d.Refuse(d.at(at), at, want)
		}
	}
}

// ownServer are settings of servers that floe starts, theirs those of others'.
var (
	ownServer = []string{"program", "args", "context", "parallel", "memory", "reasoning", "idle_minutes", "start_minutes"}
	theirs    = []string{"endpoint", "model", "load", "folder"}
)

func (d *decoder) checkServe(spec *experiment.Spec) {
	s := spec.Serve
	if !d.sound("serve.kind") {
		return
	}
	external := s.Kind == experiment.ServeExternal
	idle, other := theirs, experiment.ServeExternal
	if external {
		idle, other = ownServer, "vllm or sglang"
	}
	v := reflect.ValueOf(*s)
	for _, f := range fieldsOf(v.Type()) {
		at := strict.Join("serve", f.key)
		if _, given := d.given[at]; given && slices.Contains(idle, f.key) && !f.isDefault(v.Field(f.index)) && d.sound(at) {
			d.Add(d.at(at), at, "found a setting that kind %s does not read; want it only with kind %s", s.Kind, other)
		}
	}
	if external && s.Endpoint == "" {
		d.Add(d.at("serve.kind"), "serve.endpoint", "found nothing; want the server that somebody else runs: a name in the worker's endpoints file, or its base URL")
	}
	if s.Endpoint != "" && !endpointName.MatchString(s.Endpoint) {
		if err := plainURL(s.Endpoint); err != nil {
			d.Add(d.at("serve.endpoint"), "serve.endpoint", "%v; want an http or https URL, or a name in the worker's endpoints file", err)
		}
	}
	if s.Load != (s.Folder != "") && external {
		d.Add(d.at("serve.load", "serve.folder"), "serve.folder", "found load: %v and folder %q; want both or neither: the server finds the checkpoints in that folder", s.Load, s.Folder)
	}
	if s.Load && spec.Trainer.Recipe.Tuning != "lora" {
		d.Add(d.at("serve.load"), "serve.load", "found true with tuning %s; want lora: only adapters can be loaded into a server that runs", spec.Trainer.Recipe.Tuning)
	}
	if need := cmp.Or(s.Context, 1<<30); need < spec.Trainer.Recipe.PromptTokens+spec.Ask.MaxTokens && d.sound("serve.context") {
		d.Add(d.at("serve.context"), "serve.context", "found %d; want at least max_prompt_tokens + ask.max_tokens, which is %d",
			s.Context, spec.Trainer.Recipe.PromptTokens+spec.Ask.MaxTokens)
	}
}
