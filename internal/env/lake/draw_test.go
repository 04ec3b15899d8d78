package lake

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"floe/internal/env"
	"floe/internal/experiment"
)

var updateDrawings = flag.Bool("update-drawings", false, "write the golden drawings anew")

var drawFormats = []string{env.FormatText, env.FormatSVG, env.FormatAnimatedSVG}

// corridor is a small task for drawings.
func corridor(t testing.TB) *problem {
	t.Helper()
	in := Instance{N: 3, Grid: []string{"FFF", "FHF", "FFF"}, Starts: []Cell{{0, 0}, {0, 2}}, Goals: []Cell{{0, 2}, {2, 2}}}
	body, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	p, err := New().Open(env.Task{
		ID: "corridor <1>", Size: "3x3", Group: groupFree, Objective: objectiveSum, Optimum: 4, Prompt: renderPrompt(in), Instance: body,
	})
	if err != nil {
		t.Fatal(err)
	}
	return p.(*problem)
}

// answersToDraw are answers of every kind to the corridor.
var answersToDraw = map[string]string{
	"optimal":  "Agent 0: (0, 0) -> (0, 1) -> (0, 2)\nAgent 1: (0, 2) -> (1, 2) -> (2, 2)\n",
	"faulty":   "Agent 0: (0, 0) -> (0, 0) -> (0, 1) -> (0, 2) -> (-1, 2)\nAgent 1: (0, 2) -> (0, 2) -> (0, 2) -> (0, 1) -> (1, 1) -> (2, 2)\n",
	"one path": "Agent 1: (0, 2) -> (1, 2) -> (2, 2)\n",
	"no path":  "I cannot <do> this.",
}

func depict(t testing.TB, p *problem, s env.Scene) string {
	t.Helper()
	body, err := p.Draw(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestADrawingSaysHowGoodItsAnswerIs(t *testing.T) {
	for answer, want := range map[string]string{
		answersToDraw["optimal"]: "optimal, cost 4",
		"Agent 0: (0, 0) -> (0, 0) -> (0, 1) -> (0, 2)\nAgent 1: (0, 2) -> (1, 2) -> (2, 2)\n": "valid, cost 5; the optimum is 4",
	} {
		for _, format := range []string{env.FormatText, env.FormatSVG, env.FormatAnimatedSVG} {
			if got := depict(t, corridor(t), env.Scene{Format: format, Answered: true, Answer: answer}); !strings.Contains(got, want) {
				t.Errorf("%s does not say %q:\n%s", format, want, got)
			}
		}
	}
}

func TestDrawingsAreAsTheyWere(t *testing.T) {
	for name, s := range map[string]env.Scene{
		"draw-bare.txt":     {Format: env.FormatText},
		"draw-optimal.txt":  {Format: env.FormatText, Answered: true, Answer: answersToDraw["optimal"]},
		"draw-faulty.txt":   {Format: env.FormatText, Answered: true, Answer: answersToDraw["faulty"]},
		"draw-faulty.svg":   {Format: env.FormatSVG, Answered: true, Answer: answersToDraw["faulty"]},
		"draw-animated.svg": {Format: env.FormatAnimatedSVG, Answered: true, Answer: answersToDraw["faulty"]},
	} {
		got := depict(t, corridor(t), s)
		file := filepath.Join("testdata", name)
		if *updateDrawings {
			if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s has changed (-update-drawings writes it anew):\n%s", name, got)
		}
	}
}

func TestPicturesAreWellFormedAndHaveNoScripts(t *testing.T) {
	p := corridor(t)
	for name, answer := range answersToDraw {
		for _, format := range drawFormats[1:] {
			picture := depict(t, p, env.Scene{Format: format, Answered: true, Answer: answer})
			wellFormed(t, picture)
			for _, bad := range []string{"<script", "href", "onload", "%!"} {
				if strings.Contains(picture, bad) {
					t.Errorf("%s of %s has %q", format, name, bad)
				}
			}
		}
	}
}

func wellFormed(t *testing.T, picture string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(picture))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("not well-formed: %v\n%s", err, picture)
		}
	}
}

func TestEverythingTheRefereeSaysIsInADrawing(t *testing.T) {
	p := corridor(t)
	for name, answer := range answersToDraw {
		for _, format := range drawFormats {
			got := depict(t, p, env.Scene{Format: format, Answered: true, Answer: answer})
			for _, fault := range p.Judge(answer).Faults {
				if format != env.FormatText {
					fault, _, _ = strings.Cut(escape(fault), ",") // long ones are broken into lines
				}
				if !strings.Contains(got, fault) {
					t.Errorf("%s of %s does not say %q:\n%s", format, name, fault, got)
				}
			}
		}
	}
}

func TestAStillAnswerDoesNotMove(t *testing.T) {
	p := corridor(t)
	for _, s := range []env.Scene{{}, {Answered: true, Answer: "none"}, {Answered: true, Answer: "Agent 0: (0, 0)\nAgent 1: (0, 2)"}} {
		s.Format = env.FormatAnimatedSVG
		if got := depict(t, p, s); strings.Contains(got, "@keyframes") {
			t.Errorf("%+v moves:\n%s", s, got)
		}
	}
}

func TestLongAnswersAreDrawnInPart(t *testing.T) {
	p := corridor(t)
	long := "Agent 0: (0, 0)" + strings.Repeat(" -> (0, 1) -> (0, 0)", 2000) + "\nAgent 1: (0, 2)" + strings.Repeat(" -> (0, 1) -> (0, 2)", 2000)
	for _, format := range drawFormats {
		got := depict(t, p, env.Scene{Format: format, Answered: true, Answer: long})
		if !strings.Contains(got, "only the first 200 of 4000 steps are drawn") || len(got) > 200_000 {
			t.Errorf("%s has %d bytes", format, len(got))
		}
	}
}

func TestUnknownFormatsAreRefused(t *testing.T) {
	if _, err := corridor(t).Draw(env.Scene{Format: "gif"}); err == nil || !strings.Contains(err.Error(), `"gif"`) {
		t.Errorf("error %v", err)
	}
}

// TestMarksAreWhatTheRefereeFinds holds the marks of random plans, most of them
// bad, against the referee: the same flags and the same words.
func TestMarksAreWhatTheRefereeFinds(t *testing.T) {
	p := corridor(t)
	rng := experiment.Rand("draw", "marks")
	for range 3000 {
		plan := make(Plan, 2)
		for i := range plan {
			c := p.in.Starts[i]
			if rng.IntN(8) == 0 {
				c = Cell{rng.IntN(3), rng.IntN(3)}
			}
			plan[i] = []Cell{c}
			for range rng.IntN(7) {
				if c = c.step(rng.IntN(actions)); rng.IntN(12) == 0 {
					c = Cell{rng.IntN(5) - 1, rng.IntN(5) - 1}
				}
				plan[i] = append(plan[i], c)
			}
		}
		sameFindings(t, p, plan)
	}
}

func sameFindings(t *testing.T, p *problem, plan Plan) {
	t.Helper()
	v := p.Judge(renderPlan(plan))
	marks := marksOf(&p.in, plan)
	var failed, said []string
	for _, c := range checks {
		for _, m := range marks {
			if checks[m.check] == c {
				failed = append(failed, c.Name)
			}
		}
	}
	for _, m := range marks {
		said = append(said, m.text)
	}
	if failed = slices.Compact(failed); !slices.Equal(failed, v.Failed) {
		t.Fatalf("plan %v: marks of %v; the referee failed %v", plan, failed, v.Failed)
	}
	for _, fault := range v.Faults {
		if !slices.Contains(said, fault) && v.Failed != nil {
			t.Fatalf("plan %v: no mark says %q, but %q", plan, fault, said)
		}
	}
	if !slices.IsSortedFunc(marks, func(a, b mark) int { return a.step - b.step }) {
		t.Fatalf("plan %v: marks are not in the order of time: %v", plan, marks)
	}
}

// TestTheAnimationEndsWhereThePlanDoes reads the places of agents out of the
// keyframes.
func TestTheAnimationEndsWhereThePlanDoes(t *testing.T) {
	p := corridor(t)
	got := depict(t, p, env.Scene{Format: env.FormatAnimatedSVG, Answered: true, Answer: answersToDraw["optimal"]})
	for agent, goal := range p.in.Goals {
		x, y := center(float64(goal[0]), float64(goal[1]), p.in.N)
		_, frames, found := strings.Cut(got, fmt.Sprintf("@keyframes floe-go%d{", agent))
		frames, _, _ = strings.Cut(frames, "\n")
		if want := fmt.Sprintf("100%%{transform:translate(%gpx,%gpx)}}", x, y); !found || !strings.HasSuffix(frames, want) {
			t.Errorf("agent %d: frames %s; want the end %s", agent, frames, want)
		}
	}
}

func FuzzDraw(f *testing.F) {
	for _, answer := range answersToDraw {
		f.Add(answer)
	}
	f.Add("Agent 0: (0,0) -> (99999, -99999)\nAgent 1: [(0, 2)]\nAgent 7: (0, 0)\x01")
	f.Fuzz(func(t *testing.T, answer string) {
		p := corridor(t)
		for _, format := range drawFormats {
			body := depict(t, p, env.Scene{Format: format, Answered: true, Answer: answer})
			if format != env.FormatText {
				wellFormed(t, body)
			}
			if bytes.Contains([]byte(body), []byte("%!")) && !strings.Contains(answer, "%!") {
				t.Errorf("a verb went wrong in\n%s", body)
			}
		}
	})
}
