package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"

	"floe/internal/config/strict"
	"floe/internal/curriculum"
	"floe/internal/designer"
	"floe/internal/env"
	"floe/internal/experiment"
)

// Schema is the JSON Schema (draft 2020-12) of experiment files, for editors. It
// is made from the field tags that Load reads and from the spaces of the
// environments. Load checks more: what a schema cannot say.
func Schema(envs []env.Environment) ([]byte, error) {
	s := schema{envs: envs}
	return s.document("floe experiment", s.structure(reflect.TypeFor[experiment.Spec](), ""), object{{"row", s.row()}})
}

// document is a schema as a file.
func (s schema) document(title string, fields, defs object) ([]byte, error) {
	root := object{
		{"$schema", "https://json-schema.org/draft/2020-12/schema"},
		{"title", title},
	}
	root = append(append(root, fields...), member{"$defs", defs})
	compact, err := json.Marshal(root)
	if err != nil {
		return nil, fmt.Errorf("write the schema %s: %w", title, err)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, compact, "", "  "); err != nil {
		return nil, fmt.Errorf("write the schema %s: %w", title, err)
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

// schema describes types, with what the environments know.
type schema struct{ envs []env.Environment }

// describer is how a field is described that only the environments or the designers know, or that
// a sweep file says in a form of its own.
func describer(path string) (describe func(schema) object, special bool) {
	describe, special = map[string]func(schema) object{
		"designer.sections": schema.sections,
		"environment":       schema.names,
		"validation.sizes":  schema.sizeList,
		"validation.knobs":  schema.knobs,
		"curriculum":        schema.curriculum,
		"base":              schema.base,
		"arms":              schema.arms,
		"matrix":            schema.matrix,
		"include":           schema.include,
		"exclude":           schema.exclude,
	}[path]
	return describe, special
}

func (s schema) structure(t reflect.Type, path string) object {
	var properties object
	var required []string
	for _, f := range fieldsOf(t) {
		properties = append(properties, member{f.key, s.field(f, strict.Join(path, f.key))})
		if f.required {
			required = append(required, f.key)
		}
	}
	o := object{{"type", "object"}, {"additionalProperties", false}, {"properties", properties}}
	if required != nil {
		o = append(o, member{"required", required})
	}
	return o
}

func (s schema) field(f field, path string) object {
	o := object{{"description", f.doc}}
	if describe, ok := describer(path); ok {
		o = append(o, describe(s)...)
	} else {
		o = append(o, s.value(f, path)...)
	}
	if f.hasDef {
		o = append(o, member{"default", defaultValue(f)})
	}
	return o
}

func (s schema) value(f field, path string) object {
	switch f.typ.Kind() {
	case reflect.Struct:
		return s.structure(f.typ, path)
	case reflect.Pointer:
		f.typ = f.typ.Elem()
		return s.value(f, path)
	case reflect.Slice:
		return list(f, s.value(f.entry(), path))
	case reflect.String:
		return text(f)
	case reflect.Float64:
		return bounded(object{{"type", "number"}}, "minimum", "maximum", f.in.Min, f.in.Max)
	case reflect.Int, reflect.Int64:
		return bounded(object{{"type", "integer"}}, "minimum", "maximum", f.in.Min, f.in.Max)
	case reflect.Bool:
		return object{{"type", "boolean"}}
	default:
		panic(fmt.Sprintf("%s is of type %s, which has no schema", path, f.typ))
	}
}

func text(f field) object {
	most := maxText
	if f.lines > 0 {
		most = f.lines
	}
	o := object{{"type", "string"}, {"minLength", 1}, {"maxLength", most}}
	if len(f.enum) > 0 {
		return object{{"enum", f.enum}}
	}
	if f.pattern != nil {
		o = append(o, member{"pattern", f.pattern.String()})
	}
	return o
}

func list(f field, items object) object {
	o := object{{"type", "array"}, {"items", items}, {"uniqueItems", !f.repeats}}
	return bounded(o, "minItems", "maxItems", f.in.Min, min(f.in.Max, maxList))
}

// bounded adds the ends of a range that are not open.
func bounded(o object, lower, upper string, from, to float64) object {
	if !math.IsInf(from, 0) {
		o = append(o, member{lower, from})
	}
	if !math.IsInf(to, 0) {
		o = append(o, member{upper, to})
	}
	return o
}

// defaultValue is a default as JSON has it.
func defaultValue(f field) any {
	var v any
	if err := defaultNode(f).Decode(&v); err != nil {
		panic(fmt.Sprintf("default of %s: %v", f.key, err))
	}
	return v
}

func (s schema) names() object {
	var names []string
	for _, e := range s.envs {
		names = append(names, e.Name())
	}
	return object{{"enum", names}}
}

func (s schema) sizeList() object { return words(s.sizes()) }

func (schema) sections() object { return words(designer.Sections()) }

// words is a list of some of these, each once.
func words(of []string) object {
	return object{{"type", "array"}, {"items", object{{"enum", of}}}, {"uniqueItems", true}, {"minItems", 1}}
}

// sizes are the sizes of all environments, each once.
func (s schema) sizes() (sizes []string) {
	seen := map[string]bool{}
	for _, e := range s.envs {
		for _, size := range e.Space().Sizes {
			if !seen[size] {
				sizes = append(sizes, size)
			}
			seen[size] = true
		}
	}
	return sizes
}

func (s schema) knobs() object { return closed(s.knobProperties()) }

// knobProperties are the knobs of all environments. Of knobs with one name the
// first describes all.
func (s schema) knobProperties() (properties object) {
	seen := map[string]bool{}
	for _, e := range s.envs {
		for _, k := range e.Space().Knobs {
			if seen[k.Name] {
				continue
			}
			seen[k.Name] = true
			o := bounded(object{{"description", k.Doc}, {"type", "number"}}, "minimum", "maximum", k.Min, k.Max)
			properties = append(properties, member{k.Name, append(o, member{"default", k.Default})})
		}
	}
	return properties
}

func (s schema) curriculum() object {
	var sizes object
	for _, size := range s.sizes() {
		sizes = append(sizes, member{size, object{{"$ref", "#/$defs/row"}}})
	}
	written := append(closed(object{{"sizes", closed(sizes)}}), member{"required", []string{"sizes"}})
	return object{{"oneOf", []object{{{"const", "random"}}, written}}}
}

// row is one size of a curriculum.
func (s schema) row() object {
	share := object{
		{"description", "The size's share of a round's samples; all shares sum to 1."},
		{"type", "number"},
		{"minimum", 0},
		{"maximum", 1},
	}
	row := closed(append(object{{curriculum.FieldShare, share}}, s.knobProperties()...))
	return append(row, member{"required", []string{curriculum.FieldShare}})
}

// closed is an object that has no properties but these.
func closed(properties object) object {
	return object{{"type", "object"}, {"additionalProperties", false}, {"properties", properties}}
}
