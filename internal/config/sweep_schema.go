package config

import (
	"reflect"
	"strings"

	"floe/internal/config/strict"
	"floe/internal/env"
	"floe/internal/experiment"
)

// experimentSchema is where a sweep's schema finds that of experiments: beside it.
const experimentSchema = "experiment.schema.json"

// SweepSchema is the JSON Schema of sweep files, for editors. It is made from the
// same tags as Schema, and refers to that schema, in a file beside it, for what an
// experiment's fields may say. Arms and matrix name them nested or with dotted keys.
func SweepSchema(envs []env.Environment) ([]byte, error) {
	s := schema{envs: envs}
	return s.document("floe sweep", s.structure(reflect.TypeFor[experiment.SweepFile](), ""),
		object{{"fields", fields()}, {"values", values}})
}

var (
	fieldsRef = object{{"$ref", "#/$defs/fields"}}
	valuesRef = object{{"$ref", "#/$defs/values"}}
	values    = object{{"type", "array"}, {"minItems", 1}, {"items", object{{"type", []string{"string", "number", "boolean"}}}}}
)

// fields are an experiment's fields that a sweep may set, nested and dotted.
// Nothing in them is required.
func fields() object {
	var properties object
	for _, f := range fieldsOf(reflect.TypeFor[experiment.Spec]()) {
		if ownKeys[f.key] != "" {
			continue
		}
		properties = append(properties, member{f.key, nested(f, f.key)})
		if inner := structOf(f.typ); inner != nil {
			addRefs(&properties, inner, f.key)
		}
	}
	return closed(properties)
}

// nested is a field as an experiment's schema describes it; of a struct that asks for
// fields, without asking.
func nested(f field, path string) object {
	inner := structOf(f.typ)
	if _, special := describer(path); special || inner == nil {
		return described(path)
	}
	var properties object
	for _, part := range fieldsOf(inner) {
		properties = append(properties, member{part.key, nested(part, strict.Join(path, part.key))})
	}
	return append(object{{"description", f.doc}}, closed(properties)...)
}

// described refers to the description of an experiment's field.
func described(path string) object {
	return object{{"$ref", experimentSchema + "#/properties/" + strings.ReplaceAll(path, ".", "/properties/")}}
}

// addRefs adds the dotted keys of a struct's fields. A struct is described where it
// stands nested, since nothing in it is required.
func addRefs(into *object, t reflect.Type, path string) {
	for _, f := range fieldsOf(t) {
		at := strict.Join(path, f.key)
		if ownKeys[at] != "" {
			continue
		}
		inner := structOf(f.typ)
		if _, special := describer(at); special || inner == nil {
			*into = append(*into, member{at, described(at)})
			continue
		}
		here := "#/$defs/fields/properties/" + strings.ReplaceAll(at, ".", "/properties/")
		*into = append(*into, member{at, object{{"$ref", here}}})
		addRefs(into, inner, at)
	}
}

func (s schema) base() object {
	return object{{"oneOf", []object{{{"type", "string"}, {"minLength", 1}}, fieldsRef}}}
}

func (s schema) arms() object {
	return object{
		{"type", "object"},
		{"propertyNames", object{{"pattern", "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$"}}},
		{"additionalProperties", fieldsRef},
	}
}

// matrix has a list of words and numbers for each field.
func (s schema) matrix() object {
	var properties object
	addLeaves(&properties, reflect.TypeFor[experiment.Spec](), "")
	return closed(properties)
}

func addLeaves(into *object, t reflect.Type, path string) {
	for _, f := range fieldsOf(t) {
		at := strict.Join(path, f.key)
		switch _, special := describer(at); {
		case ownKeys[at] != "", special && at != "environment":
		case structOf(f.typ) != nil:
			addLeaves(into, structOf(f.typ), at)
		case f.typ.Kind() != reflect.Slice:
			*into = append(*into, member{at, valuesRef})
		}
	}
}

func (s schema) include() object {
	seeds := object{{"type", "array"}, {"minItems", 1}, {"items", object{{"type", "integer"}, {"minimum", 0}}}}
	entry := closed(object{{"arm", object{{"type", "string"}}}, {"seeds", seeds}, {"set", fieldsRef}})
	return object{{"type", "array"}, {"items", append(entry, member{"required", []string{"arm"}})}}
}

func (schema) exclude() object {
	properties := object{
		{"arm", object{{"type", "string"}}},
		{"seed", object{{"type", "integer"}, {"minimum", 0}}},
	}
	addRefs(&properties, reflect.TypeFor[experiment.Spec](), "")
	return object{{"type", "array"}, {"items", append(closed(properties), member{"minProperties", 1})}}
}
