package curriculum

import (
	"fmt"
	"math"

	"gopkg.in/yaml.v3"

	"floe/internal/config/strict"
	"floe/internal/env"
	"floe/internal/experiment"
)

// Fault is one thing wrong with a curriculum's text. Its path is relative to
// the curriculum: "sizes.3x3.hole_ratio".
type Fault = strict.Fault

// FromNode reads a curriculum strictly, as Format writes it, from a document that is
// parsed already:
//
//	sizes:
//	  3x3: {data_ratio: 0.60, hole_ratio: 0.10, wait_ratio: 0.25}
//	  4x4: {data_ratio: 0.40}
//
// A size that is not named gets no samples; a knob that is not named keeps its
// default. The curriculum is legal when there are no faults.
func FromNode(n *yaml.Node, space env.Space) (experiment.Curriculum, []Fault) {
	r := &reader{space: space}
	c := r.curriculum(n)
	if len(r.Faults) > 0 {
		strict.Sort(r.Faults)
		return experiment.Curriculum{}, r.Faults
	}
	return c, nil
}

type reader struct {
	strict.Reader
	space env.Space
}

func (r *reader) curriculum(n *yaml.Node) experiment.Curriculum {
	const want = "a mapping with the key sizes"
	entries, ok := r.Mapping(n, "", want)
	if !ok {
		return experiment.Curriculum{}
	}
	var sizes *yaml.Node
	for _, e := range entries {
		if e.Key != "sizes" {
			r.Unknown(e.At, "", []string{"sizes"})
			continue
		}
		sizes = e.Value
	}
	if sizes == nil {
		r.Add(n, "", "found no key sizes; want %s", want)
		return experiment.Curriculum{}
	}
	return r.sizes(sizes)
}

func (r *reader) sizes(n *yaml.Node) experiment.Curriculum {
	entries, ok := r.Mapping(n, "sizes", "a mapping from size to data_ratio and knobs")
	if !ok {
		return experiment.Curriculum{}
	}
	c := Uniform(r.space)
	for i := range c.Rows {
		c.Rows[i].DataRatio = 0
	}
	before := len(r.Faults)
	for _, e := range entries {
		i := rowIndex(c, e.Key)
		if i < 0 {
			r.Unknown(e.At, "sizes", r.space.Sizes)
			continue
		}
		r.row(&c.Rows[i], e.Value, strict.Join("sizes", e.Key))
	}
	if sum := shareSum(c); len(r.Faults) == before && !(math.Abs(sum-1) <= sumTolerance) {
		r.Add(n, "sizes", "found a %s that sums to %.6g over the sizes; want 1", FieldShare, sum)
	}
	return c
}

func (r *reader) row(row *experiment.Row, n *yaml.Node, path string) {
	want := fmt.Sprintf("a mapping such as {%s: 0.5}", FieldShare)
	entries, ok := r.Mapping(n, path, want)
	if !ok {
		return
	}
	hasShare := false
	for _, e := range entries {
		at := strict.Join(path, e.Key)
		i := knobIndex(r.space, e.Key)
		switch {
		case e.Key == FieldShare:
			hasShare = true
			row.DataRatio, _ = r.Number(e.Value, at, strict.Range{Min: 0, Max: 1})
		case i < 0:
			r.Unknown(e.At, path, append([]string{FieldShare}, knobNames(r.space)...))
		default:
			k := r.space.Knobs[i]
			row.Knobs[i].Value, _ = r.Number(e.Value, at, strict.Range{Min: k.Min, Max: k.Max})
		}
	}
	if !hasShare {
		r.Add(n, path, "found no key %s; want the size's share of the samples", FieldShare)
	}
}

func knobIndex(space env.Space, name string) int {
	for i, k := range space.Knobs {
		if k.Name == name {
			return i
		}
	}
	return -1
}

func knobNames(space env.Space) []string {
	names := make([]string, len(space.Knobs))
	for i, k := range space.Knobs {
		names[i] = k.Name
	}
	return names
}
