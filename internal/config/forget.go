package config

import (
	"reflect"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"floe/internal/config/strict"
	"floe/internal/designer"
	"floe/internal/experiment"
)

// switches are fields that decide which other settings are read.
var switches = []struct {
	field string
	// idle are the settings that nobody reads under a value of the field.
	idle func(value string) []string
}{
	{"designer.kind", idleOfDesigner},
	{"trainer.kind", idleOfTrainer},
	{"job.backend", func(backend string) []string { return below("job", without(groups, groupOf(backend))) }},
	{"serve.kind", func(kind string) []string { return below("serve", idleOfServe(kind)) }},
}

// forget takes out of a file's tree what a change makes idle: settings that were
// read before, and under what the fields are changed to are not. In a file that
// somebody wrote whole, they would be faults; of what only a few fields of are
// changed, they are what was meant for the old value. What was idle before stays,
// and is told.
func forget(root *yaml.Node, changed func(field string) (value string, ok bool)) {
	for _, s := range switches {
		value, ok := changed(s.field)
		if !ok {
			continue
		}
		before := s.idle(valueAt(root, s.field))
		for _, path := range s.idle(value) {
			if !slices.Contains(before, path) {
				dropAt(root, path)
			}
		}
	}
}

// idleOfDesigner are what a kind of designer does not read.
func idleOfDesigner(name string) []string {
	switch kind, known := designer.KindOf(name); {
	case !known:
		return nil
	case !kind.Asks:
		return below("designer", askingSettings)
	case kind.Serves:
		return below("designer", namingSettings)
	}
	return nil
}

// idleOfTrainer are the settings of the other recipe. The embedded trainer has
// another policy: what a file says of a language model is not forgotten in silence.
func idleOfTrainer(kind string) []string {
	recipes := []string{experiment.TrainerTRL, experiment.TrainerVerl}
	if !slices.Contains(recipes, kind) {
		return nil
	}
	return below("trainer.recipe", without(recipes, kind))
}

func without(all []string, one string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s == one })
}

func below(path string, keys []string) []string {
	var paths []string
	for _, key := range keys {
		paths = append(paths, strict.Join(path, key))
	}
	return paths
}

// valueAt is what a tree says a field is, or the field's default.
func valueAt(root *yaml.Node, path string) string {
	n := root
	for key := range strings.SplitSeq(path, ".") {
		if n = find(n, key); n == nil {
			return defaultAt(path)
		}
	}
	return n.Value
}

func defaultAt(path string) string {
	t := reflect.TypeFor[experiment.Spec]()
	for head, rest, more := cutPath(path); ; head, rest, more = cutPath(rest) {
		i := slices.IndexFunc(fieldsOf(t), func(f field) bool { return f.key == head })
		f := fieldsOf(t)[i]
		if !more {
			return f.fallback
		}
		t = structOf(f.typ)
	}
}

func dropAt(root *yaml.Node, path string) {
	for head, rest, more := cutPath(path); root != nil; head, rest, more = cutPath(rest) {
		if !more {
			drop(root, head)
			return
		}
		root = find(root, head)
	}
}
