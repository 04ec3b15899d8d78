package curriculum

import (
	"bytes"
	"strings"

	"gopkg.in/yaml.v3"

	"floe/internal/config/strict"
	"floe/internal/experiment"
)

// Format writes a curriculum as people and designers read it, a line per size.
// Numbers have two decimals, or as many more as it takes to read the same
// number back.
func Format(c experiment.Curriculum) string {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(Node(c)); err != nil {
		return "" // a tree made of mappings and scalars can always be written
	}
	return b.String()
}

// Node is the tree of what Format writes.
func Node(c experiment.Curriculum) *yaml.Node {
	sizes := &yaml.Node{Kind: yaml.MappingNode}
	for _, row := range c.Rows {
		settings := &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
		strict.Put(settings, FieldShare, number(row.DataRatio))
		for _, k := range row.Knobs {
			strict.Put(settings, k.Name, number(k.Value))
		}
		strict.Put(sizes, row.Size, settings)
	}
	root := &yaml.Node{Kind: yaml.MappingNode}
	strict.Put(root, "sizes", sizes)
	return root
}

func number(v float64) *yaml.Node {
	s := strict.Digits(v)
	if whole, decimals, _ := strings.Cut(s, "."); len(decimals) < 2 && !strings.ContainsAny(s, "eIN") {
		s = whole + "." + decimals + "00"[len(decimals):]
	}
	return strict.PlainNode(s)
}
