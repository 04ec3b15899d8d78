package designer_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"floe/internal/designer"
	"floe/internal/experiment"
)

func inForce() experiment.Curriculum {
	return mix(row("3x3", 0.5, 0.1, 0.2), row("4x4", 0.3, 0.2, 0.3), row("10x10", 0.2, 0.3, 0.4))
}

// wanted is what most good replies below ask for.
func wanted() experiment.Curriculum {
	return mix(row("3x3", 0.2, 0.15, 0.25), row("4x4", 0.5, 0.1, 0.2), row("10x10", 0.3, 0.05, 0.1))
}

const body = `rationale: >-
  4x4 is at even odds,
  so it gets more.
sizes:
  3x3: {data_ratio: 0.2, hole_ratio: 0.15, wait_ratio: 0.25}
  4x4: {data_ratio: 0.5, hole_ratio: 0.1, wait_ratio: 0.2}
  10x10: {data_ratio: 0.3, hole_ratio: 0.05, wait_ratio: 0.1}
`

const asJSON = `{
	"rationale": "4x4 is at even odds, so it gets more.",
	"sizes": {
		"3x3": {"data_ratio": 0.20, "hole_ratio": 0.15, "wait_ratio": 0.25},
		"4x4": {"data_ratio": 5e-1, "hole_ratio": 0.1, "wait_ratio": 0.2},
		"10x10": {"data_ratio": 0.3, "hole_ratio": 0.05, "wait_ratio": 0.1}
	}
}`

func block(text string) string { return "```yaml\n" + text + "```" }

func edit(old, new string) string { return strings.Replace(body, old, new, 1) }

func read(reply string) designer.Reading {
	return designer.NewReader(pond(), inForce(), designer.MissingKeep).Read(reply, "stop")
}

func TestReadTakesWhatModelsWrite(t *testing.T) {
	other := block(strings.ReplaceAll(body, "0.15", "0.35"))
	present := "```yaml\n" + `sizes:
  3x3: {data_ratio: 0.5, hole_ratio: 0.1, wait_ratio: 0.2}
  4x4: {data_ratio: 0.3, hole_ratio: 0.2, wait_ratio: 0.3}
  10x10: {data_ratio: 0.2, hole_ratio: 0.3, wait_ratio: 0.4}
` + "```"
	for name, reply := range map[string]string{
		"fenced":                 block(body),
		"fenced in talk":         "Here it is:\n\n" + block(body) + "\n\nGood luck!",
		"fence without language": "```\n" + body + "```",
		"fence with tildes":      "~~~yml\n" + body + "~~~",
		"fence with a title":     "```yaml title=\"next\"\n" + body + "```",
		"fence in a list":        "1. The answer:\n   ```yaml\n   " + strings.ReplaceAll(strings.TrimSpace(body), "\n", "\n   ") + "\n   ```",
		"fence never closed":     "```yaml\n" + body,
		"windows line ends":      strings.ReplaceAll(block(body), "\n", "\r\n"),
		"bare":                   body,
		"bare after talk":        "The numbers say this.\n\n" + body,
		"bare before talk":       body + "\nThis should help the policy a lot.\nI hope so.",
		"JSON":                   asJSON,
		"JSON in a fence":        "```json\n" + asJSON + "\n```",
		"JSON in talk":           "Sure.\n" + asJSON + "\nThat is all {really}.",
		"JSON twice the same":    asJSON + "\n" + asJSON,
		"thought about":          "<think>\n" + other + "\nNo, rather:\n</think>\n" + block(body),
		"thought twice":          "</think>" + other + "<think>hm</think>" + block(body),
		"present quoted first":   "Now it is\n" + present + "\nand should become\n" + block(body),
		"the same twice":         block(body) + "\nSo:\n" + block(body),
		"another language first": "```python\nsizes = {}\n```\n" + block(body),
		"talk in a fence after":  block(body) + "\n```\nthe end\n```",
		"sizes as numbers":       block(strings.NewReplacer("3x3:", "3:", "4x4:", "4:", "10x10:", "10:").Replace(body)),
		"sizes with a cross":     block(strings.NewReplacer("3x3:", `"3×3":`, "4x4:", "4 X 4:", "10x10:", "'10*10':").Replace(body)),
		"quoted numbers":         block(strings.ReplaceAll(body, "0.15", `"0.15"`)),
		"numbers short and long": block(strings.NewReplacer("0.15", ".15", "0.5", "+0.50", "0.3,", "3e-1,").Replace(body)),
		"comments":               block(strings.ReplaceAll(body, "sizes:", "sizes: # all of them")),
		"block style": block(`rationale: "4x4 is at even odds, so it gets more."
sizes:
  3x3:
    data_ratio: 0.2
    hole_ratio: 0.15
    wait_ratio: 0.25
  4x4:
    data_ratio: 0.5
    hole_ratio: 0.1
    wait_ratio: 0.2
  10x10:
    data_ratio: 0.3
    hole_ratio: 0.05
    wait_ratio: 0.1
`),
		"sizes at the top level": block(`rationale: 4x4 is at even odds, so it gets more.
3x3: {data_ratio: 0.2, hole_ratio: 0.15, wait_ratio: 0.25}
4x4: {data_ratio: 0.5, hole_ratio: 0.1, wait_ratio: 0.2}
10x10: {data_ratio: 0.3, hole_ratio: 0.05, wait_ratio: 0.1}
`),
	} {
		got := read(reply)
		if got.Class != designer.ClassOK || got.Fault != "" {
			t.Errorf("%s: class %s, fault %q; want ok\n%s", name, got.Class, got.Fault, reply)
			continue
		}
		if d := distance(got.Asked, wanted()); d > 1e-12 {
			t.Errorf("%s: asked %+v; want %+v", name, got.Asked, wanted())
		}
		if got.Rationale != "4x4 is at even odds, so it gets more." {
			t.Errorf("%s: rationale %q", name, got.Rationale)
		}
	}
}

// distance is the largest difference of two complete curricula.
func distance(a, b experiment.Curriculum) float64 {
	if len(a.Rows) != len(b.Rows) {
		return math.Inf(1)
	}
	d := 0.0
	for i, r := range a.Rows {
		if r.Size != b.Rows[i].Size || len(r.Knobs) != len(b.Rows[i].Knobs) {
			return math.Inf(1)
		}
		d = max(d, math.Abs(r.DataRatio-b.Rows[i].DataRatio))
		for j, k := range r.Knobs {
			d = max(d, math.Abs(k.Value-b.Rows[i].Knobs[j].Value))
		}
	}
	return d
}

func TestReadMendsForm(t *testing.T) {
	percent := strings.NewReplacer("0.15", "15%", "0.25", "25 %", "0.05", "5%", "0.2,", "20%,", "0.5", "50%", "0.1,", "10%,", "0.2}", "20%}", "0.3", "30%", "0.1}", "10%}").Replace(body)
	for name, c := range map[string]struct{ reply, note string }{
		"percent signs": {percent, "percent signs"},
		"sum of 0.98":   {edit("data_ratio: 0.2,", "data_ratio: 0.18,"), "summed to 0.98"},
		"sum of 1.02":   {edit("data_ratio: 0.3,", "data_ratio: 0.32,"), "summed to 1.02"},
		"sum of 100":    {strings.NewReplacer("data_ratio: 0.2", "data_ratio: 20", "data_ratio: 0.5", "data_ratio: 50", "data_ratio: 0.3", "data_ratio: 30").Replace(body), "about 100"},
	} {
		got := read(block(c.reply))
		if got.Class != designer.ClassNormalised || !strings.Contains(strings.Join(got.Notes, "; "), c.note) {
			t.Errorf("%s: class %s, notes %q, fault %q; want normalised and %q", name, got.Class, got.Notes, got.Fault, c.note)
			continue
		}
		if d := distance(got.Asked, wanted()); d > 0.02 {
			t.Errorf("%s: asked %+v", name, got.Asked)
		}
		sum := 0.0
		for _, r := range got.Asked.Rows {
			sum += r.DataRatio
		}
		if math.Abs(sum-1) > 1e-9 {
			t.Errorf("%s: shares sum to %v", name, sum)
		}
	}
}

func TestWhatIsLeftOutStays(t *testing.T) {
	for name, c := range map[string]struct {
		sizes string
		want  experiment.Curriculum
	}{
		"a size, with its samples": {
			"  3x3: {data_ratio: 0.4, hole_ratio: 0, wait_ratio: 0}\n  4x4: {data_ratio: 0.4, hole_ratio: 0, wait_ratio: 0}\n",
			mix(row("3x3", 0.4, 0, 0), row("4x4", 0.4, 0, 0), row("10x10", 0.2, 0.3, 0.4)),
		},
		"a size, without samples when the others have all": {
			"  3x3: {data_ratio: 0.6, hole_ratio: 0, wait_ratio: 0}\n  4x4: {data_ratio: 0.4, hole_ratio: 0, wait_ratio: 0}\n",
			mix(row("3x3", 0.6, 0, 0), row("4x4", 0.4, 0, 0), row("10x10", 0, 0.3, 0.4)),
		},
		"knobs and shares": {
			"  3x3: {hole_ratio: 0.5}\n  4x4: {data_ratio: 0.3}\n",
			mix(row("3x3", 0.5, 0.5, 0.2), row("4x4", 0.3, 0.2, 0.3), row("10x10", 0.2, 0.3, 0.4)),
		},
	} {
		got := read(block("rationale: because\nsizes:\n" + c.sizes))
		if got.Class != designer.ClassOK || distance(got.Asked, c.want) > 1e-12 {
			t.Errorf("%s: class %s, fault %q, asked %+v; want %+v", name, got.Class, got.Fault, got.Asked, c.want)
		}
		if len(got.Notes) == 0 {
			t.Errorf("%s: no note says so", name)
		}
	}
}

func TestAValueBeyondTheEnvironmentIsLegalInForm(t *testing.T) {
	if got := read(block(edit("0.15", "0.7"))); got.Class != designer.ClassOK || got.Asked.Rows[0].Knobs[0].Value != 0.7 {
		t.Errorf("class %s, asked %+v; want the 0.7 for the projection to bring back", got.Class, got.Asked)
	}
}

func TestReadRefusesByClass(t *testing.T) {
	other := block(strings.ReplaceAll(body, "0.15", "0.35"))
	for _, c := range []struct {
		name, reply, finish string
		class               designer.Class
		fault               string
	}{
		{"nothing", "", "stop", designer.ClassEmpty, "the answer is empty"},
		{"only thinking", "<think>so</think>\n ", "stop", designer.ClassEmpty, "empty"},
		{"endless thinking", "<think>so", "stop", designer.ClassEmpty, "empty"},
		{"an empty block", "```yaml\n```", "stop", designer.ClassEmpty, "the block is empty"},
		{"cut off", block(body), "length", designer.ClassTruncated, "token limit"},
		{"filtered", "", "content_filter", designer.ClassDeclined, "content_filter"},
		{"refused", "No.", "refusal", designer.ClassDeclined, "refusal"},
		{"sorry", "I’m sorry, but I can’t help with that.", "stop", designer.ClassDeclined, "sorry"},
		{"prose", "More samples for the middle sizes, I think.", "stop", designer.ClassNoBlock, `it begins "More samples`},
		{"code", "```python\nsizes = {}\n```", "stop", designer.ClassNoBlock, "no YAML block"},
		{"colon in plain text", block(edit(">-\n  4x4 is", "note: this")), "stop", designer.ClassNotYAML, "mapping values are not allowed"},
		{"tabs", "```yaml\nsizes:\n\t3x3: 1\n```", "stop", designer.ClassNotYAML, "not YAML"},
		{"huge", block(body + "# " + strings.Repeat("x", 1<<17) + "\n"), "stop", designer.ClassNotYAML, "want at most 16384"},
		{"endless", strings.Repeat("word ", 1<<17), "stop", designer.ClassNotYAML, "want at most 262144"},
		{"a list", "```yaml\n- sizes\n```", "stop", designer.ClassWrongKeys, "is a list; want the keys"},
		{"a list of sizes", block("sizes:\n- {size: 3x3, data_ratio: 1}\n"), "stop", designer.ClassWrongKeys, "sizes is a list"},
		{"no sizes", block("rationale: nothing to change\n"), "stop", designer.ClassWrongKeys, "there is no key sizes"},
		{"no size", block("sizes: {}\n"), "stop", designer.ClassWrongKeys, "sizes is empty"},
		{"an unknown key", block(body + "notes: none\n"), "stop", designer.ClassWrongKeys, `unknown key "notes"`},
		{"a bare unknown key", body + "notes: none\n", "stop", designer.ClassWrongKeys, `unknown key "notes"`},
		{"a capital", block(edit("sizes:", "Sizes:")), "stop", designer.ClassWrongKeys, `unknown key "Sizes"`},
		{"an unknown size", block(edit("10x10", "11x11")), "stop", designer.ClassWrongKeys, `unknown size "11x11"; want one of 3x3, 4x4, 10x10`},
		{"an unknown knob", block(edit("hole_ratio", "holes")), "stop", designer.ClassWrongKeys, `3x3 has unknown key "holes"; want data_ratio, hole_ratio, wait_ratio`},
		{"a bare number", block("sizes: {3x3: 0.5}\n"), "stop", designer.ClassWrongKeys, `3x3 is "0.5"; want the keys`},
		{"an alias", block("sizes: {3x3: &a {data_ratio: 0.5}, 4x4: *a}\n"), "stop", designer.ClassWrongKeys, "4x4 is an alias"},
		{"a rationale in parts", block("rationale: [a, b]\n" + body[strings.Index(body, "sizes"):]), "stop", designer.ClassWrongKeys, "rationale is a list; want text"},
		{"the placeholder", block(edit("0.15", "<number>")), "stop", designer.ClassNotNumber, `hole_ratio of 3x3 is "<number>"; want a decimal number`},
		{"NaN", block(edit("0.15", ".nan")), "stop", designer.ClassNotNumber, `".nan"`},
		{"infinity", block(edit("0.15", ".inf")), "stop", designer.ClassNotNumber, `".inf"`},
		{"too large to be", block(edit("0.15", "1e999")), "stop", designer.ClassNotNumber, `"1e999"`},
		{"octal", block(edit("0.15", "010")), "stop", designer.ClassNotNumber, `"010"`},
		{"hexadecimal", block(edit("0.15", "0x1")), "stop", designer.ClassNotNumber, `"0x1"`},
		{"underscores", block(edit("0.15", "0.1_5")), "stop", designer.ClassNotNumber, `"0.1_5"`},
		{"a fraction", block(edit("0.15", "1/3")), "stop", designer.ClassNotNumber, `"1/3"`},
		{"a comma", block(edit("0.15", `"0,15"`)), "stop", designer.ClassNotNumber, `"0,15"`},
		{"null", block(edit("0.15", "~")), "stop", designer.ClassNotNumber, "is empty"},
		{"nothing there", block(edit("0.15", "")), "stop", designer.ClassNotNumber, "is empty"},
		{"a tag", block(edit("0.15", `!!float "0.15"`)), "stop", designer.ClassNotNumber, "want a decimal"},
		{"negative", block(edit("0.15", "-0.1")), "stop", designer.ClassOutOfRange, "hole_ratio of 3x3 is -0.1; want 0 to 1"},
		{"above one", block(edit("0.15", "15")), "stop", designer.ClassOutOfRange, "hole_ratio of 3x3 is 15; want 0 to 1"},
		{"half", block(edit("data_ratio: 0.5", "data_ratio: 0.0")), "stop", designer.ClassBadSum, "data_ratio sums to 0.5 over all sizes; want 1"},
		{"a sum of 0.97", block(edit("data_ratio: 0.2", "data_ratio: 0.17")), "stop", designer.ClassBadSum, "0.97"},
		{"left out in doubt", block("sizes: {3x3: {data_ratio: 0.9}}\n"), "stop", designer.ClassBadSum, "the sizes left out have 0.5 now"},
		{"a size twice", block(edit("4x4:", "3x3:")), "stop", designer.ClassDuplicate, `key "3x3" stands twice in sizes`},
		{"a size in two spellings", block(edit("4x4:", "3:")), "stop", designer.ClassDuplicate, "size 3x3 stands twice"},
		{"a key twice", block(edit("hole_ratio: 0.15", "data_ratio: 0.15")), "stop", designer.ClassDuplicate, `key "data_ratio" stands twice in 3x3`},
		{"two answers", other + "\nor\n" + block(body), "stop", designer.ClassAmbiguous, "two different curricula"},
		{"two JSON answers", asJSON + "\n" + strings.ReplaceAll(asJSON, "0.15", "0.35"), "stop", designer.ClassAmbiguous, "two different curricula"},
		{"two documents", block(body + "---\n" + body), "stop", designer.ClassAmbiguous, "two YAML documents"},
		{"some percent signs", block(edit("0.15", "15%")), "stop", designer.ClassAmbiguous, "1 numbers have a percent sign and 8 have none"},
		{"a broken last answer", block(body) + "\nOr better:\n" + block(edit("0.15", "many")), "stop", designer.ClassNotNumber, `"many"`},
	} {
		got := designer.NewReader(pond(), inForce(), designer.MissingKeep).Read(c.reply, c.finish)
		if got.Class != c.class || !strings.Contains(got.Fault, c.fault) {
			t.Errorf("%s: class %s, fault %q; want %s, %q", c.name, got.Class, got.Fault, c.class, c.fault)
		}
		if len(got.Asked.Rows) != 0 {
			t.Errorf("%s: refused, yet asks for %+v", c.name, got.Asked)
		}
	}
}

func TestAllFaultsAreNamedAtOnce(t *testing.T) {
	got := read(block(strings.NewReplacer("0.15", "much", "10x10", "12x12", "rationale", "reason").Replace(body)))
	for _, want := range []string{`unknown key "reason"`, `"much"`, `unknown size "12x12"`} {
		if !strings.Contains(got.Fault, want) {
			t.Errorf("fault %q does not name %s", got.Fault, want)
		}
	}
	var many strings.Builder
	for i := range 50 {
		fmt.Fprintf(&many, "  s%d: {}\n", i)
	}
	if got := read(block("sizes:\n" + many.String())); !strings.HasSuffix(got.Fault, "and 42 more") {
		t.Errorf("fault %q", got.Fault)
	}
}

func TestReadKeepsItsHandsOffThePresent(t *testing.T) {
	present := inForce()
	r := designer.NewReader(pond(), present, designer.MissingKeep)
	present.Rows[0].DataRatio = 7
	if got := r.Read(block("sizes: {4x4: {data_ratio: 0.3}}\n"), "stop"); got.Class != designer.ClassOK || got.Asked.Rows[0].DataRatio != 0.5 {
		t.Errorf("class %s, fault %q, asked %+v", got.Class, got.Fault, got.Asked)
	}
}
