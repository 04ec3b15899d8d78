package report_test

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"floe/internal/experiment"
	"floe/internal/report"
)

func htmlOf(t *testing.T, r experiment.Results) string {
	t.Helper()
	var b bytes.Buffer
	if err := report.HTML(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// void elements have no end tag.
var void = []string{"meta", "link", "br", "hr", "img", "input"}

// wellFormed checks that every element is closed where it should be: a parser
// for browsers would repair that in silence.
func wellFormed(t *testing.T, page string) {
	t.Helper()
	var open []string
	z := html.NewTokenizer(strings.NewReader(page))
	for {
		switch z.Next() {
		case html.ErrorToken:
			if len(open) > 0 {
				t.Errorf("never closed: %v", open)
			}
			return
		case html.StartTagToken:
			if name, _ := z.TagName(); !slices.Contains(void, string(name)) {
				open = append(open, string(name))
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			if len(open) == 0 || open[len(open)-1] != string(name) {
				t.Fatalf("</%s> closes nothing; open: %v", name, open)
			}
			open = open[:len(open)-1]
		default: // text and comments open nothing
		}
	}
}

// each calls f for every element of the page.
func each(t *testing.T, page string, f func(n *html.Node)) {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for n := range doc.Descendants() {
		if n.Type == html.ElementNode {
			f(n)
		}
	}
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// selfContained checks that a page runs nothing and loads nothing.
func selfContained(t *testing.T, page string) {
	t.Helper()
	each(t, page, func(n *html.Node) {
		if slices.Contains([]string{"script", "link", "img", "iframe", "object", "embed", "base", "form", "foreignobject", "use", "image"}, strings.ToLower(n.Data)) {
			t.Errorf("page holds <%s>", n.Data)
		}
		for _, a := range n.Attr {
			switch {
			case strings.HasPrefix(a.Key, "on") || a.Key == "style" || a.Key == "src" || a.Key == "srcset":
				t.Errorf("<%s> has the attribute %s=%q", n.Data, a.Key, a.Val)
			case a.Key == "href" && !strings.HasPrefix(a.Val, "#"):
				t.Errorf("<%s> leads to %q", n.Data, a.Val)
			}
		}
		if n.Data == "style" && (strings.Contains(n.FirstChild.Data, "url(") || strings.Contains(n.FirstChild.Data, "@import")) {
			t.Error("the style sheet loads something")
		}
	})
}

// accessible checks that ids are unique, that references find them, and that
// every image says what it shows or is hidden as an illustration.
func accessible(t *testing.T, page string) {
	t.Helper()
	ids := make(map[string]bool)
	each(t, page, func(n *html.Node) {
		if id := attr(n, "id"); id != "" {
			if ids[id] {
				t.Errorf("id %q is used twice", id)
			}
			ids[id] = true
		}
	})
	each(t, page, func(n *html.Node) {
		refs := strings.Fields(attr(n, "aria-labelledby"))
		if href := attr(n, "href"); strings.HasPrefix(href, "#") {
			refs = append(refs, href[1:])
		}
		for _, ref := range refs {
			if !ids[ref] {
				t.Errorf("<%s> refers to %q, which is not on the page", n.Data, ref)
			}
		}
		if n.Data == "svg" && attr(n, "aria-hidden") != "true" && (attr(n, "role") != "img" || len(refs) != 2) {
			t.Error("an image has neither title and description nor is it hidden")
		}
	})
}

func TestPageIsWellFormedAndSelfContained(t *testing.T) {
	pages := partials()
	pages["whole"] = fixture()
	for name, r := range pages {
		t.Run(name, func(t *testing.T) {
			page := htmlOf(t, r)
			wellFormed(t, page)
			selfContained(t, page)
			accessible(t, page)
			for _, bad := range []string{"http://", "https://", "NaN", "Inf", "%!", "ZgotmplZ"} {
				if strings.Contains(page, bad) {
					t.Errorf("page holds %q", bad)
				}
			}
		})
	}
}

// hostile is a name that tries to leave every context it may stand in.
const hostile = `"'><script>alert(1)</script><img src=x onerror=alert(1)></title></style></pre></textarea>]]><!--${7*7}{{.}}` + "\x00\xff"

func TestHostileTextStaysText(t *testing.T) {
	r := fixture()
	r.Name, r.State, r.Spec.Environment = hostile, hostile, hostile
	r.Spec.Designer = experiment.DesignerSpec{Kind: hostile, Model: hostile, Context: hostile}
	r.Provenance = experiment.Provenance{Version: hostile, Commit: hostile, Host: hostile, WorkflowID: hostile, Modules: []string{hostile}}
	r.Base.Checks = slices.Clone(r.Base.Checks)
	r.Base.Checks[0], r.Base.Cells[0].Size, r.Base.Cells[1].Group = hostile, hostile, hostile
	round := &r.Rounds[0]
	round.Curriculum.Rows[0].Size, round.Curriculum.Rows[1].Knobs[0].Name = hostile, hostile
	round.Conformance.Rows[0].Size, round.Conformance.Rows[0].Knobs[0].Name = hostile, hostile
	round.Training.Trainer = hostile
	round.Steps[0] = experiment.StepRef{Step: hostile, ID: experiment.StepID{Kind: hostile, Key: hostile}}
	round.Transcript.Rationale, round.Transcript.Outcome = hostile, hostile
	round.Transcript.Repairs = []string{hostile}
	round.Transcript.Sections = []experiment.Section{{Name: hostile, Text: hostile}}
	round.Transcript.Attempts = []experiment.Attempt{{
		Request: hostile, Response: hostile, Reply: hostile, Reasoning: hostile, Fault: hostile, Class: hostile, FinishReason: hostile,
		Trace: []string{hostile}, Server: hostile, At: hostile,
	}}
	round.Transcript.Prompt, round.Transcript.Warning = hostile, hostile
	round.Transcript.Measures = &experiment.Measures{Fields: []experiment.FieldMeasure{{Field: hostile}}}
	round.Transcript.Decision = &experiment.Decision{
		Verdict: hostile, By: hostile, At: hostile, Note: hostile, Reason: hostile, Outcome: hostile, Rationale: hostile,
		Repairs: []string{hostile}, Changes: []experiment.Change{{Size: hostile, Field: hostile, To: 1}},
	}
	round.Transcript.Changes[0].Size, round.Transcript.Changes[1].Field = hostile, hostile

	page := htmlOf(t, r)
	wellFormed(t, page)
	selfContained(t, page)
	accessible(t, page)
	if n := strings.Count(page, "alert(1)"); n < 40 {
		t.Errorf("the hostile text is shown %d times; want it wherever it was put", n)
	}
}

// pageText is the page's text with white space made even.
func pageText(t *testing.T, page string) string {
	t.Helper()
	var b strings.Builder
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for n := range doc.Descendants() {
		if n.Type == html.TextNode {
			b.WriteString(n.Data + " ")
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

func TestPageAndTextShowTheSameFigures(t *testing.T) {
	r := fixture()
	page, text := pageText(t, htmlOf(t, r)), textOf(t, r, report.Options{})
	total, base := r.Rounds[2].Scorecard.Total(), r.Base.Total()
	for _, rate := range []float64{total.ValidRate(), total.OptimalRate(), base.ValidRate(), base.OptimalRate()} {
		figure := oneDecimal(100 * rate)
		if !strings.Contains(page, figure+" %") || !strings.Contains(text, figure+" %") {
			t.Errorf("%s %% is not on the page and in the text", figure)
		}
	}
	for _, said := range []string{"n = 400", "projected", r.Rounds[0].Transcript.Repairs[0], "fixture-4b", "3 agents", "1,200"} {
		if !strings.Contains(page, said) || !strings.Contains(text, said) {
			t.Errorf("%q is not on the page and in the text", said)
		}
	}
}

func TestTrainingsThatWereJobsSayWhereTheyRan(t *testing.T) {
	r := fixture()
	if page := htmlOf(t, r); strings.Contains(page, "Jobs, round by round") {
		t.Error("the embedded policy has jobs")
	}
	for i := range r.Rounds {
		if r.Rounds[i].Training != nil {
			own := *r.Rounds[i].Training
			own.Job = &experiment.TrainingJob{
				Backend: "slurm", Device: "<a GPU of 80 GB>", GPUs: 2, Attempts: 3, GPUSeconds: 9000,
				PeakMemoryBytes: 61_200_000_000, Checkpoint: strings.Repeat("ab", 32),
			}
			r.Rounds[i].Training = &own
		}
	}
	page := htmlOf(t, r)
	wellFormed(t, page)
	for _, want := range []string{"Jobs, round by round", "slurm", "&lt;a GPU of 80 GB&gt;", "2.5", "61.2", "–", "abababababab"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in the page", want)
		}
	}
}

func TestMissingPiecesAreNamed(t *testing.T) {
	for name, want := range map[string][]string{
		"nothing":          {"Nothing has been validated yet.", "No step has finished yet.", "untrained policy has not been measured"},
		"in round 1":       {"2 rounds of 3 begun.", "Round 1 has no dataset, no training, no validation.", "No score on the benchmark with 3, 4, 5 agents."},
		"a gap":            {"Round 0 has no training.", "Round 1 has no validation, no design of the next round."},
		"half a benchmark": {"No score of the trained policy on the benchmark with 3 agents.", "No score of the untrained policy on the benchmark with 4 agents."},
	} {
		page := pageText(t, htmlOf(t, partials()[name]))
		for _, s := range want {
			if !strings.Contains(page, s) {
				t.Errorf("%s: page does not say %q", name, s)
			}
		}
	}
}

// The environment's words come from the data: another one needs no other code.
func TestAnotherEnvironmentsWordsAreShown(t *testing.T) {
	card := &experiment.Scorecard{Checks: []string{"deadlock"}, Cells: []experiment.Cell{{Size: "tiny", Group: "dense", N: 7, Valid: 3, Optimal: 2, Errors: []int{4}}}}
	r := experiment.Results{Name: "other", Base: card, Rounds: []experiment.RoundResult{{
		Curriculum: experiment.Curriculum{Rows: []experiment.Row{{Size: "tiny", DataRatio: 1, Knobs: []experiment.Knob{{Name: "speed", Value: 3}}}}},
		Scorecard:  card,
	}}}
	page := pageText(t, htmlOf(t, r))
	for _, word := range []string{"deadlock", "tiny", "dense", "speed", "42.9"} {
		if !strings.Contains(page, word) {
			t.Errorf("page does not show %q", word)
		}
	}
	for _, word := range []string{"hole", "wait", "lake"} {
		if strings.Contains(page, word) {
			t.Errorf("page speaks of %q", word)
		}
	}
}

// A knob that every round leaves alone, a policy that fails everywhere and one
// round only are drawn like any other.
func TestEdgesAreDrawn(t *testing.T) {
	r := fixture()
	r.Rounds = r.Rounds[:1]
	for i := range r.Base.Cells {
		r.Base.Cells[i].Valid, r.Base.Cells[i].Optimal = 0, 0
		r.Rounds[0].Scorecard.Cells[i].Valid = r.Rounds[0].Scorecard.Cells[i].N
		r.Rounds[0].Scorecard.Cells[i].Optimal = r.Rounds[0].Scorecard.Cells[i].N
	}
	page := htmlOf(t, r)
	wellFormed(t, page)
	if text := pageText(t, page); !strings.Contains(text, "0.0 %") || !strings.Contains(text, "100.0 %") {
		t.Error("rates of 0 and 100 % are not shown")
	}
}

// To look at the page: REPORT_DIR=dir go test -run WritesPages ./internal/report.
func TestWritesPagesToLookAt(t *testing.T) {
	dir := os.Getenv("REPORT_DIR")
	if dir == "" {
		t.Skip("REPORT_DIR is not set")
	}
	pages := partials()
	pages["whole"] = fixture()
	for name, r := range pages {
		if err := os.WriteFile(filepath.Join(dir, strings.ReplaceAll(name, " ", "-")+".html"), []byte(htmlOf(t, r)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func oneDecimal(x float64) string { return strconv.FormatFloat(math.Round(10*x)/10, 'f', 1, 64) }
