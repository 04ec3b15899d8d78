package strict

import (
	"gopkg.in/yaml.v3"
)

// Entry is one key of a mapping with its value.
type Entry struct {
	Key   string
	At    *yaml.Node // the key
	Value *yaml.Node
}

// Mapping reads a mapping whose keys are words, each given once. Entries that
// cannot be read are left out.
func (r *Reader) Mapping(n *yaml.Node, path, want string) ([]Entry, bool) {
	if !r.alone(n, path) {
		return nil, false
	}
	if n.Kind != yaml.MappingNode {
		r.Refuse(n, path, want)
		return nil, false
	}
	var entries []Entry
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch {
		case !r.key(key, path):
		case seen[key.Value]:
			r.Add(key, Join(path, key.Value), "found the key %s a second time; want it once", quote(key.Value))
		default:
			seen[key.Value] = true
			entries = append(entries, Entry{key.Value, key, n.Content[i+1]})
		}
	}
	return entries, true
}

func (r *Reader) key(key *yaml.Node, path string) bool {
	switch {
	case !r.alone(key, path):
		return false
	case key.Kind != yaml.ScalarNode || key.Value == "":
		r.Add(key, path, "found %s as a key; want a word", Describe(key))
		return false
	case key.Value == "<<" && plain(key):
		r.Add(key, path, "found the merge key <<; want the keys written out")
		return false
	}
	return true
}

// List reads a sequence.
func (r *Reader) List(n *yaml.Node, path, want string) ([]*yaml.Node, bool) {
	if !r.alone(n, path) {
		return nil, false
	}
	if n.Kind != yaml.SequenceNode {
		r.Refuse(n, path, want)
		return nil, false
	}
	return n.Content, true
}

// alone refuses what makes a value depend on more than its own text.
func (r *Reader) alone(n *yaml.Node, path string) bool {
	switch {
	case n.Kind == yaml.AliasNode:
		r.Add(n, path, "found the alias *%s; want the value written out", n.Value)
	case n.Anchor != "":
		r.Add(n, path, "found the anchor &%s; want the value alone", n.Anchor)
	case n.Style&yaml.TaggedStyle != 0:
		r.Add(n, path, "found the tag %s; want the value alone", n.Tag)
	default:
		return true
	}
	return false
}

// plain says that a scalar stands without quotes, on one line.
func plain(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Style&^yaml.FlowStyle == 0
}

// Describe says what a node is, as a reader of the file would see it.
func Describe(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Kind == yaml.AliasNode:
		return "the alias *" + n.Value
	case plain(n) && n.ShortTag() == "!!null":
		return "nothing"
	case plain(n) && n.ShortTag() != "!!str":
		return clip(n.Value)
	default:
		return quote(n.Value)
	}
}
