package config

import (
	"strings"

	"gopkg.in/yaml.v3"

	"floe/internal/config/strict"
	"floe/internal/experiment"
)

// Diff lists what differs between two specs, "trainer.rollouts: 8 -> 16", in the
// order of the file. It is empty exactly when both would be written the same.
func Diff(a, b experiment.Spec) []string {
	x, _ := tree(a) // a number that no file can hold differs like any other
	y, _ := tree(b)
	return diffNodes("", x, y)
}

func diffNodes(path string, a, b *yaml.Node) []string {
	if a != nil && b != nil && a.Kind == yaml.MappingNode && b.Kind == yaml.MappingNode {
		var lines []string
		for _, key := range unionKeys(a, b) {
			lines = append(lines, diffNodes(strict.Join(path, key), find(a, key), find(b, key))...)
		}
		return lines
	}
	if x, y := brief(a), brief(b); x != y {
		return []string{path + ": " + x + " -> " + y}
	}
	return nil
}

// unionKeys are the keys of two mappings, each once, a's first.
func unionKeys(a, b *yaml.Node) []string {
	var keys []string
	for i := 0; i < len(a.Content); i += 2 {
		keys = append(keys, a.Content[i].Value)
	}
	for i := 0; i < len(b.Content); i += 2 {
		if key := b.Content[i].Value; find(a, key) == nil {
			keys = append(keys, key)
		}
	}
	return keys
}

// brief writes a value on one line.
func brief(n *yaml.Node) string {
	switch {
	case n == nil:
		return "absent"
	case n.Kind == yaml.MappingNode:
		return "given"
	case n.Kind == yaml.SequenceNode:
		parts := make([]string, len(n.Content))
		for i, c := range n.Content {
			parts[i] = brief(c)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	default:
		return n.Value
	}
}
