// Package binaries builds the programs that tests start: worker, starter, a
// scripted trainer and model server, and devstack. It builds what a test asks
// for, when the first asks, and keeps it in bin/test, where a program whose
// sources did not change is neither compiled nor linked again.
//
// The test cache of the go command knows nothing of programs that a test starts.
// It does know which folders and files a test has opened, so this package opens
// the sources of what it builds: a change of worker/main.go runs the tests of
// ./starter again. For a test program of many minutes, Run adds that sources
// which change while the tests run are not taken for the tested ones.
package binaries

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// EnvDevstack names a devstack that is built already; it is used as it is.
const EnvDevstack = "FLOE_DEVSTACK"

// Names of programs.
const (
	Worker   = "worker"
	Starter  = "starter"
	Scripted = "scripted" // trainer and model server of a model that is a number
	Trainer  = "trainer"  // the job of the suite for job back ends
	Devstack = "devstack"
)

// packages are the programs of the main module.
var packages = map[string]string{
	Worker:   "floe/worker",
	Starter:  "floe/starter",
	Scripted: "floe/internal/devtest/scripted",
	Trainer:  "floe/internal/job/jobtest/trainer",
}

// here is the folder that the test program was started in, whatever a test does
// to the working directory.
var here, errHere = os.Getwd()

// checkout is the one that this test program belongs to.
var checkout = sync.OnceValues(func() (*Checkout, error) {
	if errHere != nil {
		return nil, fmt.Errorf("find this repository: %w", errHere)
	}
	return At(here)
})

// Build builds programs from the checkout that the test belongs to and returns
// the folder they lie in. Each is built once per test program, and so is each
// failure.
func Build(names ...string) (dir string, err error) {
	c, err := checkout()
	if err != nil {
		return "", err
	}
	return c.Build(names...)
}

// Checkout is a copy of this repository.
type Checkout struct {
	root string

	mu    sync.Mutex
	built map[string]error
	seen  sources
}

// At finds the checkout at or above a folder.
func At(folder string) (*Checkout, error) {
	for dir := folder; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "devstack", "go.mod")); err == nil {
			return &Checkout{root: dir, built: map[string]error{}, seen: sources{}}, nil
		}
		if dir == filepath.Dir(dir) {
			return nil, fmt.Errorf("find this repository: no folder devstack in %s or above", folder)
		}
	}
}

// Build is the function Build for this checkout.
func (c *Checkout) Build(names ...string) (dir string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	dir = c.bin()
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return "", fmt.Errorf("build programs: %w", err)
	}
	if err := openMark(dir); err != nil {
		return "", fmt.Errorf("build programs: %w", err)
	}
	c.buildMissing(dir, names)
	for _, name := range names {
		if err := c.built[name]; err != nil {
			return "", err
		}
	}
	return dir, nil
}

// bin is the folder of the programs.
func (c *Checkout) bin() string { return filepath.Join(c.root, "bin", "test") }

// buildMissing builds the programs that no test has asked for yet.
func (c *Checkout) buildMissing(dir string, names []string) {
	var wanted []string
	for _, name := range names {
		switch _, done := c.built[name]; {
		case done:
		case name == Devstack:
			c.built[name] = c.devstack(dir)
		case name == Trainer: // its jobs run wherever a scheduler puts them
			c.built[name] = c.compile(dir, []string{name}, "CGO_ENABLED=0")
		default:
			wanted = append(wanted, name)
		}
	}
	if len(wanted) == 0 {
		return
	}
	err := c.compile(dir, wanted)
	for _, name := range wanted {
		c.built[name] = err
	}
}

// compile builds programs of the main module.
func (c *Checkout) compile(dir string, names []string, env ...string) error {
	var paths []string
	for _, name := range names {
		path, ok := packages[name]
		if !ok {
			return fmt.Errorf("build programs: found %q; want worker, starter, scripted, trainer or devstack", name)
		}
		paths = append(paths, path)
	}
	return c.build(c.root, dir, names, paths, env...)
}

// devstack builds the one of this checkout, unless the environment names one.
func (c *Checkout) devstack(dir string) error {
	file := filepath.Join(dir, Devstack)
	named := os.Getenv(EnvDevstack)
	if info, err := os.Lstat(file); err == nil && (named != "" || !info.Mode().IsRegular()) {
		if err := os.Remove(file); err != nil {
			return fmt.Errorf("build devstack: %w", err)
		}
	}
	if named == "" {
		return c.build(filepath.Join(c.root, "devstack"), dir, []string{Devstack}, []string{"."}, "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -tags=osusergo"))
	}
	if err := os.Symlink(named, file); err != nil {
		return fmt.Errorf("link %s: %w", EnvDevstack, err)
	}
	return c.seen.file(file) // by way of the link the test cache sees a program outside the checkout, too
}

// build compiles packages of a module. The go command leaves alone what is up to
// date, and renames what is not into its place.
func (c *Checkout) build(module, dir string, names, paths []string, env ...string) error {
	unlock, err := lock(filepath.Join(dir, ".lock"))
	if err != nil {
		return fmt.Errorf("build programs: %w", err)
	}
	defer unlock()
	if err := c.seen.ofPackages(module, paths); err != nil {
		return fmt.Errorf("build programs: %w", err)
	}
	defer keepTimes(dir, names)()
	build := exec.Command("go", append([]string{"build", "-o", dir + string(filepath.Separator)}, paths...)...) //nolint:gosec // our own packages
	build.Dir, build.Env = module, append(os.Environ(), env...)
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", strings.Join(names, ", "), err, out)
	}
	return nil
}

// keepTimes gives programs that a build has only touched their times back: to the
// test cache they are files that tests read.
func keepTimes(dir string, names []string) (restore func()) {
	before := map[string]os.FileInfo{}
	for _, name := range names {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil {
			before[name] = info
		}
	}
	return func() {
		for name, was := range before {
			file := filepath.Join(dir, name)
			if now, err := os.Stat(file); err == nil && os.SameFile(was, now) && was.Size() == now.Size() {
				_ = os.Chtimes(file, was.ModTime(), was.ModTime()) // at worst tests run again
			}
		}
	}
}
