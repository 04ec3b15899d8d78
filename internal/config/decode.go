package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"floe/internal/config/strict"
	"floe/internal/experiment"
)

const (
	maxText = 1000 // characters of any text
	maxList = 1000 // entries of any list
)

// decoder reads a tree of nodes into structs by their field tags.
type decoder struct {
	strict.Reader
	// given is what the document says, by path, so that what is found out later
	// still has a place. "" is the document.
	given map[string]strict.Entry
	homes map[string][]string // where keys belong, by key
}

// decode reads a document into a T. What the document does not say has its
// default. The value is whole only if the decoder has no faults.
func decode[T any](root *yaml.Node) (T, *decoder) {
	var v T
	d := &decoder{given: map[string]strict.Entry{"": {Value: root}}, homes: map[string][]string{}}
	d.home(reflect.TypeFor[T](), "")
	d.structure(root, "", reflect.ValueOf(&v).Elem())
	return v, d
}

// home notes where each key belongs, for people who put one elsewhere.
func (d *decoder) home(t reflect.Type, path string) {
	for _, f := range fieldsOf(t) {
		at := strict.Join(path, f.key)
		d.homes[f.key] = append(d.homes[f.key], at)
		if t := structOf(f.typ); t != nil {
			d.home(t, at)
		}
	}
}

// structOf is the struct that a field is or points to; nil if it is none, or one
// that a file writes in a form of its own.
func structOf(t reflect.Type) reflect.Type {
	if _, own := readers[t]; own {
		return nil
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	return t
}

// sound says that nothing was found wrong at the paths so far.
func (d *decoder) sound(paths ...string) bool {
	return !slices.ContainsFunc(d.Faults, func(f strict.Fault) bool { return slices.Contains(paths, f.Path) })
}

// at is where the first of the paths that the document gives stands, or what
// encloses the first of them.
func (d *decoder) at(paths ...string) *yaml.Node {
	for _, p := range paths {
		if e, ok := d.given[p]; ok {
			return e.Value
		}
	}
	for p := paths[0]; ; {
		p = p[:max(0, strings.LastIndexByte(p, '.'))]
		if e, ok := d.given[p]; ok {
			return e.Value
		}
	}
}

// readers are the types that a file writes in a form of its own.
var readers = map[reflect.Type]func(d *decoder, n *yaml.Node, path string, v reflect.Value){
	reflect.TypeFor[[]experiment.Knob](): (*decoder).knobs,
	// A curriculum is read once its environment is known; see world.curriculum.
	reflect.TypeFor[*experiment.Curriculum](): unread,
	// What a sweep says of the fields of experiments; see sweepReader.
	reflect.TypeFor[experiment.SweepBase]():       unread,
	reflect.TypeFor[[]experiment.SweepSettings](): unread,
}

// unread leaves a node to somebody who knows more.
func unread(*decoder, *yaml.Node, string, reflect.Value) {}

// structure reads a mapping into a struct. One that cannot be read leaves the
// defaults, so that no later check stumbles over zeros.
func (d *decoder) structure(n *yaml.Node, path string, v reflect.Value) {
	fields := fieldsOf(v.Type())
	entries, ok := d.Mapping(n, path, "a mapping with keys such as "+fields[0].key)
	for _, e := range entries {
		d.given[strict.Join(path, e.Key)] = e
	}
	for _, f := range fields {
		at := strict.Join(path, f.key)
		switch e, given := d.given[at]; {
		case given:
			d.value(f, e.Value, at, v.Field(f.index))
		case !f.required:
			d.absent(f, at, v.Field(f.index))
		case ok:
			d.Add(n, at, "found nothing; want %s", f.wanted())
		}
	}
	d.unknown(entries, path, keysOf(fields))
}

// absent fills a field that the document does not give.
func (d *decoder) absent(f field, path string, v reflect.Value) {
	switch {
	case v.Kind() == reflect.Struct:
		d.structure(&yaml.Node{Kind: yaml.MappingNode}, path, v)
	case f.hasDef:
		d.value(f, defaultNode(f), path, v)
	}
}

// defaultNode is a default as a file would say it.
func defaultNode(f field) *yaml.Node {
	if f.typ.Kind() != reflect.Slice {
		return &yaml.Node{Kind: yaml.ScalarNode, Value: f.fallback}
	}
	list := &yaml.Node{Kind: yaml.SequenceNode}
	for s := range strings.SplitSeq(f.fallback, ",") {
		list.Content = append(list.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: s})
	}
	return list
}

// value reads any field.
func (d *decoder) value(f field, n *yaml.Node, path string, v reflect.Value) {
	if read, ok := readers[f.typ]; ok {
		read(d, n, path, v)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		d.structure(n, path, v)
	case reflect.Pointer:
		v.Set(reflect.New(f.typ.Elem()))
		f.typ = f.typ.Elem()
		d.value(f, n, path, v.Elem())
	case reflect.Slice:
		d.list(f, n, path, v)
	case reflect.String:
		v.SetString(d.text(f, n, path))
	case reflect.Int, reflect.Int64:
		i, _ := d.Int(n, path, f.in)
		v.SetInt(i)
	case reflect.Float64:
		x, _ := d.Number(n, path, f.in)
		v.SetFloat(x)
	case reflect.Bool:
		b, _ := d.Bool(n, path)
		v.SetBool(b)
	default:
		panic(fmt.Sprintf("%s is of type %s, which no file can hold", path, f.typ))
	}
}

func (d *decoder) text(f field, n *yaml.Node, path string) string {
	if len(f.enum) > 0 {
		s, _ := d.Choice(n, path, f.enum)
		return s
	}
	if f.lines > 0 {
		s, _ := d.Lines(n, path, f.wanted(), f.lines)
		return s
	}
	s, ok := d.Text(n, path, f.wanted(), maxText)
	if ok && f.pattern != nil && !f.pattern.MatchString(s) {
		d.Refuse(n, path, f.wanted())
	}
	return s
}

// list reads a list that says nothing twice.
func (d *decoder) list(f field, n *yaml.Node, path string, v reflect.Value) {
	entries, ok := d.List(n, path, "a list such as [a, b]")
	if !ok {
		return
	}
	f.in.Max = min(f.in.Max, maxList)
	if !f.in.Holds(float64(len(entries))) {
		d.Add(n, path, "found a list of length %d; want a length from %v to %v", len(entries), max(f.in.Min, 0), f.in.Max)
		return
	}
	v.Set(reflect.MakeSlice(f.typ, len(entries), len(entries)))
	seen := map[string]bool{}
	for i, e := range entries {
		at := indexed(path, i)
		if e.Line != 0 { // not a default
			d.given[at] = strict.Entry{Value: e}
		}
		if e.Kind == yaml.ScalarNode && seen[e.Value] && !f.repeats {
			d.Add(e, at, "found %s a second time; want each once", strict.Describe(e))
		}
		seen[e.Value] = true
		d.value(f.entry(), e, at, v.Index(i))
	}
}

func indexed(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

// knobs reads generator settings, {hole_ratio: 0.3}. Whether the environment
// has such knobs is found out later.
func (d *decoder) knobs(n *yaml.Node, path string, v reflect.Value) {
	entries, ok := d.Mapping(n, path, "a mapping such as {hole_ratio: 0.3}")
	if !ok {
		return
	}
	knobs := make([]experiment.Knob, len(entries))
	for i, e := range entries {
		at := strict.Join(path, e.Key)
		d.given[at] = e
		x, _ := d.Number(e.Value, at, strict.Any())
		knobs[i] = experiment.Knob{Name: e.Key, Value: x}
	}
	v.Set(reflect.ValueOf(knobs))
}

// unknown refuses keys that no field has.
func (d *decoder) unknown(entries []strict.Entry, path string, known []string) {
	for _, e := range entries {
		switch {
		case slices.Contains(known, e.Key):
		case secretKey.MatchString(e.Key):
			d.Add(e.At, path, "found the key %.40s; want no secrets in files: the environment gives them (OPENAI_API_KEY, TEMPORAL_API_KEY, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY)", e.Key)
		case len(d.homes[e.Key]) > 0:
			d.Add(e.At, path, "found the key %s here; want it as %s", e.Key, strings.Join(d.homes[e.Key], " or "))
		default:
			d.Unknown(e.At, path, known)
		}
	}
}
