package config

import (
	"reflect"
	"strings"

	"gopkg.in/yaml.v3"

	"floe/internal/config/strict"
	"floe/internal/experiment"
	"floe/internal/sweep"
)

// expand reads arms, matrix, include and exclude, and multiplies them out.
func (r *sweepReader) expand(f experiment.SweepFile) []sweep.Arm {
	before := len(r.Faults)
	d := sweep.Declaration{
		Seeds: f.Seeds, Arms: r.arms(), Matrix: r.matrix(), Include: r.include(), Exclude: r.exclude(),
	}
	if len(r.Faults) > before || len(f.Seeds) == 0 {
		// Names and filters may hang on what could not be read; what the arms set is
		// still looked at.
		return append(d.Arms, d.Include...)
	}
	arms, faults := d.Expand()
	r.tell(faults, r.place)
	return arms
}

func (r *sweepReader) arms() []sweep.Arm {
	e, ok := r.given["arms"]
	if !ok {
		return nil
	}
	entries, _ := r.Mapping(e.Value, "arms", "a mapping of names, such as {v1: {designer.context: V1}}")
	var arms []sweep.Arm
	for _, e := range entries {
		arms = append(arms, sweep.Arm{
			Name: e.Key, At: r.mark(e.At), Settings: r.settings(e.Value, "arms."+e.Key),
		})
	}
	return arms
}

// settings reads fields of an experiment, nested or with dotted keys.
func (r *sweepReader) settings(n *yaml.Node, path string) []sweep.Setting {
	return r.flatten(n, path, "", reflect.TypeFor[experiment.Spec]())
}

func (r *sweepReader) flatten(n *yaml.Node, path, prefix string, t reflect.Type) []sweep.Setting {
	entries, _ := r.Mapping(n, path, "a mapping such as {designer.context: V1}")
	var settings []sweep.Setting
	for _, e := range entries {
		field := strict.Join(prefix, e.Key)
		switch inner, known := fieldType(t, e.Key); {
		case prefix == "" && r.refuseOwn(e.At, path):
		case strings.HasPrefix(e.Key, ".") || strings.HasSuffix(e.Key, ".") || strings.Contains(e.Key, ".."):
			r.Add(e.At, path, "found the key %.60q; want a field such as designer.context", e.Key)
		case known && structOf(inner) != nil && e.Value.Kind == yaml.MappingNode:
			settings = append(settings, r.flatten(e.Value, strict.Join(path, e.Key), field, structOf(inner))...)
		default:
			settings = append(settings, r.setting(field, e.Value))
		}
	}
	return settings
}

func (r *sweepReader) setting(field string, n *yaml.Node) sweep.Setting {
	return sweep.Setting{Setting: experiment.Setting{Field: field, Value: brief(n)}, At: r.mark(n)}
}

// fieldType follows a dotted key through structs and what points to one.
func fieldType(t reflect.Type, key string) (reflect.Type, bool) {
	head, rest, more := cutPath(key)
	for _, f := range fieldsOf(t) {
		switch {
		case f.key != head:
		case !more:
			return f.typ, true
		case structOf(f.typ) != nil:
			return fieldType(structOf(f.typ), rest)
		}
	}
	return nil, false
}

func cutPath(path string) (head, rest string, more bool) { return strings.Cut(path, ".") }

func (r *sweepReader) matrix() []sweep.Axis {
	e, ok := r.given["matrix"]
	if !ok {
		return nil
	}
	var axes []sweep.Axis
	for _, s := range r.settings(e.Value, "matrix") {
		at := "matrix." + s.Field
		values, ok := r.List(r.place(s.At), at, "a list of values, such as [V1, V2]")
		if !ok {
			continue
		}
		axis := sweep.Axis{Field: s.Field, At: s.At}
		if len(values) == 0 {
			r.Add(r.place(s.At), at, "found an empty list; want at least one value")
		}
		for _, v := range values {
			if v.Kind != yaml.ScalarNode {
				r.Refuse(v, at, "a word or a number (say other values in arms, which have names)")
				continue
			}
			axis.Values = append(axis.Values, r.setting(s.Field, v))
		}
		axes = append(axes, axis)
	}
	return axes
}

func (r *sweepReader) include() []sweep.Arm {
	var arms []sweep.Arm
	r.eachEntry("include", "a mapping such as {arm: fixed, set: {designer.kind: fixed}}", func(n *yaml.Node, path string, entries []strict.Entry) {
		arm := sweep.Arm{At: r.mark(n)}
		for _, e := range entries {
			at := strict.Join(path, e.Key)
			switch e.Key {
			case "arm":
				arm.Name, _ = r.Text(e.Value, at, "the name of the arm", maxText)
			case "set":
				arm.Settings = r.settings(e.Value, at)
			case "seeds":
				arm.Seeds = r.seeds(e.Value, at)
			default:
				r.Unknown(e.At, path, []string{"arm", "set", "seeds"})
			}
		}
		if find(n, "arm") == nil {
			r.Add(n, strict.Join(path, "arm"), "found nothing; want the name of the arm")
		}
		arms = append(arms, arm)
	})
	return arms
}

func (r *sweepReader) exclude() []sweep.Filter {
	var filters []sweep.Filter
	r.eachEntry("exclude", "a mapping such as {designer.context: V1, seed: 2}", func(n *yaml.Node, path string, entries []strict.Entry) {
		f := sweep.Filter{At: r.mark(n)}
		fields := &yaml.Node{Kind: yaml.MappingNode, Line: n.Line, Column: n.Column}
		for _, e := range entries {
			switch at := strict.Join(path, e.Key); e.Key {
			case "arm":
				f.Arm, _ = r.Text(e.Value, at, "the name of an arm", maxText)
			case "seed":
				if seed, ok := r.Int(e.Value, at, strict.Range{Min: 0, Max: strict.Any().Max}); ok {
					f.Seed = &seed
				}
			default:
				fields.Content = append(fields.Content, e.At, e.Value)
			}
		}
		f.Settings = r.settings(fields, path)
		if len(entries) == 0 {
			r.Add(n, path, "found an empty entry; want what to leave out")
		}
		filters = append(filters, f)
	})
	return filters
}

// eachEntry reads a list of mappings.
func (r *sweepReader) eachEntry(key, want string, read func(n *yaml.Node, path string, entries []strict.Entry)) {
	e, ok := r.given[key]
	if !ok {
		return
	}
	list, _ := r.List(e.Value, key, "a list of entries, each "+want)
	for i, n := range list {
		path := indexed(key, i)
		if entries, ok := r.Mapping(n, path, want); ok {
			read(n, path, entries)
		}
	}
}

// seeds reads an arm's own seeds, as the sweep's are read.
func (r *sweepReader) seeds(n *yaml.Node, path string) []int64 {
	for _, f := range fieldsOf(reflect.TypeFor[experiment.SweepFile]()) {
		if f.key == "seeds" {
			var seeds []int64
			r.list(f, n, path, reflect.ValueOf(&seeds).Elem())
			return seeds
		}
	}
	return nil
}
