package config

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"floe/internal/config/strict"
)

// field is what the tags of a struct field say (see experiment.Spec).
type field struct {
	index    int
	key, doc string
	typ      reflect.Type
	fallback string // the default, as a file would say it
	hasDef   bool
	in, each strict.Range
	enum     []string
	pattern  *regexp.Regexp
	want     string
	required bool
	lines    int    // most characters of a text that may have several lines; 0 for one line
	repeats  bool   // a list may say the same twice, as argument vectors do
	model    string // the default where a language model is trained, if it is another
}

// fieldsOf reads the tags of a struct type. A tag that makes no sense is a
// mistake in this program and panics; a test reads the tags of every type.
func fieldsOf(t reflect.Type) []field {
	fields := make([]field, t.NumField())
	for i := range fields {
		tag := t.Field(i).Tag
		f := field{
			index: i, key: tag.Get("yaml"), doc: tag.Get("doc"), typ: t.Field(i).Type,
			in:   strict.Range{Min: bound(tag, "min", -1), Max: bound(tag, "max", 1)},
			each: strict.Range{Min: bound(tag, "each_min", -1), Max: bound(tag, "each_max", 1)},
			want: tag.Get("want"), required: tag.Get("required") == "true",
			repeats: tag.Get("repeats") == "true", model: tag.Get("llm"),
		}
		f.fallback, f.hasDef = tag.Lookup("default")
		if enum := tag.Get("enum"); enum != "" {
			f.enum = strings.Split(enum, "|")
		}
		if pattern := tag.Get("pattern"); pattern != "" {
			f.pattern = regexp.MustCompile(pattern)
		}
		if lines := tag.Get("lines"); lines != "" {
			f.lines = int(bound(tag, "lines", 0))
		}
		if f.key == "" || f.doc == "" {
			panic(fmt.Sprintf("field %s of %s needs the tags yaml and doc", t.Field(i).Name, t))
		}
		fields[i] = f
	}
	return fields
}

// bound reads a bound; without one, the range is open on that side.
func bound(tag reflect.StructTag, key string, side int) float64 {
	s, ok := tag.Lookup(key)
	if !ok {
		return math.Inf(side)
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		panic(fmt.Sprintf("tag %s:%q is no number", key, s))
	}
	return v
}

// entry is the field of a list's entries.
func (f field) entry() field {
	return field{key: f.key, typ: f.typ.Elem(), in: f.each, enum: f.enum, pattern: f.pattern, want: f.want, lines: f.lines}
}

// wanted says in words what a string field takes.
func (f field) wanted() string {
	switch {
	case f.want != "":
		return f.want
	case len(f.enum) > 0:
		return strict.OneOf(f.enum)
	default:
		return "a text"
	}
}

func keysOf(fields []field) []string {
	keys := make([]string, len(fields))
	for i, f := range fields {
		keys[i] = f.key
	}
	return keys
}
