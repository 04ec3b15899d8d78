package strict

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// Range is an inclusive range. The open ends are infinite.
type Range struct{ Min, Max float64 }

// Any is the range of all numbers.
func Any() Range { return Range{math.Inf(-1), math.Inf(1)} }

// Holds says whether a number is in the range. NaN is not.
func (r Range) Holds(v float64) bool { return v >= r.Min && v <= r.Max }

// Of names a number in the range: "a whole number from 2 to 8".
func (r Range) Of(what string) string {
	lower, upper := !math.IsInf(r.Min, 0), !math.IsInf(r.Max, 0)
	switch {
	case lower && upper:
		return fmt.Sprintf("%s from %s to %s", what, Digits(r.Min), Digits(r.Max))
	case lower:
		return fmt.Sprintf("%s of at least %s", what, Digits(r.Min))
	case upper:
		return fmt.Sprintf("%s of at most %s", what, Digits(r.Max))
	default:
		return what
	}
}

var (
	wholeNumber   = regexp.MustCompile(`^(0|-?[1-9][0-9]*)$`)
	zeroNumber    = regexp.MustCompile(`^[-+.0]*([eE].*)?$`)
	decimalNumber = regexp.MustCompile(`^[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)
)

// Int reads a whole number in decimal digits.
func (r *Reader) Int(n *yaml.Node, path string, in Range) (int64, bool) {
	if !r.alone(n, path) {
		return 0, false
	}
	want := in.Of("a whole number")
	if !plain(n) || !wholeNumber.MatchString(n.Value) {
		r.Refuse(n, path, want+numberHint(n))
		return 0, false
	}
	v, err := strconv.ParseInt(n.Value, 10, 64)
	if err != nil && math.IsInf(in.Max, 1) && n.Value[0] != '-' {
		want += fmt.Sprintf(" and at most %d", math.MaxInt64)
	}
	if err != nil || !in.Holds(float64(v)) {
		r.Refuse(n, path, want)
		return 0, false
	}
	return v, true
}

// Number reads a finite decimal number.
func (r *Reader) Number(n *yaml.Node, path string, in Range) (float64, bool) {
	if !r.alone(n, path) {
		return 0, false
	}
	want := in.Of("a number")
	if !plain(n) || !decimalNumber.MatchString(n.Value) {
		r.Refuse(n, path, want+numberHint(n))
		return 0, false
	}
	v, err := strconv.ParseFloat(n.Value, 64)
	if err == nil && v == 0 && !zeroNumber.MatchString(n.Value) {
		r.Refuse(n, path, want+" (so small a number would be read as 0)")
		return 0, false
	}
	if err != nil || !in.Holds(v) {
		r.Refuse(n, path, want)
		return 0, false
	}
	return v + 0, true // -0 becomes 0, so that equal values have equal texts
}

// numberHint says how a number would have to be written.
func numberHint(n *yaml.Node) string {
	switch s := n.Value; {
	case n.Kind != yaml.ScalarNode:
		return ""
	case !plain(n) && decimalNumber.MatchString(s):
		return " (without quotes)"
	case strings.HasSuffix(s, "%") && decimalNumber.MatchString(s[:len(s)-1]):
		v, _ := strconv.ParseFloat(s[:len(s)-1], 64) // the pattern has checked it
		return fmt.Sprintf(" (write %s)", Digits(v/100))
	case n.ShortTag() != "!!int" && n.ShortTag() != "!!float":
		return ""
	case strings.Contains(s, "_"):
		return " (without underscores)"
	case !decimalNumber.MatchString(s) && strings.TrimLeft(s, "-+.0123456789") == "":
		return " (without leading zeros)"
	case strings.TrimLeft(s, "-+0123456789") != "" && !strings.ContainsAny(s, ".eE"):
		return " (in decimal digits)"
	default:
		return wholeHint(s)
	}
}

// wholeHint writes out a whole number that was written as a fraction.
func wholeHint(s string) string {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || v != math.Trunc(v) || math.Abs(v) > 1e15 {
		return ""
	}
	return fmt.Sprintf(" (write %.0f)", v+0)
}

// oldBools are words that YAML 1.1 reads as true or false, and YAML 1.2 as text.
var oldBools = map[string]bool{"y": true, "yes": true, "on": true, "n": false, "no": false, "off": false}

// Bool reads true or false.
func (r *Reader) Bool(n *yaml.Node, path string) (value, ok bool) {
	if !r.alone(n, path) {
		return false, false
	}
	if plain(n) && (n.Value == "true" || n.Value == "false") {
		return n.Value == "true", true
	}
	want := "true or false"
	if v, old := oldBools[strings.ToLower(n.Value)]; old && n.Kind == yaml.ScalarNode {
		want += fmt.Sprintf(" (write %t)", v)
	}
	r.Refuse(n, path, want)
	return false, false
}

// Text reads a string of at most most characters that can be printed. Without
// quotes it must be one that no YAML reader takes for something else.
func (r *Reader) Text(n *yaml.Node, path, want string, most int) (string, bool) {
	return r.text(n, path, want, most, unicode.IsGraphic)
}

// Lines reads a text as Text does, but one that may have several lines.
func (r *Reader) Lines(n *yaml.Node, path, want string, most int) (string, bool) {
	return r.text(n, path, want, most, func(c rune) bool { return c == '\n' || c == '\t' || unicode.IsGraphic(c) })
}

func (r *Reader) text(n *yaml.Node, path, want string, most int, printable func(rune) bool) (string, bool) {
	if !r.alone(n, path) {
		return "", false
	}
	_, old := oldBools[strings.ToLower(n.Value)]
	switch {
	case n.Kind != yaml.ScalarNode || n.Value == "":
		r.Refuse(n, path, want)
	case plain(n) && old:
		r.Refuse(n, path, want+" (in quotes: some YAML readers take it for true or false)")
	case plain(n) && n.ShortTag() == "!!null":
		r.Refuse(n, path, want)
	case plain(n) && n.ShortTag() != "!!str":
		r.Refuse(n, path, want+" (in quotes)")
	case utf8.RuneCountInString(n.Value) > most:
		r.Add(n, path, "found %d characters; want at most %d", utf8.RuneCountInString(n.Value), most)
	case strings.ContainsFunc(n.Value, func(c rune) bool { return !printable(c) }):
		r.Add(n, path, "found %s with characters that cannot be printed; want %s", quote(n.Value), want)
	default:
		return n.Value, true
	}
	return "", false
}

// Choice reads one of a few words.
func (r *Reader) Choice(n *yaml.Node, path string, words []string) (string, bool) {
	if plain(n) && n.Value != "" && !slices.Contains(words, n.Value) {
		if near, ok := Nearest(n.Value, words); ok {
			r.Add(n, path, "found %s; did you mean %s? want %s", Describe(n), near, OneOf(words))
			return "", false
		}
	}
	s, ok := r.Text(n, path, OneOf(words), 200)
	if ok && !slices.Contains(words, s) {
		r.Refuse(n, path, OneOf(words))
		return "", false
	}
	return s, ok
}
