package report_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"floe/internal/experiment"
	"floe/internal/report"
)

// decided is an experiment in which a person edited the first proposal, and the
// second designer said nothing that could be used.
func decided() experiment.Results {
	r := fixture()
	first, second := r.Rounds[0].Transcript, r.Rounds[1].Transcript
	trend := 0.5
	first.Warning = "All samples are on sizes that are mastered already."
	first.Measures = &experiment.Measures{
		SizesChanged: 0.75, FromLast: 1.25, FromFirst: 1.25, Frontier: 0.4, FrontierBefore: 0.3, Contradicted: 3, Reversed: 1,
		Fields: []experiment.FieldMeasure{{Field: "data_ratio", Changed: 0.5, Trend: &trend}, {Field: "hole_ratio", Changed: 0.25}},
	}
	call := &first.Attempts[0]
	call.Trace = []string{"found one block of YAML", "read 8 sizes"}
	call.Cost, call.Server, call.At = 0.00123, "fixture-server/1.2", "2026-01-02T03:10:00Z"
	call.Request, call.Response = `{"model":"fixture-4b","temperature":0}`, `{"choices":[]}`
	proposed := first.Used.Clone()
	edited := first.Used.Clone()
	edited.Rows[0].DataRatio -= 0.05
	edited.Rows[7].DataRatio += 0.05
	first.Used, first.Outcome, first.By, first.Rationale = edited, experiment.VerdictEdited, "ann", "Large maps first."
	first.Changes = changes(r.Rounds[0].Curriculum, edited)
	first.Decision = &experiment.Decision{
		Verdict: experiment.VerdictEdited, By: "ann", At: "2026-01-02T03:12:00Z", Note: "less of the small", Reason: "the experiment wants each proposal approved",
		Proposed: proposed, Outcome: "projected", Rationale: fixtureRationale, Asked: &edited, Changes: changes(proposed, edited),
	}
	second.Outcome, second.Used = "fallback", r.Rounds[1].Curriculum.Clone()
	second.Rationale = "The last curriculum stays: three replies held no curriculum."
	second.Changes = nil
	second.Attempts[0].Class, second.Attempts[0].Fault = "no_block", "no YAML block was found"
	return r
}

func transcriptOf(t *testing.T, part report.Part, opts report.Options) string {
	t.Helper()
	r := decided()
	var b bytes.Buffer
	d := report.Design{Present: r.Rounds[0].Curriculum, Transcript: *r.Rounds[0].Transcript, State: "used", Next: []string{"starter design approve x"}}
	if err := report.Transcript(&b, d, part, opts); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTextOfATranscript(t *testing.T) {
	golden(t, "transcript.txt", []byte(transcriptOf(t, report.Part{Raw: true}, report.Options{})))
}

func TestTextOfAProposal(t *testing.T) {
	r := decided()
	var b bytes.Buffer
	d := report.Design{Present: r.Rounds[1].Curriculum, Transcript: *r.Rounds[1].Transcript, State: "waiting for approval"}
	if err := report.Proposal(&b, d, report.Options{}); err != nil {
		t.Fatal(err)
	}
	golden(t, "proposal.txt", b.Bytes())
}

func TestOneCallIsShownAlone(t *testing.T) {
	got := transcriptOf(t, report.Part{Attempt: 1}, report.Options{})
	if !strings.Contains(got, "found one block of YAML") || strings.Contains(got, "Shown: failures") || strings.Contains(got, `"temperature"`) {
		t.Errorf("want the call without evidence and without its raw request:\n%s", got)
	}
}

func TestATranscriptStaysWithinItsWidthAndIsPlain(t *testing.T) {
	for _, width := range []int{40, 60, 80, 100, 160} {
		text := transcriptOf(t, report.Part{Raw: true}, report.Options{Width: width})
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("width %d: line of %d: %q", width, n, line)
			}
		}
		if coloured := transcriptOf(t, report.Part{Raw: true}, report.Options{Width: width, Color: true}); coloured == text || stripColour(coloured) != text {
			t.Errorf("width %d: colour changed the text", width)
		}
	}
}

func TestMarkdownTablesOfTheEvidenceAreSetInColumns(t *testing.T) {
	r := decided()
	tr := *r.Rounds[0].Transcript
	tr.Sections = []experiment.Section{{Name: "failures", Text: "Before.\n\n| size | valid |\n|---|---|\n| 3x3 | 70 % |\n| 10x10 | 8 % |\n\n| no | table |"}}
	var b bytes.Buffer
	if err := report.Transcript(&b, report.Design{Present: r.Rounds[0].Curriculum, Transcript: tr}, report.Part{}, report.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\n3x3    70 %\n10x10  8 %\n", "\n  | no | table |\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

func TestAReplyCannotSteerTheTerminalOfATranscript(t *testing.T) {
	r := decided()
	tr := r.Rounds[0].Transcript
	const nasty = "a\x1b[2J\rb\u202ec\x07"
	tr.Attempts[0] = experiment.Attempt{Reply: nasty, Reasoning: nasty, Request: nasty, Response: nasty, Class: nasty, Fault: nasty, Trace: []string{nasty}, Server: nasty}
	tr.Sections[0].Text, tr.Sections[0].Name, tr.Prompt, tr.Warning, tr.Decision.Note, tr.Decision.By = nasty, nasty, nasty, nasty, nasty, nasty
	var b bytes.Buffer
	if err := report.Transcript(&b, report.Design{Present: r.Rounds[0].Curriculum, Transcript: *tr}, report.Part{Raw: true}, report.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, c := range b.String() {
		if c != '\n' && (c < ' ' || c == 0x7f || c >= 0x80 && c < 0xa0 || c == '\u202e') {
			t.Fatalf("text holds the control character %U", c)
		}
	}
}

func TestAFallbackIsLoudEverywhere(t *testing.T) {
	r := decided()
	text := textOf(t, r, report.Options{})
	if head, _, _ := strings.Cut(text, "Learning curve"); !strings.Contains(head, "design_fallback: Round 1: The last curriculum stays: three replies held no curriculum.") {
		t.Errorf("the top of the summary does not tell of the fallback:\n%s", head)
	}
	page := htmlOf(t, r)
	if head, _, _ := strings.Cut(page, `<section`); !strings.Contains(head, "design_fallback") || !strings.Contains(head, "three replies held no curriculum") {
		t.Error("the top of the page does not tell of the fallback")
	}
	if calm := htmlOf(t, fixture()); strings.Contains(calm, "design_fallback") {
		t.Error("the page of a calm experiment speaks of a fallback")
	}
}

func TestThePageTellsWhoDecidedAndHowRepliesWereRead(t *testing.T) {
	text := pageText(t, htmlOf(t, decided()))
	for _, want := range []string{
		"Edited by ann", "less of the small", "the experiment wants each proposal approved", "the proposal was projected",
		"found one block of YAML", "fixture-server/1.2", "cost 0.00123", "All samples are on sizes that are mastered already.",
		"1 projected, 1 design_fallback", "decided by a person 1 edited", "1 no_block, 1 yaml", "1 of 3", "designer cost",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

func TestTranscriptsTellOfAWritersFault(t *testing.T) {
	full := errors.New("disk full")
	if err := report.Proposal(failing{full}, report.Design{}, report.Options{}); !errors.Is(err, full) {
		t.Errorf("error %v; want %v", err, full)
	}
}
