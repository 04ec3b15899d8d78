package config

import (
	"reflect"
	"slices"

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
	d.fillGPUs(spec)
	d.checkVerl(spec)
	d.checkJob(spec)
	d.checkServe(spec)
	d.checkAsk(spec)
	d.checkDevice(spec)
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
		d.lacks("trainer.model", "the language model that kind "+t.Kind+" trains, such as {uri: Qwen/Qwen3-4B, revision: COMMIT}")
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
