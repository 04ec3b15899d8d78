package designer_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"floe/internal/designer"
	"floe/internal/experiment"
)

func custom(sections ...string) experiment.DesignerSpec {
	return experiment.DesignerSpec{Context: "custom", Details: "bookkeeping", Sections: sections}
}

func composed(t *testing.T, spec experiment.DesignerSpec, round int) string {
	t.Helper()
	c, err := designer.ContextOf(spec)
	if err != nil {
		t.Fatal(err)
	}
	_, prompt, err := designer.Compose(evidence(round), c)
	if err != nil {
		t.Fatal(err)
	}
	return prompt
}

// subsets are all lists of sections that a custom context can have, in one order.
func subsets() [][]string {
	all := designer.Sections()
	var out [][]string
	for bits := 1; bits < 1<<len(all); bits++ {
		var list []string
		for i, name := range all {
			if bits&(1<<i) != 0 {
				list = append(list, name)
			}
		}
		if !slices.Contains(list, "history") || !slices.Contains(list, "designed-history") {
			out = append(out, list)
		}
	}
	return out
}

// failures is what only the failure breakdown says.
var failures = []string{"Failures", "Failed checks", "cut off", "busy", "calm"}

func TestCustomContextsShowTheirSectionsAndNothingElse(t *testing.T) {
	table := []struct {
		section, head string
		only          []string // said by this section and no other
	}{
		{"failures", "## Failures", failures},
		{"guidelines", "## Guidelines", guidelines},
		{"history", "### Round 0", ofRound0},
		{"designed-history", "trained on a designed", []string{"trained on a designed"}},
		{"summary", "## Your last summary", summary},
		{"training", "## Training", bookkeeping},
	}
	for _, sections := range subsets() {
		for round := 1; round < 3; round++ {
			prompt := composed(t, custom(sections...), round)
			for _, of := range table {
				if slices.Contains(sections, of.section) {
					if !strings.Contains(prompt, of.head) {
						t.Errorf("%q after round %d does not show %s", sections, round, of.section)
					}
					continue
				}
				for _, word := range of.only {
					if holds(prompt, word) {
						t.Errorf("%q after round %d shows %q of %s", sections, round, word, of.section)
					}
				}
			}
		}
	}
}

func TestACustomPromptReadsAsItDid(t *testing.T) {
	spec := custom("training", "history", "guidelines")
	spec.Details, spec.Guidelines = "full", "- Change at most two sizes.\n- Say what you expect."
	golden(t, "custom-round1.md", composed(t, spec, 1))
}

func TestCustomSectionsStandInTheOrderListed(t *testing.T) {
	prompt := composed(t, custom("training", "failures", "guidelines"), 1)
	if a, b, c := strings.Index(prompt, "## Training"), strings.Index(prompt, "## Failures"), strings.Index(prompt, "## Guidelines"); a < 0 || b < a || c < b {
		t.Errorf("training at %d, failures at %d, guidelines at %d", a, b, c)
	}
}

func TestACustomContextThatListsAVariantIsThatVariant(t *testing.T) {
	for _, c := range designer.Contexts {
		for round := range 3 {
			if got, want := composed(t, custom(c.Sections...), round), compose(t, round, c.Name, "bookkeeping"); got != want {
				t.Errorf("round %d of %q differs from %s", round, c.Sections, c.Name)
			}
		}
	}
}

func TestOwnGuidelinesTakeThePlaceOfOurs(t *testing.T) {
	spec := custom("failures", "guidelines")
	spec.Guidelines = "Spend everything on {{.Shown}} 4x4.\n"
	got := composed(t, spec, 1)
	if !strings.Contains(got, "## Guidelines\n\nSpend everything on {{.Shown}} 4x4.\n\n## Your answer") {
		t.Errorf("the text is not shown as written:\n%s", got)
	}
	if strings.Contains(got, "mastered") {
		t.Error("ours are shown too")
	}
	spec.Context, spec.Sections = "V1", nil
	if strings.Contains(composed(t, spec, 1), "Spend everything") {
		t.Error("V1 shows guidelines")
	}
}

func TestACustomContextIsDesignedWith(t *testing.T) {
	spec := custom("guidelines", "training")
	spec.Kind = "test"
	d := &says{}
	got := design(t, d, spec, designer.Limits{})
	if got.Context != "custom" || len(got.Sections) != 2 || got.Sections[1].Name != "training" {
		t.Errorf("context %s, sections %+v", got.Context, got.Sections)
	}
	if s := d.asked.Shown; s.Failures != nil || s.History != nil || s.Summary != nil || s.Training == nil || s.Guidelines == nil {
		t.Errorf("shown %+v", s)
	}
}

func TestContextOfSaysAllThatIsWrong(t *testing.T) {
	known := "failures, guidelines, history, designed-history, summary, training"
	for name, c := range map[string]struct {
		spec  experiment.DesignerSpec
		wants []string
	}{
		"no such context": {experiment.DesignerSpec{Context: "V9", Details: "full"}, []string{`context "V9"; want one of V1, V2, V3, V4, V5, V6, custom`}},
		"no such depth":   {experiment.DesignerSpec{Context: "V6", Details: "deep"}, []string{`depth of training details "deep"; want bookkeeping or full`}},
		"no sections":     {custom(), []string{"context custom has no sections; want at least one of " + known}},
		"much":            {custom("failures", "hints", "failures"), []string{`section "hints"; want one of ` + known, "section failures a second time"}},
		"both histories":  {custom("history", "designed-history"), []string{"want one of them"}},
	} {
		_, err := designer.ContextOf(c.spec)
		for _, want := range c.wants {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v; want %q in it", name, err, want)
			}
		}
	}
}

// The file's enum, the rows and the kinds say the same.
func TestTheSpecKnowsAllContextsSectionsAndKinds(t *testing.T) {
	tag := func(field, key string) string {
		f, ok := reflect.TypeFor[experiment.DesignerSpec]().FieldByName(field)
		if !ok {
			t.Fatal(field)
		}
		return f.Tag.Get(key)
	}
	var contexts, kinds []string
	for _, c := range designer.Contexts {
		contexts = append(contexts, c.Name)
	}
	for _, k := range designer.Kinds {
		kinds = append(kinds, k.Name)
	}
	if got, want := tag("Context", "enum"), strings.Join(append(contexts, designer.CustomContext), "|"); got != want {
		t.Errorf("contexts %s; want %s", got, want)
	}
	if got := strings.Split(tag("Kind", "enum"), "|"); len(got) != len(kinds) || slices.ContainsFunc(kinds, func(k string) bool { return !slices.Contains(got, k) }) {
		t.Errorf("kinds %v; want %v", got, kinds)
	}
	if got, want := tag("Sections", "doc"), fmt.Sprintf("in order: %s.", strings.Join(designer.Sections(), ", ")); !strings.HasSuffix(got, want) {
		t.Errorf("doc %q; want %q", got, want)
	}
}
