package report_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"floe/internal/experiment"
	"floe/internal/report"
)

// update rewrites the golden files: go test ./internal/report -update.
var update = flag.Bool("update", false, "rewrite the files in testdata")

// golden compares with a file in testdata and returns what was compared.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what is written now; run with -update and read the difference. Now:\n%s", path, got)
	}
}

func textOf(t *testing.T, r experiment.Results, opts report.Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := report.Text(&b, r, opts); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func jsonOf(t *testing.T, r experiment.Results) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := report.JSON(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// partial results, by what has happened so far.
func partials() map[string]experiment.Results {
	cut := func(change func(*experiment.Results)) experiment.Results {
		r := fixture()
		change(&r)
		return r
	}
	return map[string]experiment.Results{
		"nothing":      {},
		"only started": cut(func(r *experiment.Results) { r.Base, r.Rounds, r.Benchmarks = nil, nil, nil }),
		"only the base": cut(func(r *experiment.Results) {
			r.State, r.Rounds, r.Benchmarks = "running", nil, nil
		}),
		"in round 1": cut(func(r *experiment.Results) {
			r.State, r.Rounds, r.Benchmarks = "running", r.Rounds[:2], nil
			r.Rounds[1] = experiment.RoundResult{Round: 1, Curriculum: r.Rounds[1].Curriculum}
		}),
		"a gap": cut(func(r *experiment.Results) {
			r.Rounds[1].Scorecard, r.Rounds[0].Training, r.Rounds[1].Transcript = nil, nil, nil
		}),
		"decided and fallen back": decided(),
		"half a benchmark": cut(func(r *experiment.Results) {
			r.Benchmarks[0].Trained, r.Benchmarks[1].Base = nil, nil
			r.Benchmarks[2] = experiment.BenchmarkResult{Agents: 5}
		}),
		"empty pieces": cut(func(r *experiment.Results) {
			r.Base = &experiment.Scorecard{}
			r.Rounds[0] = experiment.RoundResult{
				Training: &experiment.Training{}, Scorecard: &experiment.Scorecard{Cells: []experiment.Cell{{}}},
				Transcript: &experiment.Transcript{}, Conformance: &experiment.Conformance{Rows: []experiment.ConformanceRow{{}}},
				Steps: []experiment.StepRef{{}},
			}
		}),
		"impossible numbers": cut(func(r *experiment.Results) {
			nan, inf := math.NaN(), math.Inf(1)
			r.Base.Cells[0] = experiment.Cell{N: -3, Valid: 7, Optimal: math.MinInt, Errors: []int{math.MaxInt}}
			r.Rounds[0].Curriculum.Rows[0].DataRatio = nan
			r.Rounds[1].Curriculum.Rows[1].Knobs[0].Value = inf
			r.Rounds[0].Training.Curve[0].Reward = inf
			r.Rounds[0].Training.Curve[1].Step = math.MinInt
			r.Rounds[1].Training.Curve[2].Entropy = nan
			r.Rounds[0].Steps[0].Seconds = nan
			r.Rounds[0].Conformance.Rows[0].Optima = []experiment.CostCount{{Cost: math.MinInt, Count: -1}, {Cost: math.MaxInt, Count: math.MaxInt}}
		}),
	}
}

func TestTextOfTheFixture(t *testing.T) {
	golden(t, "summary.txt", []byte(textOf(t, fixture(), report.Options{})))
}

func TestTextOfARunningExperiment(t *testing.T) {
	golden(t, "summary-running.txt", []byte(textOf(t, partials()["in round 1"], report.Options{})))
}

func TestTextStaysWithinItsWidth(t *testing.T) {
	for _, width := range []int{40, 60, 80, 100, 160} {
		for line := range strings.Lines(textOf(t, fixture(), report.Options{Width: width})) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("width %d: line of %d: %q", width, n, line)
			}
		}
	}
}

func TestTextIsPlainUnlessColourIsAsked(t *testing.T) {
	plain := textOf(t, fixture(), report.Options{})
	if strings.Contains(plain, "\x1b") {
		t.Error("plain text holds an escape sequence")
	}
	coloured := textOf(t, fixture(), report.Options{Color: true})
	if !strings.Contains(coloured, "\x1b[") {
		t.Error("no colour although asked")
	}
	if stripped := stripColour(coloured); stripped != plain {
		t.Errorf("colour changed the text:\n%s", stripped)
	}
}

func stripColour(s string) string {
	for _, code := range []string{"0", "1", "2", "31", "33", "36"} {
		s = strings.ReplaceAll(s, "\x1b["+code+"m", "")
	}
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " ")
	}
	return strings.Join(lines, "\n")
}

func TestAReplyCannotSteerTheTerminal(t *testing.T) {
	r := fixture()
	r.Name = "a\x1b]0;title\x07"
	r.Rounds[0].Transcript.Rationale = "clear \x1b[2J, overwrite\rthis, \u202eturned\u202c and \xff"
	r.Rounds[0].Transcript.Changes[0].Size = "3x3\x1b[31m"
	for _, c := range textOf(t, r, report.Options{}) {
		if c != '\n' && (c < ' ' || c == 0x7f || c >= 0x80 && c < 0xa0 || c == '\u202e') {
			t.Errorf("text holds the control character %U", c)
		}
	}
}

func TestPartialResultsAreToldAsText(t *testing.T) {
	for name, r := range partials() {
		t.Run(name, func(t *testing.T) {
			if got := textOf(t, r, report.Options{}); !strings.Contains(got, "Not everything is there") && name != "impossible numbers" && name != "empty pieces" && name != "decided and fallen back" {
				t.Errorf("does not say that something is missing:\n%s", got)
			}
		})
	}
}

func TestJSONGivesTheResultsBack(t *testing.T) {
	for name, want := range partials() {
		if name == "impossible numbers" {
			continue
		}
		var got experiment.Results
		if err := json.Unmarshal(jsonOf(t, want), &got); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: JSON does not give the results back", name)
		}
	}
}

// The fixture is kept as a file too, for whoever wants to see a report.json.
func TestJSONOfTheFixture(t *testing.T) {
	doc := jsonOf(t, fixture())
	golden(t, "fixture.json", doc)
	var head struct{ Schema string }
	if err := json.Unmarshal(doc, &head); err != nil || head.Schema != report.Schema {
		t.Errorf("schema %q, %v; want %q", head.Schema, err, report.Schema)
	}
}

func TestJSONRefusesWhatItCannotHold(t *testing.T) {
	err := report.JSON(&bytes.Buffer{}, partials()["impossible numbers"])
	if err == nil || !strings.Contains(err.Error(), "fixture-trained-designer") {
		t.Errorf("error %v; want one that names the experiment", err)
	}
}

func TestWritersFaultsAreReported(t *testing.T) {
	full := errors.New("disk full")
	for name, write := range map[string]func() error{
		"HTML": func() error { return report.HTML(failing{full}, fixture()) },
		"JSON": func() error { return report.JSON(failing{full}, fixture()) },
		"Text": func() error { return report.Text(failing{full}, fixture(), report.Options{}) },
	} {
		if err := write(); !errors.Is(err, full) {
			t.Errorf("%s: error %v; want %v", name, err, full)
		}
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestEqualResultsGiveEqualBytes(t *testing.T) {
	all := func() string {
		r := fixture()
		return htmlOf(t, r) + string(jsonOf(t, r)) + textOf(t, r, report.Options{Color: true})
	}
	want := all()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if all() != want {
		t.Error("two writings of the same results differ")
	}
}
