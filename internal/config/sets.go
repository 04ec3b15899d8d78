package config

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"floe/internal/config/strict"
)

// source is a file and the overrides that go with it. Overrides become part of
// the file's tree, and so are read as strictly as the file; their nodes carry
// the line -(i+1), which no file has, to tell where they came from. So do the
// nodes of a sweep's base file, which have lines that no file is long enough for.
type source struct {
	file string
	sets []string
	base string // the file that lines beyond baseLines are of
}

// baseLines is more lines than a file can have.
const baseLines = 1 << 20

// setOf is the number of the override, from 1, that a line stands for, or 0 for
// a line of the file.
func setOf(line int) int { return max(0, -line) }

// parse reads the file and applies the overrides in order.
func (s source) parse(src []byte) (*yaml.Node, []strict.Fault) {
	root, faults := strict.Parse(src)
	if root == nil || root.Kind != yaml.MappingNode {
		return root, faults
	}
	r := strict.Reader{Faults: faults}
	for i, set := range s.sets {
		s.apply(&r, root, i, set)
	}
	return root, r.Faults
}

func (s source) apply(r *strict.Reader, root *yaml.Node, i int, set string) {
	here := &yaml.Node{Line: -(i + 1)}
	key, text, ok := strings.Cut(set, "=")
	path := strings.Split(key, ".")
	switch {
	case !ok || slices.Contains(path, ""):
		r.Add(here, "", "found no key=value; want one such as trainer.rollouts=8")
		return
	case strings.TrimSpace(text) == "":
		r.Add(here, key, "found nothing; want a value")
		return
	}
	value, faults := strict.Parse([]byte(text))
	for _, f := range faults {
		r.Add(here, key, "%s", f.Message)
	}
	if value == nil {
		return
	}
	mark(value, here.Line)
	parent, last := root, len(path)-1
	for j, k := range path[:last] {
		if parent = child(parent, k, here.Line); parent.Kind != yaml.MappingNode {
			r.Add(here, strings.Join(path[:j+1], "."), "found %s, which has no keys to set; want a mapping", strict.Describe(parent))
			return
		}
	}
	assign(parent, path[last], value)
}

// mark gives a tree the line of its override.
func mark(n *yaml.Node, line int) {
	n.Line = line
	for _, c := range n.Content {
		mark(c, line)
	}
}

// child is the value of a key, made if need be.
func child(mapping *yaml.Node, key string, line int) *yaml.Node {
	if n := find(mapping, key); n != nil {
		return n
	}
	n := &yaml.Node{Kind: yaml.MappingNode, Line: line}
	assign(mapping, key, n)
	return n
}

func find(mapping *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1]
		}
	}
	return nil
}

func assign(mapping *yaml.Node, key string, value *yaml.Node) {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			mapping.Content[i+1] = value
			return
		}
	}
	name := &yaml.Node{Kind: yaml.ScalarNode, Style: yaml.DoubleQuotedStyle, Value: key, Line: value.Line, Column: value.Column}
	mapping.Content = append(mapping.Content, name, value)
}
