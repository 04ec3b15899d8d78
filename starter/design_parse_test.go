package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const goodReply = "<think>\nlong\n</think>\nHere:\n```yaml\nrationale: \"more of \\e[31m5x5\"\nsizes:\n" +
	"  3: {data_ratio: 0.2, hole_ratio: 0.1, wait_ratio: 0.2}\n  5x5: {data_ratio: 0.79, hole_ratio: 0.9, wait_ratio: 0.25}\n" +
	"  4x4: {data_ratio: 0, hole_ratio: 0.1, wait_ratio: 0.2}\n  6x6: {data_ratio: 0, hole_ratio: 0.1, wait_ratio: 0.2}\n```\n"

// parse runs the verb on a reply from stdin.
func parse(t *testing.T, reply string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errOut bytes.Buffer
	code = run(t.Context(), append([]string{"design", "parse", "-"}, args...), strings.NewReader(reply), &out, &errOut)
	return out.String(), errOut.String(), code
}

func TestParseShowsClassCurriculumAndReasons(t *testing.T) {
	out, errOut, code := parse(t, goodReply, "--set", "designer.missing=zero", "--set", "designer.min_share=0.02")
	if code != exitOK || errOut != "" {
		t.Fatalf("code %d: %s", code, errOut)
	}
	for _, want := range []string{
		"class      normalised", "outcome    projected", "more of  [31m5x5",
		"What stands after the last </think> is read", "3 was read as the size 3x3.", "these get no samples: 7x7, 8x8, 9x9, 10x10",
		"data_ratio summed to 0.99 and was brought to 1", "5x5 hole_ratio 0.90 -> 0.50", "at least min_share",
		"SIZE", "0.9 -> 0.5",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Contains(out, "\x1b") {
		t.Error("the reply steers the terminal")
	}
}

func TestParseGivesJSON(t *testing.T) {
	out, _, code := parse(t, goodReply, "--set", "designer.missing=zero", "-o", "json")
	var p parsedReply
	if err := json.Unmarshal([]byte(out), &p); err != nil || code != exitOK {
		t.Fatal(err, code)
	}
	if p.Class != "normalised" || !p.Usable || p.Outcome != "projected" || len(p.Used.Rows) != 8 || len(p.Asked.Rows) != 8 || len(p.Changes) == 0 || len(p.Trace) < 5 {
		t.Errorf("parsed %+v", p)
	}
	if asked, used := p.Asked.Rows[2].Knobs[0].Value, p.Used.Rows[2].Knobs[0].Value; asked != 0.9 || used != 0.5 {
		t.Errorf("asked %v, used %v", asked, used)
	}
}

func TestParseRefusesWithItsClass(t *testing.T) {
	for _, c := range []struct {
		reply, class string
		args         []string
	}{
		{"I think 5x5 needs more.", "no_block", nil},
		{"", "empty", nil},
		{goodReply, "missing_size", []string{"--set", "designer.missing=refuse"}},
		{goodReply, "truncated", []string{"--finish-reason", "length"}},
		{strings.Repeat("word ", 1<<17), "not_yaml", nil},
	} {
		out, errOut, code := parse(t, c.reply, append(c.args, "-o", "json")...)
		var p parsedReply
		if err := json.Unmarshal([]byte(out), &p); err != nil {
			t.Fatal(err)
		}
		if code != exitFailed || string(p.Class) != c.class || p.Usable || p.Used != nil || p.Fault == "" || !strings.Contains(errOut, "gives no curriculum ("+c.class+")") {
			t.Errorf("%.30q: code %d, %+v, %s; want %s", c.reply, code, p, errOut, c.class)
		}
	}
}

func TestParseReadsAFileForAnExperiment(t *testing.T) {
	dir := t.TempDir()
	reply, spec := filepath.Join(dir, "reply.txt"), filepath.Join(dir, "spec.yaml")
	for file, text := range map[string]string{
		reply: "sizes: {3x3: {data_ratio: 0.25}}\n",
		spec:  "name: x\ncurriculum: {sizes: {3x3: {data_ratio: 0.25, hole_ratio: 0.2, wait_ratio: 0.1}, 4x4: {data_ratio: 0.75, hole_ratio: 0.1, wait_ratio: 0.3}}}\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, errOut, code := cli(t, "design", "parse", reply, "--spec", spec, "-o", "json")
	var p parsedReply
	if err := json.Unmarshal([]byte(out), &p); err != nil {
		t.Fatal(err, errOut)
	}
	if code != exitOK || p.Outcome != "ok" || len(p.Changes) != 0 || p.Used.Rows[1].DataRatio != 0.75 {
		t.Errorf("code %d, %+v; want the curriculum of the experiment to stay", code, p)
	}
	for _, args := range [][]string{{"design", "parse", filepath.Join(dir, "none")}, {"design", "parse", reply, "--spec", reply}, {"design", "parse"}} {
		if _, errOut, code := cli(t, args...); code != exitUsage || errOut == "" {
			t.Errorf("%q: code %d, %s", args, code, errOut)
		}
	}
}
