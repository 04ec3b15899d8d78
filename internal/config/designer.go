package config

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"floe/internal/config/strict"
	"floe/internal/designer"
	"floe/internal/experiment"
)

// askingSettings are read only by kinds that ask a model.
var askingSettings = []string{"endpoint", "model", "temperature", "max_tokens", "stop", "thinking", "structured", "repairs", "missing"}

// namingSettings say who is asked; kinds that ask a model of the experiment's own
// do not read them.
var namingSettings = []string{"endpoint", "model"}

// endpointName is how the worker's endpoints file names one.
var endpointName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

// checkDesigner finds designers that could not work, and settings that would be
// read by nobody.
func checkDesigner(d *decoder, spec experiment.Spec) {
	g := spec.Designer
	d.checkEndpoint(g)
	d.checkContext(g)
	kind, known := designer.KindOf(g.Kind)
	if !known || !d.sound("designer.kind") {
		return // told already
	}
	d.checkAsked(kind, spec)
	d.checkIdle(kind, g)
	d.checkNeeds(kind, g)
}

// checkEndpoint takes a name in the worker's endpoints file, or an address.
func (d *decoder) checkEndpoint(g experiment.DesignerSpec) {
	const path = "designer.endpoint"
	if g.Endpoint == "" || endpointName.MatchString(g.Endpoint) {
		return
	}
	if err := plainURL(g.Endpoint); err != nil {
		d.Add(d.at(path), path, "%v; want an http or https URL, or a name in the worker's endpoints file", err)
	}
}

// checkAsked looks for whom a kind asks.
func (d *decoder) checkAsked(kind designer.Kind, spec experiment.Spec) {
	g := spec.Designer
	// An endpoint that the worker knows by name may have a model of its own.
	if kind.Name == "openai" && g.Model == "" && !endpointName.MatchString(g.Endpoint) && d.sound("designer.model") {
		d.Add(d.at("designer.kind"), "designer.model", "found nothing; want the name of the model that kind openai asks")
	}
	if kind.Asks && kind.Name != "openai" && !spec.Trainer.TrainsModel() {
		d.Add(d.at("designer.kind"), "designer.kind",
			"found %s, which asks the policy in training, but trainer.kind is embedded; want openai or a rule: the embedded policy is not a language model", kind.Name)
	}
	if !kind.Serves {
		return
	}
	for _, key := range namingSettings {
		if at := strict.Join("designer", key); d.given[at].Value != nil {
			d.Add(d.at(at), at, "found a setting that kind %s does not read; want it only with kind openai: the section serve says how the model is served", kind.Name)
		}
	}
}

// checkIdle refuses settings that the kind does not read. What has its default is
// let pass: effective files say everything.
func (d *decoder) checkIdle(kind designer.Kind, g experiment.DesignerSpec) {
	if kind.Asks {
		return
	}
	var asking []string
	for _, k := range designer.Kinds {
		if k.Asks {
			asking = append(asking, k.Name)
		}
	}
	v := reflect.ValueOf(g)
	for _, f := range fieldsOf(v.Type()) {
		at := strict.Join("designer", f.key)
		if _, given := d.given[at]; given && slices.Contains(askingSettings, f.key) && !f.isDefault(v.Field(f.index)) && d.sound(at) {
			d.Add(d.at(at), at, "found a setting that kind %s does not read; want it only where a model is asked: kind %s", kind.Name, strict.OneOf(asking))
		}
	}
}

// isDefault says that a value is what it would be if no file gave it.
func (f field) isDefault(v reflect.Value) bool {
	if v.Kind() == reflect.Slice {
		return v.Len() == 0
	}
	return fmt.Sprint(v.Interface()) == f.fallback
}

// checkContext looks at what a designer is shown.
func (d *decoder) checkContext(g experiment.DesignerSpec) {
	if !d.sound("designer.context") {
		return
	}
	d.checkSections(g)
	context, ok := d.context(g)
	if !ok {
		return
	}
	if g.Guidelines != "" && !context.Shows("guidelines") {
		d.Add(d.at("designer.guidelines"), "designer.guidelines", "found a text, and context %s does not show the section guidelines; want one that does, such as V2", g.Context)
	}
	if g.Details == designer.DetailsFull && !context.Shows("training") {
		d.Add(d.at("designer.details"), "designer.details", "found full, and context %s does not show the section training; want one that does, such as V6", g.Context)
	}
}

// context is what a spec asks for, unless something is wrong with its sections.
func (d *decoder) context(g experiment.DesignerSpec) (designer.Context, bool) {
	bad := slices.ContainsFunc(d.Faults, func(f strict.Fault) bool { return strings.HasPrefix(f.Path, "designer.sections") })
	c, err := designer.ContextOf(g)
	return c, !bad && err == nil
}

// checkSections looks at the list of a custom context.
func (d *decoder) checkSections(g experiment.DesignerSpec) {
	const path = "designer.sections"
	known := designer.Sections()
	switch _, given := d.given[path]; {
	case g.Context == designer.CustomContext && !given:
		d.Add(d.at("designer.context"), path, "found nothing; want a list with at least %s", strict.OneOf(known))
		return
	case g.Context != designer.CustomContext && given:
		d.Add(d.at(path), path, "found a list with context %s, which has sections of its own; want it only with context %s", g.Context, designer.CustomContext)
		return
	}
	for i, name := range g.Sections {
		if at := indexed(path, i); name != "" && !slices.Contains(known, name) {
			want := strict.OneOf(known)
			if near, ok := strict.Nearest(name, known); ok {
				want = near + ": " + want
			}
			d.Refuse(d.at(at), at, want)
		}
	}
	if i := slices.Index(g.Sections, "designed-history"); i >= 0 && slices.Contains(g.Sections, "history") {
		d.Add(d.at(indexed(path, i)), indexed(path, i), "found designed-history beside history; want one of them: history holds all of it")
	}
}

// checkNeeds refuses a rule under a context that hides what it reads.
func (d *decoder) checkNeeds(kind designer.Kind, g experiment.DesignerSpec) {
	context, ok := d.context(g)
	if !ok || len(kind.Needs) == 0 || context.Shows(kind.Needs...) || !d.sound("designer.context") {
		return
	}
	var fit []string
	for _, c := range designer.Contexts {
		if c.Shows(kind.Needs...) {
			fit = append(fit, c.Name)
		}
	}
	d.Add(d.at("designer.kind"), "designer.kind", "found %s, which reads the section %s, and context %s does not show it; want context %s, or custom with that section",
		kind.Name, strings.Join(kind.Needs, " or "), g.Context, strings.Join(fit, ", "))
}
