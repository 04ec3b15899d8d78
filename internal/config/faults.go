// Package config reads the files that people write: experiments and the
// project's connections. Reading is strict and tells all faults at once, each
// with its place. What comes out is effective: every default is filled in, so
// that writing it down again shows all that runs.
//
// The types say what a file holds: internal/experiment for experiments, Project
// for connections. Their field tags are read here, for decoding, for writing and
// for the JSON Schema that editors use; nothing says it a second time.
package config

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"floe/internal/config/strict"
)

// Faults is everything wrong with a file and the --set overrides given with it:
// first the file's faults in its order, then the overrides'.
type Faults struct {
	Lines []string // "file:line:column: path: found X; want Y"
}

// Error has one line per fault.
func (f *Faults) Error() string { return strings.Join(f.Lines, "\n") }

// faults gives faults their places and puts them in order. It returns nil when
// there are none.
func (s source) faults(found []strict.Fault) error {
	if len(found) == 0 {
		return nil
	}
	found = slices.Clone(found)
	slices.SortStableFunc(found, func(a, b strict.Fault) int {
		aSet, bSet := setOf(a.Line), setOf(b.Line)
		if aSet != bSet {
			return cmp.Compare(aSet, bSet)
		}
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	lines := make([]string, len(found))
	for i, f := range found {
		lines[i] = s.line(f)
	}
	return &Faults{slices.Compact(lines)}
}

func (s source) line(f strict.Fault) string {
	i := setOf(f.Line)
	switch {
	case i == 0 && f.Line > baseLines:
		f.Line -= baseLines
		return fmt.Sprintf("%s:%s", s.base, f)
	case i == 0:
		return fmt.Sprintf("%s:%s", s.file, f)
	}
	set := s.sets[i-1]
	if key, _, _ := strings.Cut(set, "="); key == f.Path {
		f.Path = ""
	}
	return fmt.Sprintf("--set %s: %s", shown(set), f.Text())
}

var (
	secretKey = regexp.MustCompile(`(?i)api_?key|access_?key|secret|passw|credential|auth_?token|bearer`)
	userInfo  = regexp.MustCompile(`//[^/\s]*@`)
	// secretPair is a variable or a flag inside a value that could be a secret's.
	secretPair = regexp.MustCompile(`(?i)((?:token|key|secret|passw|credential|bearer|pwd)[a-z_]*["']?[=:,\s]\s*)[^\s,\]}]+`)
)

// shown is an override without what could be a secret in it.
func shown(set string) string {
	set = strings.Map(printable, set)
	key, value, ok := strings.Cut(set, "=")
	if ok && secretKey.MatchString(key) {
		value = "..."
	}
	value = userInfo.ReplaceAllString(value, "//...@")
	value = secretPair.ReplaceAllString(value, "$1...")
	if ok {
		key += "="
	}
	if r := []rune(key + value); len(r) > 80 {
		return string(r[:80]) + "..."
	}
	return key + value
}

func printable(r rune) rune {
	if unicode.IsGraphic(r) {
		return r
	}
	return ' '
}
