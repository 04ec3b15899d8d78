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

// mostBlock bounds what is parsed: ten times what an answer needs. It also makes
// reading linear, since the YAML parser is not where there are many comments.
const mostBlock = 16 << 10

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
	rows      []string // the sizes that were given, in the answer's order
	notes     []string
	faults    []fault
	trace     *trace
}

// note tells of something that was decided about the answer.
func (a *answer) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	a.notes = append(a.notes, text)
	a.trace.say("%s.", text)
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
func (r Reader) block(text string, t *trace) Reading {
	root, class, err := parse(text)
	if err != nil {
		return refuse(class, "%v", err)
	}
	a := answer{trace: t}
	r.root(&a, root)
	r.tellSizes(&a)
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
			r.rows(a, p.value)
		case size != "":
			bareSizes = append(bareSizes, p.keyNode, p.value)
		default:
			a.fault(ClassWrongKeys, "unknown key %s; want rationale and sizes", opening(p.key))
		}
	}
	switch {
	case len(bareSizes) > 0 && hasSizes:
		a.fault(ClassWrongKeys, "some sizes stand outside of sizes")
	case len(bareSizes) > 0:
		a.note("sizes stood at the top level")
		r.rows(a, &yaml.Node{Kind: yaml.MappingNode, Content: bareSizes})
	case !hasSizes:
		a.fault(ClassWrongKeys, "there is no key sizes")
	}
	if a.rationale == "" {
		a.note("no rationale was given")
	}
}

func (r Reader) rows(a *answer, n *yaml.Node) {
	if n.Kind != yaml.MappingNode || len(n.Content) == 0 {
		a.fault(ClassWrongKeys, "sizes is %s; want a key per size", describe(n))
		return
	}
	for _, p := range a.pairs("sizes", n) {
		size := r.size(p.key)
		switch {
		case size == "":
			a.fault(ClassWrongKeys, "unknown size %s; want one of %s", opening(p.key), strings.Join(r.space.Sizes, ", "))
			continue
		case slices.Contains(a.rows, size):
			a.fault(ClassDuplicate, "size %s stands twice", size)
			continue
		}
		a.rows = append(a.rows, size)
		if p.key != size {
			a.trace.say("%s was read as the size %s.", p.key, size)
		}
		r.row(a, size, p.value)
	}
}

func (r Reader) row(a *answer, size string, n *yaml.Node) {
	if n.Kind != yaml.MappingNode || len(n.Content) == 0 {
		a.fault(ClassWrongKeys, "%s is %s; want the keys %s", size, describe(n), strings.Join(r.fields, ", "))
		return
	}
	for _, p := range a.pairs(size, n) {
		if !slices.Contains(r.fields, p.key) {
			a.fault(ClassWrongKeys, "%s has unknown key %s; want %s", size, opening(p.key), strings.Join(r.fields, ", "))
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

// tellSizes traces which sizes were found, and how they were spelled.
func (r Reader) tellSizes(a *answer) {
	if len(a.rows) > 0 {
		a.trace.say("Sizes given: %s; %s.", strings.Join(a.rows, ", "), plural(len(a.cells), "number"))
	}
}

// size finds the size that a key means: its name, in any spelling of the cross,
// or its one number ("3" for "3x3"). "" if there is none.
func (r Reader) size(key string) string { return r.sizes[canonical(key)] }

var crosses = strings.NewReplacer(" ", "", "×", "x", "*", "x")

// canonical spells a size with a small x and no blanks.
func canonical(key string) string { return crosses.Replace(strings.ToLower(key)) }

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
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		switch {
		case k.Kind != yaml.ScalarNode:
			a.fault(ClassWrongKeys, "%s has %s as a key", where, describe(k))
		case seen[k.Value]:
			a.fault(ClassDuplicate, "key %s stands twice in %s", opening(k.Value), where)
		default:
			seen[k.Value] = true
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
