package curriculum

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"floe/internal/config/strict"
	"floe/internal/env"
	"floe/internal/experiment"
)

// Edit is a curriculum as a person writes it in place of a designer's proposal.
type Edit struct {
	Rationale  string // why; may be empty
	Curriculum experiment.Curriculum
}

// mostRationale bounds a rationale, in characters.
const mostRationale = 1000

// editWant is what a file of an edit holds.
const editWant = "a mapping with the keys rationale and sizes"

// ParseEdit reads a person's curriculum, either as designers write it or under
// the key curriculum, as in an experiment's file:
//
//	rationale: the large maps have had their turn
//	sizes:
//	  3x3: {data_ratio: 0.60, hole_ratio: 0.10, wait_ratio: 0.25}
//	  4x4: {data_ratio: 0.40, hole_ratio: 0.10, wait_ratio: 0.25}
//
// The form is read strictly: unknown keys, keys given twice and values that are
// no plain numbers are faults. The values may lie outside the legal space and
// sizes and knobs may be missing; Project settles that. There are as many rows
// as the text has.
func ParseEdit(src []byte, space env.Space) (Edit, []Fault) {
	root, faults := strict.Parse(src)
	if root == nil {
		return Edit{}, faults
	}
	r := &editReader{reader{space: space}}
	r.Faults = faults
	e := r.edit(root)
	if len(r.Faults) > 0 {
		strict.Sort(r.Faults)
		return Edit{}, r.Faults
	}
	return e, nil
}

type editReader struct{ reader }

func (r *editReader) edit(root *yaml.Node) (e Edit) {
	entries, ok := r.Mapping(root, "", editWant)
	if !ok {
		return e
	}
	var sizes *yaml.Node
	where := "sizes"
	for _, entry := range entries {
		switch entry.Key {
		case "rationale":
			e.Rationale = r.words(entry.Value)
		case "sizes", "curriculum":
			if sizes != nil {
				r.Add(entry.At, entry.Key, "found both sizes and curriculum; want one of them")
				return e
			}
			sizes = entry.Value
			if entry.Key == "curriculum" {
				sizes, where = r.under(entry.Value), "curriculum.sizes"
				if sizes == nil {
					return e
				}
			}
		default:
			r.Unknown(entry.At, "", []string{"rationale", "sizes", "curriculum"})
		}
	}
	if sizes == nil {
		r.Add(root, "", "found no key sizes; want %s", editWant)
		return e
	}
	e.Curriculum = r.rows(sizes, where)
	return e
}

// under finds the sizes of a curriculum as in an experiment's file.
func (r *editReader) under(n *yaml.Node) (sizes *yaml.Node) {
	entries, ok := r.Mapping(n, "curriculum", "a mapping with the key sizes")
	if !ok {
		return nil
	}
	for _, e := range entries {
		if e.Key != "sizes" {
			r.Unknown(e.At, "curriculum", []string{"sizes"})
			continue
		}
		sizes = e.Value
	}
	if sizes == nil {
		r.Add(n, "curriculum", "found no key sizes; want a mapping with the key sizes")
	}
	return sizes
}

func (r *editReader) rows(n *yaml.Node, where string) (c experiment.Curriculum) {
	entries, ok := r.Mapping(n, where, "a mapping from size to data_ratio and knobs")
	if !ok {
		return c
	}
	for _, e := range entries {
		if rowIndex(Uniform(r.space), e.Key) < 0 {
			r.Unknown(e.At, where, r.space.Sizes)
			continue
		}
		c.Rows = append(c.Rows, r.settings(e.Key, e.Value, strict.Join(where, e.Key)))
	}
	if len(entries) == 0 {
		r.Add(n, where, "found no size; want at least one")
	}
	return c
}

// settings reads a row, with the knobs in the order they stand in.
func (r *editReader) settings(size string, n *yaml.Node, path string) experiment.Row {
	row := experiment.Row{Size: size}
	entries, ok := r.Mapping(n, path, fmt.Sprintf("a mapping such as {%s: 0.5}", FieldShare))
	if !ok {
		return row
	}
	hasShare := false
	for _, e := range entries {
		at := strict.Join(path, e.Key)
		switch {
		case e.Key == FieldShare:
			hasShare = true
			row.DataRatio, _ = r.Number(e.Value, at, strict.Any())
		case knobIndex(r.space, e.Key) < 0:
			r.Unknown(e.At, path, append([]string{FieldShare}, knobNames(r.space)...))
		default:
			v, _ := r.Number(e.Value, at, strict.Any())
			row.Knobs = append(row.Knobs, experiment.Knob{Name: e.Key, Value: v})
		}
	}
	if !hasShare {
		r.Add(n, path, "found no key %s; want the size's share of the samples", FieldShare)
	}
	return row
}

// words reads a rationale, which may run over several lines and may be empty.
func (r *editReader) words(n *yaml.Node) string {
	const want = "a text"
	switch text := strings.TrimSpace(n.Value); {
	case n.Kind != yaml.ScalarNode:
		r.Refuse(n, "rationale", want)
	case n.ShortTag() == "!!null":
	case n.ShortTag() != "!!str":
		r.Refuse(n, "rationale", want+" (in quotes)")
	case utf8.RuneCountInString(text) > mostRationale:
		r.Add(n, "rationale", "found %d characters; want at most %d", utf8.RuneCountInString(text), mostRationale)
	case strings.ContainsFunc(text, func(c rune) bool { return c != '\n' && !unicode.IsGraphic(c) }):
		r.Add(n, "rationale", "found characters that cannot be printed; want %s", want)
	default:
		return text
	}
	return ""
}
