package homes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// site is where and how one demo runs.
type site struct {
	*testing.T

	root string            // of all its files
	data string            // --data; empty: not given
	env  map[string]string // the whole environment
	dir  string            // the current folder
	uid  int               // the user; -1: the one who tests
	mask string            // umask
	last string            // what the shell does before it starts the demo
}

// newSite is a home as most people have one.
func newSite(t *testing.T) *site {
	t.Helper()
	root, err := os.MkdirTemp("", "floe-homes-") //nolint:usetesting // that of the test has a long name itself
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		makeWritable(root)
		if err := os.RemoveAll(root); err != nil {
			t.Error(err)
		}
	})
	s := &site{T: t, root: root, uid: -1, mask: "022", last: "true", dir: root, data: filepath.Join(root, "data")}
	s.must(os.Chmod(root, 0o755))
	s.env = map[string]string{"PATH": os.Getenv("PATH"), "HOME": s.folder("home"), "LANG": "C.UTF-8"}
	return s
}

// makeWritable undoes what a home has forbidden, so that it can be removed.
func makeWritable(root string) {
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil // what cannot be changed shows in the removal
	})
}

func (s *site) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// folder makes a folder below the root.
func (s *site) folder(name string) string {
	s.Helper()
	dir := filepath.Join(s.root, name)
	s.must(os.MkdirAll(dir, 0o755))
	return dir
}

// ran is what a demo left.
type ran struct {
	code   int
	out    []byte
	said   string
	before time.Time
	after  time.Time
}

// demoSets make a demo of a second or two.
var demoSets = []string{
	"rounds=2", "samples=64", "epochs=1", "validation.instances=4", "validation.sizes=[3x3]", "trainer.warm_start=20", "trainer.warm_epochs=1",
	"benchmarks.agents=[]", "curriculum={sizes: {3x3: {data_ratio: 1}}}",
}

// demo runs the demo at the site.
func (s *site) demo() ran {
	s.Helper()
	args := []string{"-c", "umask " + s.mask + ` && ` + s.last + ` && exec "$0" "$@"`, filepath.Join(programs, "starter"), "demo", "-o", "json", "--temporal-port", "0", "--ui-port", "0", "--s3-port", "0"}
	if s.data != "" {
		args = append(args, "--data", s.data)
	}
	for _, set := range demoSets {
		args = append(args, "--set", set)
	}
	ctx, cancel := context.WithTimeout(s.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 30 * time.Second
	cmd.Dir = s.dir
	for _, name := range slices.Sorted(maps.Keys(s.env)) {
		cmd.Env = append(cmd.Env, name+"="+s.env[name])
	}
	if s.uid >= 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(s.uid), Gid: uint32(s.uid)}}
	}
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	r := ran{before: time.Now()}
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		s.Fatal(err)
	}
	r.after, r.code, r.out, r.said = time.Now(), cmd.ProcessState.ExitCode(), out.Bytes(), said.String()
	return r
}

// figures are a demo's results without what differs from run to run.
func (s *site) figures(r ran) string {
	s.Helper()
	var all map[string]any
	if err := json.Unmarshal(r.out, &all); err != nil || r.code != 0 {
		s.Fatalf("exit code %d, %v\n%s%.2000s", r.code, err, r.said, r.out)
	}
	s.times(r, all)
	delete(all, "provenance")
	body, err := json.Marshal(plain(all))
	s.must(err)
	return string(body)
}

// times looks at the clock of the results: beginnings and ends are of this run, and
// no step took longer.
func (s *site) times(r ran, all map[string]any) {
	s.Helper()
	provenance, _ := all["provenance"].(map[string]any)
	for _, key := range []string{"started", "finished"} {
		text, _ := provenance[key].(string)
		at, err := time.Parse(time.RFC3339, text)
		if err != nil || !strings.HasSuffix(text, "Z") || at.Before(r.before.Add(-2*time.Second)) || at.After(r.after.Add(2*time.Second)) {
			s.Errorf("%s is %q, %v; want a time from %s to %s, in UTC", key, text, err, r.before.UTC(), r.after.UTC())
		}
	}
	for _, seconds := range durations(all) {
		if took := r.after.Sub(r.before).Seconds(); seconds < 0 || seconds > took {
			s.Errorf("a step took %v seconds of the %v that the demo took", seconds, took)
		}
	}
}

// durations are all values called seconds.
func durations(v any) []float64 {
	var list []float64
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if x, ok := value.(float64); ok && key == "seconds" {
				list = append(list, x)
			}
			list = append(list, durations(value)...)
		}
	case []any:
		for _, value := range v {
			list = append(list, durations(value)...)
		}
	}
	return list
}

// plain is a value without names and durations.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if key == "name" || key == "seconds" {
				delete(v, key)
				continue
			}
			v[key] = plain(value)
		}
	case []any:
		for i, value := range v {
			v[i] = plain(value)
		}
	}
	return v
}
