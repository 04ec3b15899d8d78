package designer_test

import (
	"reflect"
	"strings"
	"testing"

	"floe/internal/designer"
	"floe/internal/experiment"
)

func TestTheTraceTellsInOrderWhatWasFoundAndDecided(t *testing.T) {
	present := "```yaml\n" + `sizes:
  3x3: {data_ratio: 0.5}
  4x4: {data_ratio: 0.3}
  10x10: {data_ratio: 0.2}
` + "```"
	other := block(strings.ReplaceAll(body, "0.15", "0.35"))
	for name, c := range map[string]struct {
		reply, finish string
		want          []string
	}{
		"all at once": {
			"<think>\nhm\n</think>\nNow:\n" + present + "\nNext:\n```\nplain\n```\n" + block(edit("data_ratio: 0.2,", "data_ratio: 0.19,")), "stop",
			[]string{
				`The reply has 398 characters and ended with "stop".`,
				"What stands after the last </think> is read: 378 characters.",
				"2 possible answers found in fences: the fenced block in lines 5 to 10, the fenced block in lines 15 to 23.",
				"1 fenced block that names no setting is left aside.",
				"The last one counts: the fenced block in lines 15 to 23.",
				"Sizes given: 3x3, 4x4, 10x10; 9 numbers.",
				"data_ratio summed to 0.99 and was brought to 1.",
				"The fenced block in lines 5 to 10 repeats the curriculum in force.",
				"Class normalised: the curriculum can be used.",
			},
		},
		"two answers": {
			other + "\n" + block(body), "",
			[]string{
				"The reply has 513 characters.",
				"2 possible answers found in fences: the fenced block in lines 1 to 9, the fenced block in lines 10 to 18.",
				"The last one counts: the fenced block in lines 10 to 18.",
				"Sizes given: 3x3, 4x4, 10x10; 9 numbers.",
				"data_ratio sums to 1.",
				"The fenced block in lines 1 to 9 says something else.",
				"Class ambiguous: it holds two different curricula; give only the one to use.",
			},
		},
		"JSON": {
			"Sure.\n" + strings.ReplaceAll(asJSON, "4x4", "4") + "\nBye.", "stop",
			[]string{
				`The reply has 290 characters and ended with "stop".`,
				"1 possible answer found without a fence: the bare JSON in lines 2 to 9.",
				"4 was read as the size 4x4.",
				"Sizes given: 3x3, 4x4, 10x10; 9 numbers.",
				"data_ratio sums to 1.",
				"Class ok: the curriculum can be used.",
			},
		},
		"prose": {
			"No idea.", "stop",
			[]string{`The reply has 8 characters and ended with "stop".`, "No YAML or JSON was found.", `Class no_block: no YAML block was found; it begins "No idea.".`},
		},
		"only thinking": {
			"<think>so", "stop",
			[]string{`The reply has 9 characters and ended with "stop".`, "Nothing stands after its thinking.", "Class empty: the answer is empty."},
		},
	} {
		got := designer.NewReader(pond(), inForce(), designer.MissingKeep).Read(c.reply, c.finish)
		if !reflect.DeepEqual(got.Trace, c.want) {
			t.Errorf("%s:\n%s\nwant\n%s", name, strings.Join(got.Trace, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

func TestATraceOfThousandsOfBlocksIsShort(t *testing.T) {
	got := read(strings.Repeat(block("sizes: 1\n")+"\n", 500) + block(body))
	n := len(got.Trace)
	if got.Class != designer.ClassOK || n > 30 || got.Trace[n-1] != "Class ok: the curriculum can be used." || !strings.Contains(got.Trace[n-2], "lines are left out") {
		t.Errorf("class %s, %d lines: %q", got.Class, n, got.Trace)
	}
}

func TestFaultsQuoteNoMoreThanTheStartOfWhatWasWritten(t *testing.T) {
	long := strings.Repeat("x", 4000)
	for _, reply := range []string{block(long + ": 1\n"), block("sizes: {" + long + ": 1}\n"), block("sizes: {3x3: {" + long + ": 1}}\n"), block(long + ": 1\n" + long + ": 2\n"), block("sizes: {3x3: {data_ratio: " + long + "}}\n")} {
		if got := read(reply); len(got.Fault) == 0 || len(got.Fault) > 400 {
			t.Errorf("fault of %d bytes: %.100s", len(got.Fault), got.Fault)
		}
	}
}

func TestSizesThatAreLeftOut(t *testing.T) {
	const some = "sizes:\n  3x3: {data_ratio: 0.4, hole_ratio: 0, wait_ratio: 0}\n  4x4: {data_ratio: %s, hole_ratio: 0, wait_ratio: 0}\n"
	without10 := func(share string) string { return block(strings.Replace(some, "%s", share, 1)) }
	knobsOnly := block("sizes: {3x3: {data_ratio: 0.5}, 4x4: {data_ratio: 0.5}, 10x10: {hole_ratio: 0.1}}\n")
	for _, c := range []struct {
		name, missing, reply string
		class                designer.Class
		shares               [3]float64
		says                 string
	}{
		{"kept", designer.MissingKeep, without10("0.4"), designer.ClassOK, [3]float64{0.4, 0.4, 0.2}, "given no data_ratio, these keep theirs: 10x10 0.2"},
		{"kept, but nothing is left", designer.MissingKeep, without10("0.6"), designer.ClassOK, [3]float64{0.4, 0.6, 0}, "given no data_ratio, these get no samples: 10x10"},
		{"kept, nearer to 1 with it", designer.MissingKeep, without10("0.39"), designer.ClassNormalised, [3]float64{0.404, 0.3939, 0.202}, "summed to 0.99"},
		{"kept, in doubt", designer.MissingKeep, without10("0.5"), designer.ClassBadSum, [3]float64{}, "the sizes left out have 0.2 now"},
		{"zero", designer.MissingZero, without10("0.6"), designer.ClassOK, [3]float64{0.4, 0.6, 0}, "given no data_ratio, these get no samples: 10x10"},
		{"zero never keeps", designer.MissingZero, without10("0.4"), designer.ClassBadSum, [3]float64{}, "the others get no samples; want 1"},
		{"zero, but named", designer.MissingZero, knobsOnly, designer.ClassMissing, [3]float64{}, "no data_ratio was given for 10x10"},
		{"kept, only named", designer.MissingKeep, knobsOnly, designer.ClassOK, [3]float64{0.5, 0.5, 0}, "10x10"},
		{"refused", designer.MissingRefuse, without10("0.4"), designer.ClassMissing, [3]float64{}, "no data_ratio was given for 10x10; want one for every size, 0 for no samples"},
		{"refused, all named", designer.MissingRefuse, block("sizes: {3x3: {data_ratio: 1}}\n"), designer.ClassMissing, [3]float64{}, "4x4, 10x10"},
		{"nothing to refuse", designer.MissingRefuse, block(body), designer.ClassOK, [3]float64{0.2, 0.5, 0.3}, "data_ratio sums to 1"},
	} {
		got := designer.NewReader(pond(), inForce(), c.missing).Read(c.reply, "stop")
		told := strings.Join(got.Trace, "\n")
		if got.Class != c.class || !strings.Contains(told, c.says) {
			t.Errorf("%s: class %s, trace\n%s\nwant %s, %q", c.name, got.Class, told, c.class, c.says)
			continue
		}
		for i, row := range got.Asked.Rows {
			if d := row.DataRatio - c.shares[i]; d > 1e-4 || d < -1e-4 {
				t.Errorf("%s: %s gets %v; want %v", c.name, row.Size, row.DataRatio, c.shares[i])
			}
		}
	}
}

func TestTheSpecSaysWhatBecomesOfMissingSizes(t *testing.T) {
	spec := v3
	spec.Missing = designer.MissingRefuse
	d := &says{}
	design(t, d, spec, designer.Limits{})
	if got := d.asked.Reader.Read(block("sizes: {3x3: {data_ratio: 1}}\n"), "stop"); got.Class != designer.ClassMissing {
		t.Errorf("class %s", got.Class)
	}
}

func TestClassesAreCountedMostFrequentFirst(t *testing.T) {
	calls := func(classes ...string) (t experiment.Transcript) {
		for _, c := range classes {
			t.Attempts = append(t.Attempts, experiment.Attempt{Class: c})
		}
		return t
	}
	got := experiment.CountClasses(calls("ok"), calls(), calls("no_block", "bad_sum", "no_block"))
	if want := []experiment.ClassCount{{Class: "no_block", Count: 2}, {Class: "bad_sum", Count: 1}, {Class: "ok", Count: 1}}; !reflect.DeepEqual(got, want) {
		t.Errorf("counts %+v; want %+v", got, want)
	}
}
