package job

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"
)

// unknown says what becomes of keys that a type does not have.
type unknown int

const (
	unknownRefused unknown = iota // the spec: a typo must not quietly become a default
	unknownPassed                 // what a trainer writes: it may say more than we read
)

const deepest = 100 // levels of nesting; more is an attack or a mistake

// node is one JSON value, with what encoding/json throws away: order and
// repetition of keys.
type node struct {
	raw     json.RawMessage
	members []member // of an object, in order
	items   []node   // of an array
	kind    byte     // '{', '[', '"', '0', 't' or 'n'
}

type member struct {
	key   string
	value node
}

// decode reads one JSON object into a struct. Keys without the tag
// `job:"optional"` are needed; a key that is absent leaves what into holds. The
// error has every fault with its path.
func decode(name string, body []byte, into any, extra unknown) error {
	f := &faults{name: name}
	if !utf8.Valid(body) {
		f.add("", "found a byte that is not UTF-8; want JSON")
		return f.err()
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	n, err := parse(d, body, 0)
	if err != nil {
		f.add("", "%s", jsonTrouble(err))
		return f.err()
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		f.add("", "found more after the end of the object; want one object")
		return f.err()
	}
	b := binder{f, extra}
	b.bind(n, reflect.ValueOf(into).Elem(), "")
	return f.err()
}

func jsonTrouble(err error) string {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "the text ends in the middle; it is torn or empty"
	}
	return err.Error()
}

func parse(d *json.Decoder, body []byte, depth int) (node, error) {
	if depth > deepest {
		return node{}, fmt.Errorf("found more than %d levels; want fewer", deepest)
	}
	t, err := d.Token()
	if err != nil {
		return node{}, err
	}
	end := d.InputOffset()
	switch v := t.(type) {
	case json.Delim:
		return parseInner(d, body, depth, v, end-1)
	case string:
		return literal('"', v)
	case json.Number:
		return node{kind: '0', raw: json.RawMessage(v)}, nil
	case bool:
		return literal('t', v)
	default:
		return node{kind: 'n', raw: json.RawMessage("null")}, nil
	}
}

func literal(kind byte, v any) (node, error) {
	raw, err := json.Marshal(v)
	return node{kind: kind, raw: raw}, err
}

// parseInner reads an object or array whose opening bracket was read.
func parseInner(d *json.Decoder, body []byte, depth int, open json.Delim, start int64) (node, error) {
	n := node{kind: byte(open)}
	for d.More() {
		var key string
		if open == '{' {
			t, err := d.Token()
			if err != nil {
				return node{}, err
			}
			key, _ = t.(string) // the decoder lets nothing else through
		}
		value, err := parse(d, body, depth+1)
		if err != nil {
			return node{}, err
		}
		if open == '{' {
			n.members = append(n.members, member{key, value})
		} else {
			n.items = append(n.items, value)
		}
	}
	if _, err := d.Token(); err != nil { // the closing bracket
		return node{}, err
	}
	n.raw = body[start:d.InputOffset()]
	return n, nil
}

// binder puts values into Go's types.
type binder struct {
	*faults
	extra unknown
}

var (
	rawType  = reflect.TypeFor[json.RawMessage]()
	timeType = reflect.TypeFor[time.Time]()
)

func (b binder) bind(n node, into reflect.Value, path string) {
	switch t := into.Type(); {
	case t == rawType:
		b.raw(n, into, path)
	case t == timeType:
		b.time(n, into, path)
	case t.Kind() == reflect.Pointer:
		if n.kind == 'n' {
			into.SetZero()
			return
		}
		inner := reflect.New(t.Elem())
		b.bind(n, inner.Elem(), path)
		into.Set(inner)
	case t.Kind() == reflect.Struct:
		b.object(n, into, path)
	case t.Kind() == reflect.Map:
		b.mapping(n, into, path)
	case t.Kind() == reflect.Slice:
		b.list(n, into, path)
	default:
		b.scalar(n, into, path)
	}
}

// raw takes an object that somebody else reads; that it is sound is seen here.
func (b binder) raw(n node, into reflect.Value, path string) {
	if n.kind != '{' {
		b.mismatch(n, path, "an object")
		return
	}
	b.repeated(n, path)
	into.SetBytes(n.raw)
}

func (b binder) repeated(n node, path string) {
	seen := map[string]bool{}
	for _, m := range n.members {
		if seen[m.key] {
			b.add(join(path, m.key), "found it more than once; want it once")
		}
		seen[m.key] = true
		b.repeated(m.value, join(path, m.key))
	}
	for i, item := range n.items {
		b.repeated(item, fmt.Sprintf("%s[%d]", path, i))
	}
	if n.kind == '0' {
		var number float64
		if json.Unmarshal(n.raw, &number) != nil {
			b.add(path, "found %s; want a finite number", short(string(n.raw)))
		}
	}
}

func (b binder) time(n node, into reflect.Value, path string) {
	var t time.Time
	if n.kind != '"' || json.Unmarshal(n.raw, &t) != nil {
		b.mismatch(n, path, "a time such as 2026-11-29T20:15:04Z")
		return
	}
	into.Set(reflect.ValueOf(t))
}

func (b binder) object(n node, into reflect.Value, path string) {
	if n.kind != '{' {
		b.mismatch(n, path, "an object")
		return
	}
	t := into.Type()
	found := map[string]bool{}
	fields := map[string]int{}
	for i := range t.NumField() {
		fields[key(t.Field(i))] = i
	}
	for _, m := range n.members {
		at := join(path, m.key)
		if found[m.key] {
			b.add(at, "found it more than once; want it once")
			continue
		}
		found[m.key] = true
		switch i, known := fields[m.key]; {
		case known:
			b.bind(m.value, into.Field(i), at)
		case b.extra == unknownRefused:
			b.add(at, "unknown key; want one of %s", strings.Join(keys(t), ", "))
		}
	}
	for field := range t.Fields() {
		if k := key(field); !found[k] && field.Tag.Get("job") != "optional" {
			b.add(join(path, k), "missing")
		}
	}
}

func key(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

func keys(t reflect.Type) []string {
	all := make([]string, t.NumField())
	for i := range all {
		all[i] = key(t.Field(i))
	}
	return all
}

func (b binder) mapping(n node, into reflect.Value, path string) {
	if n.kind != '{' {
		b.mismatch(n, path, "an object")
		return
	}
	m := reflect.MakeMap(into.Type())
	for _, member := range n.members {
		at := join(path, member.key)
		k := reflect.ValueOf(member.key)
		if m.MapIndex(k).IsValid() {
			b.add(at, "found it more than once; want it once")
			continue
		}
		value := reflect.New(into.Type().Elem()).Elem()
		b.bind(member.value, value, at)
		m.SetMapIndex(k, value)
	}
	into.Set(m)
}

func (b binder) list(n node, into reflect.Value, path string) {
	if n.kind != '[' {
		b.mismatch(n, path, "a list")
		return
	}
	s := reflect.MakeSlice(into.Type(), len(n.items), len(n.items))
	for i, item := range n.items {
		b.bind(item, s.Index(i), fmt.Sprintf("%s[%d]", path, i))
	}
	into.Set(s)
}

func (b binder) scalar(n node, into reflect.Value, path string) {
	wants := map[reflect.Kind]struct {
		kind byte
		want string
	}{
		reflect.String: {'"', "a text"}, reflect.Bool: {'t', "true or false"},
		reflect.Int: {'0', "a whole number"}, reflect.Int64: {'0', "a whole number"}, reflect.Float64: {'0', "a finite number"},
	}
	w := wants[into.Kind()]
	if n.kind != w.kind || json.Unmarshal(n.raw, into.Addr().Interface()) != nil {
		b.mismatch(n, path, w.want)
	}
}

func (b binder) mismatch(n node, path, want string) {
	b.add(path, "found %s; want %s", short(string(n.raw)), want)
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
