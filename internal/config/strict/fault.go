// Package strict reads YAML without its surprises.
//
// YAML accepts more than people mean: 010 is eight, 1_000 a thousand, no is a
// string to one reader and false to the next, .nan is a number, an empty value
// is a zero, an alias is a copy of something far away. Nothing of that is read
// here. Every refusal is a Fault that says where it is, what was found and what
// was wanted, and reading goes on behind it, so that all faults are told at once.
package strict

import (
	"fmt"
	"slices"

	"gopkg.in/yaml.v3"
)

// Fault is one thing wrong with a document.
type Fault struct {
	Line, Column int    // from 1, in characters; the position that the yaml.Node had
	Path         string // dotted, such as "trainer.rollouts"; "" is the whole document
	Message      string // "found X; want Y"
}

// String is "line:column: path: message", without the parts that are empty.
func (f Fault) String() string {
	return fmt.Sprintf("%d:%d: %s", f.Line, f.Column, f.Text())
}

// Text is "path: message", for callers that name the place themselves.
func (f Fault) Text() string {
	if f.Path == "" {
		return f.Message
	}
	return f.Path + ": " + f.Message
}

// Reader collects faults while a tree of nodes is read.
type Reader struct {
	Faults []Fault
}

// Add notes a fault at a node.
func (r *Reader) Add(at *yaml.Node, path, format string, args ...any) {
	r.Faults = append(r.Faults, Fault{at.Line, at.Column, path, fmt.Sprintf(format, args...)})
}

// Refuse notes that a node is not what was wanted.
func (r *Reader) Refuse(n *yaml.Node, path, want string) {
	r.Add(n, path, "found %s; want %s", Describe(n), want)
}

// Unknown notes a key that nobody knows: with the known key that is nearest, or
// with all of them when none is near.
func (r *Reader) Unknown(key *yaml.Node, path string, known []string) {
	if near, ok := Nearest(key.Value, known); ok {
		r.Add(key, path, "found unknown key %s; did you mean %s?", quote(key.Value), near)
		return
	}
	r.Add(key, path, "found unknown key %s; want %s", quote(key.Value), OneOf(known))
}

// Join appends a key to a path.
func Join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// Sort puts faults in the order of the document; faults of one place stay as
// they were found.
func Sort(faults []Fault) {
	slices.SortStableFunc(faults, func(a, b Fault) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
}
