package binaries

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// sources are the files that programs were built from, by path, as they were. To
// look at them is what makes the go command remember them: it looks at the same
// folders and files again before it takes a result from the test cache.
type sources map[string]stamp

type stamp struct {
	size     int64
	modified int64
}

// folder takes in a folder: its files, and that no others are there.
func (s sources) folder(dir string) error {
	if err := s.file(dir); err != nil { // its time changes with the list of its files
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		if err := s.file(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// file takes in a file; one that has just gone, as an editor's, counts as empty.
func (s sources) file(path string) error {
	info, err := os.Stat(path)
	if os.IsNotExist(err) {
		s[path] = stamp{}
		return nil
	}
	if err == nil {
		s[path] = stamp{info.Size(), info.ModTime().UnixNano()}
	}
	return err
}

// listed are a package's folder and the files that are embedded from below it.
const listed = `{{if and .Module .Module.Main}}{{.Dir}}{{"\n"}}{{$dir := .Dir}}{{range .EmbedFiles}}{{$dir}}/{{.}}{{"\n"}}{{end}}{{end}}`

// ofPackages takes in the sources of packages, and of all they import of their module.
func (s sources) ofPackages(module string, packages []string) error {
	list := exec.Command("go", append([]string{"list", "-deps", "-e", "-f", listed}, packages...)...) //nolint:gosec // our own packages
	list.Dir = module
	out, err := list.Output()
	if err != nil {
		return fmt.Errorf("list the sources of %s: %w", strings.Join(packages, ", "), err)
	}
	for path := range strings.Lines(string(out)) {
		if path = strings.TrimSpace(path); path == "" {
			continue
		}
		info, err := os.Stat(path)
		switch {
		case err == nil && info.IsDir():
			err = s.folder(path)
		case err == nil:
			err = s.file(path)
		}
		if err != nil {
			return err
		}
	}
	return s.required(module)
}

// required takes in what a module requires.
func (s sources) required(dir string) error {
	for _, name := range []string{"go.mod", "go.sum"} {
		if err := s.file(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// changed are the files that are not as they were.
func (s sources) changed() []string {
	now := sources{}
	var changed []string
	for path := range maps.Keys(s) {
		if err := now.file(path); err != nil || now[path] != s[path] {
			changed = append(changed, path)
		}
	}
	return changed
}

// Run runs the tests of a package. If sources of the programs changed meanwhile,
// it keeps the go command from storing the result: it would count for sources
// that were never tested.
func Run(m *testing.M) (exitCode int) {
	exitCode = m.Run()
	c, err := checkout()
	if err != nil {
		return exitCode
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	changed := c.seen.changed()
	if len(changed) == 0 {
		return exitCode
	}
	fmt.Fprintf(os.Stderr, "sources changed while the tests ran, so their result is not cached: %s\n", strings.Join(changed, ", "))
	if err := renewMark(c.bin()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(exitCode, 1)
	}
	return exitCode
}

// mark is a file that each test program opens. While it is new, the go command
// stores no results of tests that opened it.
const mark = ".changed"

func openMark(dir string) error {
	f, err := os.OpenFile(filepath.Join(dir, mark), os.O_RDONLY|os.O_CREATE, 0o600) //nolint:gosec // inside this repository
	if err != nil {
		return err
	}
	return f.Close()
}

// renewMark makes the mark a file of the next seconds, which the go command needs
// to get to it.
func renewMark(dir string) error {
	soon := time.Now().Add(10 * time.Second)
	return os.Chtimes(filepath.Join(dir, mark), soon, soon)
}
