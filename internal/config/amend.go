package config

import (
	"reflect"
	"slices"
	"strings"

	"floe/internal/designer"
	"floe/internal/env"
	"floe/internal/experiment"
)

// Amend reads an effective spec anew with sets, as strictly as a file. An
// effective spec says everything, also settings that it has only because of its
// designer's kind. Where sets change that to a kind that asks no model, what was
// said about the model goes back to its defaults: in a file, where somebody wrote
// it, it would be a fault.
func Amend(name string, old experiment.Spec, sets []string, open func(string) (env.Environment, error)) (experiment.Spec, error) {
	if kind, ok := kindSet(sets); ok && !kind.Asks && kind.Name != old.Designer.Kind {
		defaults, err := Load("defaults", []byte("name: defaults\n"), nil, open)
		if err != nil {
			return old, err
		}
		to, from := reflect.ValueOf(&old.Designer).Elem(), reflect.ValueOf(defaults.Designer)
		for _, f := range fieldsOf(to.Type()) {
			if slices.Contains(askingSettings, f.key) {
				to.Field(f.index).Set(from.Field(f.index))
			}
		}
	}
	src, err := Marshal(old)
	if err != nil {
		return old, err
	}
	return Load(name, src, sets, open)
}

// kindSet is the kind of designer that sets ask for last.
func kindSet(sets []string) (kind designer.Kind, ok bool) {
	for _, s := range sets {
		if name, is := strings.CutPrefix(strings.TrimSpace(s), "designer.kind="); is {
			kind, ok = designer.KindOf(strings.TrimSpace(name))
		}
	}
	return kind, ok
}
