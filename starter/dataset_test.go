package main

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"

	"floe/activities"
	"floe/internal/artifact"
	"floe/internal/artifact/artifacttest"
	"floe/internal/env/all"
	"floe/internal/experiment"
)

const datasetSpec = "name: small\nseed: 7\nrounds: 2\nsamples: 60\nvalidation: {instances: 6, sizes: [3x3, 5x5]}\nbenchmarks: {agents: [3], instances: 6}\n"

const datasetCurriculum = "sizes:\n  3x3: {data_ratio: 0.5, hole_ratio: 0.1, wait_ratio: 0.2}\n  5x5: {data_ratio: 0.5, hole_ratio: 0.2, wait_ratio: 0.5}\n"

func put(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func get(t *testing.T, file string) []byte {
	t.Helper()
	body, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// build builds a set into a new folder.
func build(t *testing.T, name string, args ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	_, errOut, code := cli(t, append([]string{"dataset", "build", put(t, "spec.yaml", datasetSpec), "--out", file}, args...)...)
	if code != exitOK {
		t.Fatalf("build %v: exit code %d\n%s", args, code, errOut)
	}
	return file
}

func TestBuildGivesTheSameBytesOnOneCoreAndOnTwo(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	one := build(t, "a.jsonl.zst", "--round", "0")
	runtime.GOMAXPROCS(2)
	two := build(t, "a.jsonl.zst", "--round", "0")
	for _, name := range []func(string) string{func(s string) string { return s }, recordName} {
		if !bytes.Equal(get(t, name(one)), get(t, name(two))) {
			t.Errorf("%s differs", filepath.Base(name(one)))
		}
	}
}

// TestBuildDrawsWhatTheStepDraws compares with the artifacts of the activities.
func TestBuildDrawsWhatTheStepDraws(t *testing.T) {
	spec, err := loadSpec(put(t, "spec.yaml", datasetSpec), nil)
	if err != nil {
		t.Fatal(err)
	}
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	worker := suite.NewTestActivityEnvironment()
	acts := &activities.Activities{
		Steps: artifact.Steps{Store: artifacttest.NewMemory()}, Environment: all.Open,
		Tell: func(context.Context, string, activities.Progress) error { return nil },
	}
	worker.RegisterActivity(acts)
	where := activities.Where{Workflow: "exp-small", Name: "small"}
	step := func(activity, in, out any) {
		t.Helper()
		v, err := worker.ExecuteActivity(activity, in)
		if err == nil {
			err = v.Get(out)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var first activities.Done
	step(acts.Prepare, activities.PrepareInput{Where: where, Spec: spec}, &first)
	var training, validation, benchmark activities.Dataset
	step(acts.Generate, activities.GenerateInput{Where: where, Spec: spec, Curriculum: first.ID}, &training)
	step(acts.GenerateValidation, activities.ValidationInput{Where: where, Spec: spec}, &validation)
	step(acts.GenerateBenchmark, activities.BenchmarkInput{Where: where, Spec: spec, Agents: 2}, &benchmark)
	for _, c := range []struct {
		step activities.Dataset
		args []string
	}{
		{training, []string{"--round", "0"}},
		{validation, []string{"--validation"}},
		{benchmark, []string{"--benchmark", "2"}},
	} {
		m, ok, err := acts.Steps.Find(t.Context(), c.step.ID)
		if err != nil || !ok {
			t.Fatalf("find %s: %t, %v", c.step.ID, ok, err)
		}
		want, err := acts.Steps.Read(t.Context(), m, activities.FileDataset)
		if err != nil {
			t.Fatal(err)
		}
		if got := get(t, build(t, "set.jsonl.zst", c.args...)); !bytes.Equal(got, want) {
			t.Errorf("%v: %d bytes that differ from the step's %d", c.args, len(got), len(want))
		}
	}
}

func TestLaterRoundsTakeACurriculumAsWrittenOrAsStored(t *testing.T) {
	knobs := func(holes, waits float64) []experiment.Knob {
		return []experiment.Knob{{Name: "hole_ratio", Value: holes}, {Name: "wait_ratio", Value: waits}}
	}
	stored, err := json.Marshal(experiment.Curriculum{Rows: []experiment.Row{
		{Size: "3x3", DataRatio: 0.5, Knobs: knobs(0.1, 0.2)}, {Size: "5x5", DataRatio: 0.5, Knobs: knobs(0.2, 0.5)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	var sets [][]byte
	for name, text := range map[string]string{
		"c.yaml": datasetCurriculum, "c.json": string(stored),
		"key.yaml": "curriculum:\n  " + strings.ReplaceAll(strings.TrimSpace(datasetCurriculum), "\n", "\n  ") + "\n",
	} {
		sets = append(sets, get(t, build(t, "r1.jsonl", "--round", "1", "--curriculum", put(t, name, text))))
	}
	for _, set := range sets[1:] {
		if !bytes.Equal(set, sets[0]) {
			t.Error("the same curriculum in two forms draws two sets")
		}
	}
	if !strings.HasPrefix(string(sets[0]), `{"id":"r1-`) || bytes.Count(sets[0], []byte("\n")) != 60 {
		t.Errorf("got %.60s, %d rows; want 60 of round 1", sets[0], bytes.Count(sets[0], []byte("\n")))
	}
}

func TestTheRecordSaysWhatCameOfTheOrder(t *testing.T) {
	r, err := readRecord(build(t, "r.jsonl", "--round", "0", "--curriculum", put(t, "c.yaml", datasetCurriculum)))
	if err != nil {
		t.Fatal(err)
	}
	if r.Conformance.Requested != 60 || r.Conformance.Realised != 60 || len(r.SHA256) != 64 || len(r.Orders) != 1 {
		t.Errorf("record %+v", r)
	}
	counted, checked := 0, map[string]bool{}
	for _, row := range r.Conformance.Rows {
		for _, o := range row.Optima {
			counted += o.Count
		}
	}
	for _, d := range r.Drift {
		checked[d.Size+" "+d.Group+" "+d.Measure] = true
		if d.Verdict == "drifted" {
			t.Errorf("%+v", d)
		}
	}
	if counted != 60 || !checked["3x3 needs_wait distance"] || !checked["5x5 no_wait optimum"] {
		t.Errorf("%d optima counted, %v checked for drift", counted, checked)
	}
}

func TestVerifyPassesAndNamesTheFirstLineThatDiffers(t *testing.T) {
	for _, name := range []string{"v.jsonl", "v.jsonl.zst"} {
		file := build(t, name, "--validation")
		if out, errOut, code := cli(t, "dataset", "verify", file); code != exitOK || !strings.Contains(out, "12 tasks") {
			t.Errorf("%s: exit code %d\n%s%s", name, code, out, errOut)
		}
		body := get(t, file)
		body[len(body)/2] ^= 1
		if err := os.WriteFile(file, body, 0o600); err != nil {
			t.Fatal(err)
		}
		_, errOut, code := cli(t, "dataset", "verify", file)
		if code != exitFailed || !strings.Contains(errOut, file+":") {
			t.Errorf("%s with a flipped byte: exit code %d\n%s", name, code, errOut)
		}
	}
}

func TestVerifySaysThatAFileHasBeenPackedSince(t *testing.T) {
	plain, packed := build(t, "v.jsonl", "--validation"), build(t, "v.jsonl.zst", "--validation")
	bodyPlain, bodyPacked := get(t, plain), get(t, packed)
	for file, body := range map[string][]byte{plain: bodyPacked, packed: bodyPlain} {
		if err := os.WriteFile(file, body, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, errOut, code := cli(t, "dataset", "verify", file); code != exitFailed || !strings.Contains(errOut, "packed with zstd, as its record says") {
			t.Errorf("exit code %d\n%s", code, errOut)
		}
	}
}

func TestVerifyComparesLineByLine(t *testing.T) {
	file := build(t, "v.jsonl", "--validation")
	lines := strings.SplitAfter(string(get(t, file)), "\n")
	record := string(get(t, recordName(file)))
	for _, c := range []struct{ name, data, record, says string }{
		{"another optimum", lines[0] + strings.Replace(lines[1], `"optimum":`, `"optimum":9`, 1) + strings.Join(lines[2:], ""), record, file + ":2: column "},
		{"a row less", strings.Join(lines[:11], ""), record, file + ":12: found the end; want more lines"},
		{"a row more", strings.Join(lines, "") + lines[0], record, file + ":13: found a line; want the end"},
		{"another count in the record", strings.Join(lines, ""), strings.Replace(record, `"realised": 12,`, `"realised": 13,`, 1), recordName(file) + ":"},
		{"another version", strings.Join(lines, ""), strings.Replace(record, `"version": "lake/`, `"version": "lake/0`, 1), "want the program that drew it"},
	} {
		for name, text := range map[string]string{file: c.data, recordName(file): c.record} {
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, errOut, code := cli(t, "dataset", "verify", file); code != exitFailed || !strings.Contains(errOut, c.says) {
			t.Errorf("%s: exit code %d, want %d and %q\n%s", c.name, code, exitFailed, c.says, errOut)
		}
	}
}

func TestStatsAndShowAgreeWithTheSet(t *testing.T) {
	file := build(t, "r.jsonl.zst", "--round", "0", "--curriculum", put(t, "c.yaml", datasetCurriculum))
	out, errOut, code := cli(t, "dataset", "stats", file, "-o", "json")
	var s datasetSummary
	if err := json.Unmarshal([]byte(out), &s); err != nil || code != exitOK {
		t.Fatalf("exit code %d, %v\n%s", code, err, errOut)
	}
	shares := map[string]float64{}
	for _, r := range s.Rows {
		shares[r.Size+" "+r.Group] = r.Share
	}
	if s.Tasks != 60 || shares["3x3 needs_wait"] != 0.2 || shares["5x5 needs_wait"] != 0.5 || shares["all needs_wait"] != 21.0/60 {
		t.Errorf("%d tasks, shares %v", s.Tasks, shares)
	}
	if table, _, _ := cli(t, "dataset", "stats", file); !strings.Contains(table, "HOLES") || !strings.Contains(table, "TOKENS") {
		t.Errorf("table\n%s", table)
	}
	out, _, code = cli(t, "dataset", "show", file, "r0-5x5-0003")
	if code != exitOK || !strings.Contains(out, "r0-5x5-0003: line ") || !strings.Contains(out, "\nAgent 1: (") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	out, _, _ = cli(t, "dataset", "show", file, "--first", "3", "-o", "json")
	var shown []shownTask
	if err := json.Unmarshal([]byte(out), &shown); err != nil || len(shown) != 3 || shown[2].Line != 3 || shown[2].Cost != shown[2].Task.Optimum {
		t.Errorf("%v: %s", err, out)
	}
}

func TestBadDatasetsAreRefusedWithTheirLines(t *testing.T) {
	lines := strings.SplitAfter(string(get(t, build(t, "v.jsonl", "--validation"))), "\n")
	wrong := strings.Replace(lines[2], `"optimum":`, `"optimum":1`, 1)
	file := put(t, "bad.jsonl", lines[0]+"{}\n"+lines[1]+"nonsense\n"+wrong+strings.Replace(lines[3], `"size"`, `"sise"`, 1))
	_, errOut, code := cli(t, "dataset", "stats", file)
	for _, want := range []string{":2: found no id", ":4: found no task", ":5: demonstrate task", `:6: found no task: json: unknown field "sise"`, "4 of 6 rows"} {
		if code != exitUsage || !strings.Contains(errOut, want) {
			t.Errorf("stats: exit code %d, want %d and %q\n%s", code, exitUsage, want, errOut)
		}
	}
	packed := build(t, "v.jsonl.zst", "--validation")
	body := get(t, packed)
	if err := os.WriteFile(packed, body[:len(body)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"show", file, "--first", "2"}, exitUsage, file + ":2: found no id"},
		{[]string{"show", file, "val-9x9-9999"}, exitUsage, file + ":2: "},
		{[]string{"show", put(t, "one.jsonl", lines[0]), "nobody"}, exitNotFound, `no task "nobody"`},
		{[]string{"show", file, "x", "--first", "2"}, exitUsage, "want one of them"},
		{[]string{"show", file, "--first", "0"}, exitUsage, "want 1 or more"},
		{[]string{"stats", put(t, "empty.jsonl", "\n")}, exitUsage, "found no rows"},
		{[]string{"stats", file, "--environment", "pond"}, exitUsage, "pond"},
		{[]string{"stats", "no/such.jsonl"}, exitUsage, "no/such.jsonl"},
		{[]string{"stats", packed}, exitUsage, packed + ":"},
		{[]string{"verify", file}, exitUsage, "bad.jsonl.conformance.json"},
	} {
		if _, errOut, code := cli(t, append([]string{"dataset"}, c.args...)...); code != c.code || !strings.Contains(errOut, c.says) {
			t.Errorf("%v: exit code %d, want %d and %q\n%s", c.args, code, c.code, c.says, errOut)
		}
	}
}

func TestBuildRefusesWhatItCannotDraw(t *testing.T) {
	spec := put(t, "spec.yaml", datasetSpec)
	bad := put(t, "c.yaml", "sizes:\n  3x3: {data_ratio: 0.5, holes: 1}\n")
	full := put(t, "c.json", `{"rows":[{"size":"3x3","data_ratio":1,"knobs":[{"name":"hole_ratio","value":0.9},{"name":"wait_ratio","value":0}]}]}`)
	for _, c := range []struct {
		args []string
		says string
	}{
		{nil, "found 0 sets asked for"},
		{[]string{"--round", "0", "--validation"}, "found 2 sets asked for"},
		{[]string{"--validation", "--curriculum", bad}, "--curriculum goes with --round"},
		{[]string{"--round", "1"}, "want --curriculum FILE"},
		{[]string{"--round", "2"}, "rounds 0 to 1"},
		{[]string{"--round", "0", "--curriculum", bad}, bad + ":2:26: "},
		{[]string{"--round", "0", "--curriculum", full}, "hole_ratio = 0.9"},
		{[]string{"--benchmark", "9"}, "no size of lake"},
		{[]string{"--validation", "--out", "set.csv"}, "ends in .jsonl"},
		{[]string{"--validation", "--set", "samples=x"}, "samples"},
	} {
		_, errOut, code := cli(t, append([]string{"dataset", "build", spec}, c.args...)...)
		if code != exitUsage || !strings.Contains(errOut, c.says) {
			t.Errorf("%v: exit code %d, want %d and %q\n%s", c.args, code, exitUsage, c.says, errOut)
		}
	}
}
