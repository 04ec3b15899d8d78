package main

import (
	"bytes"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

// cli runs the command line in this process.
func cli(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir()) // no development stack of the person who tests
	var out, errOut bytes.Buffer
	code = run(t.Context(), args, strings.NewReader(""), &out, &errOut)
	return out.String(), errOut.String(), code
}

func TestExitCodes(t *testing.T) {
	defer func(own []string) { os.Args = own }(os.Args)
	os.Args = []string{"starter", "list", "--frob"} // of the process; run is given its arguments
	bad := filepath.Join(t.TempDir(), "bad.yaml")
	if err := os.WriteFile(bad, []byte("name: x\nroundz: 3\nepochs: two\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		args []string
		code int
		says []string
	}{
		{"no arguments show the help", nil, exitOK, nil},
		{"unknown command", []string{"frobnicate"}, exitUsage, []string{"frobnicate"}},
		{"unknown flag", []string{"list", "--frob"}, exitUsage, []string{"--frob", "starter list --help"}},
		{"missing argument", []string{"run"}, exitUsage, []string{"starter run --help"}},
		{"bad output format", []string{"version", "-o", "xml"}, exitUsage, []string{"xml", "table, json or yaml"}},
		{"bad state", []string{"list", "--state", "gone"}, exitUsage, []string{"gone", "cancelled"}},
		{"missing file", []string{"validate", "no/such.yaml"}, exitUsage, []string{"no/such.yaml"}},
		{"all faults of a file at once", []string{"validate", bad}, exitUsage, []string{bad + ":2:1", "did you mean rounds?", bad + ":3:9", "epochs"}},
		{"a fault in an override", []string{"validate", "../examples/demo.yaml", "--set", "rounds=none"}, exitUsage, []string{"rounds=none"}},
		{"a verb that is nearly right", []string{"shwo"}, exitUsage, []string{`no verb "shwo"; did you mean show?`}},
		{"a verb of a verb", []string{"sweep", "plam"}, exitUsage, []string{"did you mean plan?", "starter sweep --help"}},
		{"a flag that is nearly right", []string{"list", "--limt", "3"}, exitUsage, []string{"unknown flag: --limt; did you mean --limit?"}},
		{"a fork without its round", []string{"fork", "demo"}, exitUsage, []string{"--at-round is missing", "starter fork --help"}},
		{"a sweep file", []string{"validate", "../examples/sweep-demo.yaml"}, exitUsage, []string{"is a sweep file; use: starter sweep plan ../examples/sweep-demo.yaml"}},
		{"a sweep file to run", []string{"run", "../examples/sweep-demo.yaml"}, exitUsage, []string{"is a sweep file"}},
		{"an experiment file", []string{"sweep", "plan", "../examples/demo.yaml"}, exitUsage, []string{"is an experiment file; use: starter run ../examples/demo.yaml"}},
		{"an override without effect", []string{"validate", "../examples/demo.yaml", "--set", "designer.context=V3"}, exitOK, []string{"designer.context: V6 -> V3: no effect"}},
		{"a folder without a stack", []string{"list", "--data", t.TempDir()}, exitUnreachable, []string{"starter dev"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, errOut, code := cli(t, c.args...)
			if code != c.code {
				t.Errorf("exit code %d; want %d\n%s", code, c.code, errOut)
			}
			if strings.Count(errOut, "--help") > 1 || c.name == "a sweep file" && strings.Count(errOut, "\n") != 1 {
				t.Errorf("stderr says too much:\n%s", errOut)
			}
			if helps := strings.Contains(out, "starter [command]"); helps != (c.args == nil) {
				t.Errorf("stdout is the help: %t; want %t\n%s", helps, c.args == nil, out)
			}
			for _, s := range c.says {
				if !strings.Contains(errOut, s) {
					t.Errorf("stderr has no %q:\n%s", s, errOut)
				}
			}
		})
	}
}

// TestUnreachableServersAreNamed asks a port that accepts and never answers, and
// one that refuses.
func TestUnreachableServersAreNamed(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := silent.Close(); err != nil {
			t.Error(err)
		}
	}()
	refusing, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := refusing.Addr().String()
	if err := refusing.Close(); err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{silent.Addr().String(), gone} {
		started := time.Now()
		_, errOut, code := cli(t, "list", "--address", address)
		if code != exitUnreachable || !strings.Contains(errOut, address) {
			t.Errorf("exit code %d, %s; want %d and the address %s", code, errOut, exitUnreachable, address)
		}
		// 10 s are promised; the rest is for a machine that is busy with other tests.
		if took := time.Since(started); took > time.Minute {
			t.Errorf("gave up after %v", took)
		}
	}
}

func TestOutputFormats(t *testing.T) {
	out, _, code := cli(t, "validate", "../examples/demo.yaml", "-o", "json")
	var p plan
	if err := json.Unmarshal([]byte(out), &p); err != nil || code != exitOK {
		t.Fatalf("exit code %d, %v: %s", code, err, out)
	}
	if p.Rounds != 3 || p.Jobs != 4 || p.Rollouts != 3*4000*2*8 {
		t.Errorf("plan %+v", p)
	}
	out, _, _ = cli(t, "validate", "../examples/demo.yaml", "-o", "yaml")
	var same plan
	var tree map[string]any
	if err := yaml.Unmarshal([]byte(out), &tree); err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(tree)
	if err == nil {
		err = json.Unmarshal(body, &same)
	}
	if err != nil || same != p {
		t.Errorf("yaml says %+v, json %+v (%v)", same, p, err)
	}
}

func TestEffectiveSpecIsAFileOfItsOwn(t *testing.T) {
	out, _, _ := cli(t, "validate", "../examples/demo.yaml", "--effective")
	file := filepath.Join(t.TempDir(), "effective.yaml")
	if err := os.WriteFile(file, []byte(out), 0o600); err != nil {
		t.Fatal(err)
	}
	again, errOut, code := cli(t, "validate", file, "--effective")
	if code != exitOK || again != out {
		t.Errorf("exit code %d, %s\ngot\n%s\nwant\n%s", code, errOut, again, out)
	}
}

func TestCompletionAndSchemaArePrinted(t *testing.T) {
	for _, args := range [][]string{{"completion", "bash"}, {"completion", "zsh"}, {"completion", "fish"}, {"schema"}, {"version"}} {
		if out, errOut, code := cli(t, args...); code != exitOK || out == "" {
			t.Errorf("%v: exit code %d, %q %s", args, code, out, errOut)
		}
	}
}
