package strict_test

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"floe/internal/config/strict"
)

// value parses one value of a list, so that its text stands as it is written.
func value(t *testing.T, text string) *yaml.Node {
	t.Helper()
	n, faults := strict.Parse([]byte("- " + text))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return n.Content[0]
}

func TestNumberReadsDecimalsOnly(t *testing.T) {
	for text, want := range map[string]float64{
		"0": 0, "-0": 0, "3": 3, "+3": 3, "0.5": 0.5, ".5": 0.5, "5.": 5, "-0.25": -0.25, "1e3": 1000, "2.5E-3": 0.0025, "0e-400": 0, "-0.0e5": 0, "5e-324": 5e-324,
	} {
		var r strict.Reader
		got, ok := r.Number(value(t, text), "", strict.Any())
		if !ok || got != want || math.Signbit(got) != (want < 0) {
			t.Errorf("%s: got %v, %v; want %v", text, got, r.Faults, want)
		}
	}
	for _, text := range []string{
		"010", "-00", "1_0", "0x1p3", "0b1", ".nan", ".inf", "-.Inf", "inf", "NaN", "1e999", "1e-400", "-1e-400", "0.0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000001", "1,5", "1/3", "'1'", "1k", "~", "true", "[1]", "{}", "!!float 1", "&a 1", ".", "e3", "1:30",
	} {
		var r strict.Reader
		if v, ok := r.Number(value(t, text), "", strict.Any()); ok || len(r.Faults) != 1 {
			t.Errorf("%s was read as %v, %v", text, v, r.Faults)
		}
	}
}

func TestDigitsAreReadBackTheSame(t *testing.T) {
	for _, v := range []float64{0, math.Copysign(0, -1), 1, 0.1, 1.0 / 3, -2.5e-7, 1e15, 1e300, math.SmallestNonzeroFloat64, math.MaxFloat64} {
		var r strict.Reader
		if got, ok := r.Number(value(t, strict.Digits(v)), "", strict.Any()); !ok || got != v {
			t.Errorf("%v was written %s and read as %v, %v", v, strict.Digits(v), got, r.Faults)
		}
	}
}

func TestTextNodesAreReadBackTheSame(t *testing.T) {
	for _, s := range []string{
		"lake", "3x3", "no", "ON", "y", "12", "0x1f", "1_000", "1e3", "1.5", "~", "null", "true", "2026-11-29", ".inf", "<<", "-", "- a", "a: b", "a #b",
		"*a", "&a", "!a", "'", "\"", "\\n", "%", "@", "`", "\u00e9", " a ", "a/b.c-d_e", "=",
	} {
		body, err := yaml.Marshal(&yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{strict.TextNode(s)}})
		if err != nil {
			t.Fatal(err)
		}
		var r strict.Reader
		n, _ := strict.Parse(body)
		if got, ok := r.Text(n.Content[0], "", "a text", 100); !ok || got != s {
			t.Errorf("%q was written %q and read as %q, %v", s, body, got, r.Faults)
		}
	}
}

func TestRangeNamesItself(t *testing.T) {
	inf := math.Inf(1)
	for want, in := range map[string]strict.Range{
		"a number": strict.Any(), "a number from -1 to 0.5": {Min: -1, Max: 0.5}, "a number of at least 2": {Min: 2, Max: inf}, "a number of at most 1000000": {Min: -inf, Max: 1e6},
	} {
		if got := in.Of("a number"); got != want {
			t.Errorf("got %q; want %q", got, want)
		}
	}
	if strict.Any().Holds(math.NaN()) {
		t.Error("NaN is in a range")
	}
}

func TestNearestIsTheWordThatWasMeant(t *testing.T) {
	words := []string{"rollouts", "batch", "kl", "learning_rate", "kind"}
	for word, want := range map[string]string{
		"rolouts": "rollouts", "rollotus": "rollouts", "Batch": "batch", "KL": "kl", "lr": "", "k": "kl", "learningrate": "learning_rate",
		"learning-rate": "learning_rate", "epochs": "", "": "", strings.Repeat("x", 1e6): "", "kin": "kind",
	} {
		if got, ok := strict.Nearest(word, words); got != want || ok != (want != "") {
			t.Errorf("%.20q: got %q; want %q", word, got, want)
		}
	}
}

func TestFaultsAreSortedByPlace(t *testing.T) {
	faults := []strict.Fault{{Line: 2, Column: 1, Message: "c"}, {Line: 1, Column: 9, Message: "a"}, {Line: 1, Column: 9, Message: "b"}}
	strict.Sort(faults)
	var got []string
	for _, f := range faults {
		got = append(got, f.String())
	}
	if want := []string{"1:9: a", "1:9: b", "2:1: c"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %q; want %q", got, want)
	}
}

// The parser names the line in which the enclosing block began, or the end of
// the file; a person looks for the line that broke it.
func TestSyntaxErrorsHaveTheLineThatBroke(t *testing.T) {
	head := strings.Repeat("a: 1\n", 200)
	head = strings.ReplaceAll(head, "a", "- b") // 200 entries that parse
	for _, c := range []struct{ name, src, want string }{
		{"in the first line", "]", "1:1: not YAML: did not find expected node content"},
		{"a quote that never ends", "a: 1\nb:\n  c: 'x\n  d: y\n", "3:3: not YAML: found unexpected end of stream"},
		{"a block that dips", "a:\n    b: 1\n  c: 2\n", "3:3: not YAML: did not find expected key"},
		{"far down", head + "b: [\n", "201:1: not YAML: did not find expected '-' indicator"},
		{"beyond the search", strings.Repeat("- 1\n", 500) + "b: 1\n", "500:1: not YAML: did not find expected '-' indicator"},
		{"a control character", "a: 1\nb: \x01\n", "2:1: not YAML: control characters are not allowed"},
		{"behind the document", "a: 1\n...\n]\n", "3:1: not YAML: did not find expected <document start>"},
	} {
		_, faults := strict.Parse([]byte(c.src))
		if len(faults) != 1 || faults[0].String() != c.want {
			t.Errorf("%s: got %v; want %s", c.name, faults, c.want)
		}
	}
}
