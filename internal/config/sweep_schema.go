package config

import (
	"reflect"
	"strings"

	"floe/internal/config/strict"
	"floe/internal/env"
	"floe/internal/experiment"
)

// SweepSchema is the JSON Schema of sweep files, for editors. It is made from the
// same tags as Schema. What arms and matrix may say is the fields of an
// experiment, nested or with dotted keys.
func SweepSchema(envs []env.Environment) ([]byte, error) {
	s := schema{envs: envs}
	return s.document("floe sweep", s.structure(reflect.TypeFor[experiment.SweepFile](), ""),
		object{{"row", s.row()}, {"fields", s.fields()}})
}

var fieldsRef = object{{"$ref", "#/$defs/fields"}}

// fields are an experiment's fields that a sweep may set, nested and dotted.
// Nothing in them is required. A dotted one is described where it stands nested.
func (s schema) fields() object {
	s.partial = true
	var properties object
	for _, f := range fieldsOf(reflect.TypeFor[experiment.Spec]()) {
		if ownKeys[f.key] != "" {
			continue
		}
		f.hasDef = false
		properties = append(properties, member{f.key, s.field(f, f.key)})
		if inner := structOf(f.typ); inner != nil {
			addRefs(&properties, inner, f.key)
		}
	}
	return closed(properties)
}

// addRefs points to where the fields of a struct are described.
func addRefs(into *object, t reflect.Type, path string) {
	for _, f := range fieldsOf(t) {
		at := strict.Join(path, f.key)
		if ownKeys[at] != "" {
			continue
		}
		nested := "#/$defs/fields/properties/" + strings.ReplaceAll(at, ".", "/properties/")
		*into = append(*into, member{at, object{{"$ref", nested}}})
		if inner := structOf(f.typ); inner != nil {
			addRefs(into, inner, at)
		}
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
	values := object{{"type", "array"}, {"minItems", 1}, {"items", object{{"type", []string{"string", "number", "boolean"}}}}}
	var properties object
	addLeaves(&properties, values, reflect.TypeFor[experiment.Spec](), "")
	return closed(properties)
}

func addLeaves(into *object, value object, t reflect.Type, path string) {
	for _, f := range fieldsOf(t) {
		at := strict.Join(path, f.key)
		switch _, special := describer(at); {
		case ownKeys[at] != "", special && at != "environment":
		case structOf(f.typ) != nil:
			addLeaves(into, value, structOf(f.typ), at)
		case f.typ.Kind() != reflect.Slice:
			*into = append(*into, member{at, value})
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
