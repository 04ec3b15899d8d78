package designer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"floe/internal/curriculum"
	"floe/internal/env"
)

// mostBlock bounds what is parsed.
const mostBlock = 64 << 10

const dataRatio = curriculum.FieldShare

// cell is one number of an answer: a field of a size.
type cell struct {
	size, field string
	value       float64
	percent     bool
}

// answer is a block, taken apart but not yet judged as a whole.
type answer struct {
	rationale string
	cells     []cell
	notes     []string
	faults    []fault
}

type fault struct {
	class Class
	text  string
}

func (a *answer) fault(c Class, format string, args ...any) {
	a.faults = append(a.faults, fault{c, fmt.Sprintf(format, args...)})
}

// reading refuses with all faults; the first one gives the class.
func (a *answer) reading() Reading {
	const most = 8
	var texts []string
	for i, f := range a.faults {
		if i == most {
			texts = append(texts, fmt.Sprintf("and %d more", len(a.faults)-most))
			break
		}
		texts = append(texts, f.text)
	}
	return Reading{Class: a.faults[0].class, Rationale: a.rationale, Fault: strings.Join(texts, "; ")}
}

// block reads one candidate.
func (r Reader) block(text string) Reading {
	root, class, err := parse(text)
	if err != nil {
		return refuse(class, "%v", err)
	}
	var a answer
	r.root(&a, root)
	if len(a.faults) > 0 {
		return a.reading()
	}
	return r.judge(&a)
}

// parse decodes one YAML document, or JSON, which is YAML but for tabs.
func parse(text string) (*yaml.Node, Class, error) {
	if len(text) > mostBlock {
		return nil, ClassNotYAML, fmt.Errorf("the block has %d bytes; want at most %d", len(text), mostBlock)
	}
	var compact bytes.Buffer
	if json.Compact(&compact, []byte(text)) == nil {
		text = compact.String()
	}
	d := yaml.NewDecoder(strings.NewReader(text))
	var doc, second yaml.Node
	if err := d.Decode(&doc); errors.Is(err, io.EOF) || (err == nil && len(doc.Content) == 0) {
		return nil, ClassEmpty, errors.New("the block is empty")
	} else if err != nil {
		return nil, ClassNotYAML, fmt.Errorf("the block is not YAML (%s)", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	switch err := d.Decode(&second); {
	case err == nil:
		return nil, ClassAmbiguous, errors.New("the block holds two YAML documents; give one")
	case !errors.Is(err, io.EOF):
		return nil, ClassNotYAML, fmt.Errorf("the block is not YAML (%s)", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	return doc.Content[0], "", nil
}

// root reads the top level: rationale and sizes. Models also leave the word
// "sizes" out, which is clear enough.
func (r Reader) root(a *answer, n *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		a.fault(ClassWrongKeys, "the block is %s; want the keys rationale and sizes", describe(n))
		return
	}
	var bareSizes []*yaml.Node
	hasSizes := false
	for _, p := range a.pairs("the block", n) {
		switch size := r.size(p.key); {
		case p.key == "rationale":
			a.rationale = a.text(p)
		case p.key == "sizes":
			hasSizes = true
			r.sizes(a, p.value)
		case size != "":
			bareSizes = append(bareSizes, p.keyNode, p.value)
		default:
			a.fault(ClassWrongKeys, "unknown key %q; want rationale and sizes", p.key)
		}
	}
	switch {
	case len(bareSizes) > 0 && hasSizes:
		a.fault(ClassWrongKeys, "some sizes stand outside of sizes")
	case len(bareSizes) > 0:
		a.notes = append(a.notes, "sizes stood at the top level")
		r.sizes(a, &yaml.Node{Kind: yaml.MappingNode, Content: bareSizes})
	case !hasSizes:
		a.fault(ClassWrongKeys, "there is no key sizes")
	}
	if a.rationale == "" {
		a.notes = append(a.notes, "no rationale was given")
	}
}

func (r Reader) sizes(a *answer, n *yaml.Node) {
	if n.Kind != yaml.MappingNode || len(n.Content) == 0 {
		a.fault(ClassWrongKeys, "sizes is %s; want a key per size", describe(n))
		return
	}
	var seen []string
	for _, p := range a.pairs("sizes", n) {
		size := r.size(p.key)
		switch {
		case size == "":
			a.fault(ClassWrongKeys, "unknown size %q; want one of %s", p.key, strings.Join(r.space.Sizes, ", "))
			continue
		case slices.Contains(seen, size):
			a.fault(ClassDuplicate, "size %s stands twice", size)
			continue
		}
		seen = append(seen, size)
		r.row(a, size, p.value)
	}
}

func (r Reader) row(a *answer, size string, n *yaml.Node) {
	if n.Kind != yaml.MappingNode || len(n.Content) == 0 {
		a.fault(ClassWrongKeys, "%s is %s; want the keys %s", size, describe(n), strings.Join(r.fields(), ", "))
		return
	}
	for _, p := range a.pairs(size, n) {
		if !slices.Contains(r.fields(), p.key) {
			a.fault(ClassWrongKeys, "%s has unknown key %q; want %s", size, p.key, strings.Join(r.fields(), ", "))
			continue
		}
		value, percent, ok := parseNumber(p.value)
		if !ok {
			a.fault(ClassNotNumber, "%s of %s is %s; want a decimal number", p.key, size, describe(p.value))
			continue
		}
		a.cells = append(a.cells, cell{size, p.key, value, percent})
	}
}

// fields are the settings of a size.
func (r Reader) fields() []string {
	fields := []string{dataRatio}
	for _, k := range r.space.Knobs {
		fields = append(fields, k.Name)
	}
	return fields
}

// size finds the size that a key means: its name, in any spelling of the cross,
// or its one number ("3" for "3x3"). "" if there is none.
func (r Reader) size(key string) string {
	for _, s := range r.space.Sizes {
		if slices.Contains(spellings(s), canonical(key)) {
			return s
		}
	}
	return ""
}

// canonical spells a size with a small x and no blanks.
func canonical(key string) string {
	return strings.NewReplacer(" ", "", "×", "x", "*", "x").Replace(strings.ToLower(key))
}

// spellings are the canonical forms of a size's name.
func spellings(size string) []string {
	name := canonical(size)
	parts := slices.Compact(strings.Split(name, "x"))
	if len(parts) == 1 && parts[0] != name {
		return []string{name, parts[0]}
	}
	return []string{name}
}

// pair is a key of a mapping with its value.
type pair struct {
	key            string
	keyNode, value *yaml.Node
}

// pairs lists a mapping, naming keys that are no plain word or stand twice.
func (a *answer) pairs(where string, n *yaml.Node) []pair {
	var out []pair
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		switch {
		case k.Kind != yaml.ScalarNode:
			a.fault(ClassWrongKeys, "%s has %s as a key", where, describe(k))
		case slices.ContainsFunc(out, func(p pair) bool { return p.key == k.Value }):
			a.fault(ClassDuplicate, "key %q stands twice in %s", k.Value, where)
		default:
			out = append(out, pair{k.Value, k, n.Content[i+1]})
		}
	}
	return out
}

func (a *answer) text(p pair) string {
	if p.value.Kind != yaml.ScalarNode {
		a.fault(ClassWrongKeys, "%s is %s; want text", p.key, describe(p.value))
		return ""
	}
	if p.value.Tag == "!!null" {
		return ""
	}
	return strings.TrimSpace(p.value.Value)
}

// describe names a node for a fault.
func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.ScalarNode:
		if n.Tag == "!!null" {
			return "empty"
		}
		return opening(n.Value)
	case yaml.MappingNode:
		if len(n.Content) == 0 {
			return "empty"
		}
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	default: // a document with nothing in it
		return "empty"
	}
}

// knob finds a knob of the space.
func (r Reader) knob(name string) (env.Knob, bool) {
	for _, k := range r.space.Knobs {
		if k.Name == name {
			return k, true
		}
	}
	return env.Knob{}, false
}
