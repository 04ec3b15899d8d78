package strict

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Digits writes a finite number so that Number reads the same one back, without
// an exponent where that is short.
func Digits(v float64) string {
	if a := math.Abs(v); a == 0 || (a >= 1e-6 && a < 1e15) {
		return strconv.FormatFloat(v+0, 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// safeText matches texts that every YAML reader takes for text without quotes,
// save for a few words.
var safeText = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_./-]*$`)

// TextNode writes a text so that Text reads the same one back, in quotes only
// where they are needed.
func TextNode(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Value: s}
	_, old := oldBools[strings.ToLower(s)]
	if old || !safeText.MatchString(s) || n.ShortTag() != "!!str" {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

// PlainNode writes a number or a word that needs no quotes.
func PlainNode(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: s} }

// Put appends a key and its value to a mapping.
func Put(mapping *yaml.Node, key string, value *yaml.Node) {
	mapping.Content = append(mapping.Content, TextNode(key), value)
}
