package chaos

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"floe/internal/devtest/skill"
)

// sums are the sha256 of the artifacts of all cells.
func (s *site) sums(v view) map[string]map[string]string {
	s.t.Helper()
	all := map[string]map[string]string{}
	for _, c := range v.Cells {
		var entries []struct{ Path, SHA256 string }
		if !s.ask(&entries, "artifacts", "ls", c.Name) || len(entries) == 0 {
			s.t.Fatalf("%s has no artifacts", c.Name)
		}
		all[c.Name] = map[string]string{}
		for _, e := range entries {
			all[c.Name][e.Path] = e.SHA256
		}
	}
	return all
}

// check looks at what a storm has left. Workers and servers are stopped.
func (s *site) check(d *diary, v view, same func(string) bool, want map[string]map[string]string) {
	s.t.Helper()
	s.everyCellOnce(v)
	s.sameArtifacts(d, same, want, s.sums(v))
	s.stopWorkers()
	s.nothingLeft(d)
	s.close()
	// A server that a killed worker has left ends two minutes after it.
	within(3*time.Minute, func() bool { return len(marked(s.mark)) == 0 })
	for pid, line := range marked(s.mark) {
		s.t.Errorf("process %d is left over: %s", pid, line)
	}
	for _, e := range skill.Diary(s.t, s.home(fileDiary)) {
		if e.Event == skill.EventClash {
			s.t.Errorf("process %d began while another had its worker's device", e.PID)
		}
	}
	s.noSecrets()
}

func (s *site) everyCellOnce(v view) {
	s.t.Helper()
	if n := v.Tally; n.Wanted != n.Done {
		s.t.Errorf("the sum: %+v; want all done", n)
	}
	for _, c := range v.Cells {
		if c.Tries != 1 {
			s.t.Errorf("cell %s was started %d times", c.Name, c.Tries)
		}
	}
	var experiments []struct{ Name, State string }
	if !s.ask(&experiments, "list") || len(experiments) != len(v.Cells) {
		s.t.Errorf("%d experiments of %d cells: %v", len(experiments), len(v.Cells), experiments)
	}
	for _, e := range experiments {
		if e.State != done {
			s.t.Errorf("%s is %s", e.Name, e.State)
		}
	}
}

func (s *site) sameArtifacts(d *diary, same func(path string) bool, want, got map[string]map[string]string) {
	s.t.Helper()
	n := 0
	for cell, files := range want {
		if want, got := counted(files, same), counted(got[cell], same); want != got {
			s.t.Errorf("%s has %d artifacts; undisturbed it has %d", cell, got, want)
		}
		for path, sum := range files {
			if !same(path) {
				continue
			}
			n++
			if got[cell][path] != sum {
				s.t.Errorf("%s of %s has sha256 %q; undisturbed it is %q", path, cell, got[cell][path], sum)
			}
		}
	}
	d.count("artifacts compared", n)
	d.aside("%d artifacts of %d cells were compared", n, len(want))
}

func counted(files map[string]string, same func(string) bool) (n int) {
	for path := range files {
		if same(path) {
			n++
		}
	}
	return n
}

// swept is what `starter gc` says.
type swept struct {
	Objects int
	Reasons []struct {
		Reason  string
		Objects int
	}
}

// nothingLeft sweeps the store as a person would when the grace is over, and wants
// nothing there afterwards that nobody needs. The grace is not waited for: all
// files are made older.
func (s *site) nothingLeft(d *diary) {
	s.t.Helper()
	if err := s.age(10 * time.Minute); err != nil {
		s.t.Fatal(err)
	}
	var before, now, after swept
	for _, step := range []struct {
		into *swept
		args []string
	}{
		{&before, []string{"gc", "--older", "1m", "--quarantine", "0s", "--dry-run"}},
		{&now, []string{"gc", "--older", "1m", "--quarantine", "0s"}},
		{&after, []string{"gc", "--older", "1m", "--quarantine", "0s", "--dry-run"}},
	} {
		if !s.ask(step.into, step.args...) {
			s.t.Fatalf("starter %s does not answer", strings.Join(step.args, " "))
		}
	}
	d.aside("gc found %+v", before.Reasons)
	d.count("objects swept by gc", now.Objects)
	if now.Objects != before.Objects || after.Objects != 0 {
		s.t.Errorf("gc would sweep %d objects, swept %d, and would then sweep %d; want the same number and then none", before.Objects, now.Objects, after.Objects)
	}
	keys, err := s.objects()
	if err != nil {
		s.t.Fatal(err)
	}
	needed := s.needed(keys)
	for _, key := range keys {
		if !needed[key] {
			s.t.Errorf("%s is left over", key)
		}
	}
}

// needed are the objects that have a reason to be there: manifests and what they
// name, also those that were set aside, and documents.
func (s *site) needed(keys []string) map[string]bool {
	needed := map[string]bool{}
	for _, key := range keys {
		folder, _, _ := strings.Cut(key, "/")
		switch {
		case folder == "experiments" || folder == "sweeps":
			needed[key] = true
		case filepath.Base(key) == "manifest.json", strings.HasPrefix(key, "quarantine/"):
			needed[key] = true
			for _, object := range s.namedBy(key) {
				needed[object] = true
			}
		}
	}
	return needed
}

// age sets back the times of all that lies in the bucket.
func (s *site) age(by time.Duration) error {
	then := time.Now().Add(-by)
	return filepath.WalkDir(s.bucket(), func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Chtimes(path, then, then))
	})
}

// noSecrets looks for keys in all that was written to disk.
func (s *site) noSecrets() {
	s.t.Helper()
	credentials, err := os.ReadFile(s.info.Credentials)
	if err != nil {
		s.t.Fatal(err)
	}
	secrets := map[string]string{"the model's key": canary}
	for line := range strings.Lines(string(credentials)) {
		if name, value, ok := strings.Cut(line, "="); ok && strings.Contains(name, "secret") {
			secrets["the store's key"] = strings.TrimSpace(value)
		}
	}
	if len(secrets) != 2 {
		s.t.Fatalf("%s has no secret key", s.info.Credentials)
	}
	for _, root := range []string{s.logs, s.data} {
		err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() || path == s.info.Credentials {
				return err
			}
			body, err := os.ReadFile(path)
			for whose, secret := range secrets {
				if bytes.Contains(body, []byte(secret)) {
					s.t.Errorf("%s is in %s", whose, path)
				}
			}
			return err
		})
		if err != nil {
			s.t.Error(fmt.Errorf("look for secrets: %w", err))
		}
	}
}

// objects are all that lies in the bucket, by key.
func (s *site) objects() ([]string, error) {
	var keys []string
	err := filepath.WalkDir(s.bucket(), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		key, err := filepath.Rel(s.bucket(), path)
		keys = append(keys, filepath.ToSlash(key))
		return err
	})
	return keys, err
}
