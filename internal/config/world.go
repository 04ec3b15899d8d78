package config

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"floe/internal/config/strict"
	"floe/internal/curriculum"
	"floe/internal/env"
	"floe/internal/experiment"
)

// world checks a spec against its environment and fills in what the environment
// decides.
type world struct {
	*decoder
	env   env.Environment
	space env.Space
	spec  *experiment.Spec
}

// settle makes a spec effective. Whether the environment can draw what is asked
// is only looked at when all else is right, so that one slip is told once.
func settle(d *decoder, spec *experiment.Spec, lookup Lookup) {
	if spec.Environment == "" {
		return // told already
	}
	e, err := lookup(spec.Environment)
	if err != nil {
		d.lines(d.at("environment"), "environment", err)
		return
	}
	w := world{d, e, e.Space(), spec}
	w.knobs()
	w.curriculum()
	w.sizes()
	w.minShare()
	if len(d.Faults) > 0 {
		return
	}
	w.fillSizes()
	w.drawable()
}

// knobs puts the validation set's knobs in the environment's order, with
// defaults for those that are not given.
func (w *world) knobs() {
	given := w.spec.Validation.Knobs
	names := make([]string, len(w.space.Knobs))
	knobs := make([]experiment.Knob, len(w.space.Knobs))
	for i, k := range w.space.Knobs {
		names[i] = k.Name
		knobs[i] = experiment.Knob{Name: k.Name, Value: k.Default}
	}
	for _, k := range given {
		at := strict.Join("validation.knobs", k.Name)
		i := slices.Index(names, k.Name)
		if i < 0 {
			w.Unknown(w.given[at].At, "validation.knobs", names)
			continue
		}
		in := strict.Range{Min: w.space.Knobs[i].Min, Max: w.space.Knobs[i].Max}
		if knobs[i].Value = k.Value; !in.Holds(k.Value) && w.sound(at) {
			w.Refuse(w.at(at), at, in.Of("a number"))
		}
	}
	w.spec.Validation.Knobs = knobs
}

// curriculum reads round 0's curriculum; the word random is the same as none.
func (w *world) curriculum() {
	e, ok := w.given["curriculum"]
	if !ok {
		return
	}
	n := e.Value
	if n.Kind == yaml.ScalarNode {
		if s, ok := w.Text(n, "curriculum", "random or a mapping with the key sizes", maxText); ok && s != "random" {
			w.Refuse(n, "curriculum", "random or a mapping with the key sizes")
		}
		return
	}
	c, faults := curriculum.FromNode(n, w.space)
	for _, f := range faults {
		f.Path = strings.TrimSuffix("curriculum."+f.Path, ".")
		w.Faults = append(w.Faults, f)
	}
	w.spec.Curriculum = &c
}

// sizes puts the validation set's sizes in the environment's order.
func (w *world) sizes() {
	given := w.spec.Validation.Sizes
	for i, size := range given {
		at := indexed("validation.sizes", i)
		if n := w.at(at); size != "" && !slices.Contains(w.space.Sizes, size) {
			w.Refuse(n, at, strict.OneOf(w.space.Sizes))
		}
	}
	slices.SortStableFunc(given, func(a, b string) int {
		return slices.Index(w.space.Sizes, a) - slices.Index(w.space.Sizes, b)
	})
}

func (w *world) minShare() {
	if most := 1 / float64(len(w.space.Sizes)); w.spec.Designer.MinShare > most && w.sound("designer.min_share") {
		w.Refuse(w.at("designer.min_share"), "designer.min_share", strict.Range{Min: 0, Max: most}.Of("a number"))
	}
}
