package config

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"strconv"

	"gopkg.in/yaml.v3"

	"floe/internal/config/strict"
	"floe/internal/curriculum"
	"floe/internal/experiment"
)

// Marshal writes a spec as a file that Load reads back to the same spec.
func Marshal(spec experiment.Spec) ([]byte, error) {
	root, err := tree(spec)
	if err != nil {
		return nil, fmt.Errorf("write experiment %.60q: %w", spec.Name, err)
	}
	return encode(root, spec.Name)
}

func encode(root *yaml.Node, name string) ([]byte, error) {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(root); err != nil {
		return nil, fmt.Errorf("write experiment %.60q: %w", name, err)
	}
	return b.Bytes(), nil
}

// tree is a spec as the nodes of its file.
func tree(spec experiment.Spec) (*yaml.Node, error) {
	w := writer{}
	root := w.node(field{}, "", reflect.ValueOf(spec))
	return root, w.err
}

// writer turns structs into nodes by their field tags.
type writer struct{ err error }

// writers are the types that a file writes in a form of its own.
var writers = map[reflect.Type]func(w *writer, path string, v reflect.Value) *yaml.Node{
	reflect.TypeFor[[]experiment.Knob]():      (*writer).knobs,
	reflect.TypeFor[*experiment.Curriculum](): (*writer).curriculum,
}

// node writes any value; nil is left out, and read back as absent.
func (w *writer) node(f field, path string, v reflect.Value) *yaml.Node {
	if write, ok := writers[v.Type()]; ok {
		return write(w, path, v)
	}
	switch v.Kind() {
	case reflect.Struct:
		return w.structure(path, v)
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return w.node(f, path, v.Elem())
	case reflect.Slice:
		return w.list(f, path, v)
	case reflect.Float64:
		return w.number(path, v.Float())
	case reflect.Int, reflect.Int64:
		return strict.PlainNode(strconv.FormatInt(v.Int(), 10))
	case reflect.Bool:
		return strict.PlainNode(strconv.FormatBool(v.Bool()))
	case reflect.String:
		return strict.TextNode(v.String())
	default:
		panic(fmt.Sprintf("%s is of type %s, which no file can hold", path, v.Type()))
	}
}

func (w *writer) structure(path string, v reflect.Value) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for _, f := range fieldsOf(v.Type()) {
		if v.Field(f.index).Kind() == reflect.String && v.Field(f.index).String() == "" {
			continue // no file says a text of nothing
		}
		if value := w.node(f, strict.Join(path, f.key), v.Field(f.index)); value != nil {
			strict.Put(n, f.key, value)
		}
	}
	return n
}

// list leaves out a list that is absent, unless that would bring its default.
func (w *writer) list(f field, path string, v reflect.Value) *yaml.Node {
	if v.IsNil() && !f.hasDef {
		return nil
	}
	n := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	for i := range v.Len() {
		n.Content = append(n.Content, w.node(f.entry(), indexed(path, i), v.Index(i)))
	}
	return n
}

func (w *writer) number(path string, v float64) *yaml.Node {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		w.err = fmt.Errorf("%s is %v, which no file can hold", path, v)
	}
	return strict.PlainNode(strict.Digits(v))
}

func (w *writer) knobs(path string, v reflect.Value) *yaml.Node {
	if v.Len() == 0 {
		return nil
	}
	n := &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
	for _, k := range v.Interface().([]experiment.Knob) {
		strict.Put(n, k.Name, w.number(strict.Join(path, k.Name), k.Value))
	}
	return n
}

func (w *writer) curriculum(path string, v reflect.Value) *yaml.Node {
	c := v.Interface().(*experiment.Curriculum)
	if c == nil {
		return strict.PlainNode("random")
	}
	for _, row := range c.Rows {
		at := path + ".sizes." + row.Size
		w.number(strict.Join(at, curriculum.FieldShare), row.DataRatio)
		for _, k := range row.Knobs {
			w.number(strict.Join(at, k.Name), k.Value)
		}
	}
	return curriculum.Node(*c)
}
