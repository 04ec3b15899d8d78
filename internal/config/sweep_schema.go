package config

import (
	"reflect"

	"floe/internal/config/strict"
	"floe/internal/env"
	"floe/internal/experiment"
)

// SweepSchema is the JSON Schema of sweep files, for editors. It is made from the
// same tags as Schema. What arms and matrix may say is the fields of an
// experiment, nested or with dotted keys.
func SweepSchema(envs []env.Environment) ([]byte, error) {
	s := schema{envs}
	return s.document("floe sweep", s.structure(reflect.TypeFor[experiment.SweepFile](), ""),
		object{{"row", s.row()}, {"fields", s.fields()}})
}

var fieldsRef = object{{"$ref", "#/$defs/fields"}}

// fields are an experiment's fields that a sweep may set, nested and dotted.
// Nothing in them is required and nothing has a default.
func (s schema) fields() object {
	var properties object
	s.addFields(&properties, reflect.TypeFor[experiment.Spec](), "")
	return closed(properties)
}

func (s schema) addFields(into *object, t reflect.Type, path string) {
	for _, f := range fieldsOf(t) {
		at := strict.Join(path, f.key)
		if ownKeys[at] != "" {
			continue
		}
		f.required, f.hasDef = false, false
		*into = append(*into, member{at, s.field(f, at)})
		if f.typ.Kind() == reflect.Struct {
			s.addFields(into, f.typ, at)
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
		case f.typ.Kind() == reflect.Struct:
			addLeaves(into, value, f.typ, at)
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

func (s schema) exclude() object {
	properties := object{
		{"arm", object{{"type", "string"}}},
		{"seed", object{{"type", "integer"}, {"minimum", 0}}},
	}
	s.addFields(&properties, reflect.TypeFor[experiment.Spec](), "")
	return object{{"type", "array"}, {"items", append(closed(properties), member{"minProperties", 1})}}
}
