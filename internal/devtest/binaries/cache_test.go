package binaries_test

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// small is a repository of this one's shape, with this very package: its test
// starts worker, devstack and the scripted trainer, and wants them to end well.
var small = map[string]string{
	"go.mod":                             "module floe\n\ngo 1.26\n",
	"go.sum":                             "",
	"worker/main.go":                     "package main\n\nimport \"floe/internal/word\"\n\nfunc main() { print(word.Word) }\n",
	"worker/poll.go":                     "package main\n",
	"starter/main.go":                    "package main\n\nfunc main() {}\n",
	"internal/word/word.go":              "package word\n\nimport _ \"embed\"\n\n//go:embed some/word.txt\nvar Word string\n\nfunc init() {\n\tif Word != \"word\" {\n\t\tpanic(Word)\n\t}\n}\n",
	"internal/word/some/word.txt":        "word",
	"internal/devtest/scripted/main.go":  "package main\n\nfunc main() {}\n",
	"internal/job/jobtest/trainer/on.go": "package main\n\nfunc main() {}\n",
	"devstack/go.mod":                    "module floe/devstack\n\ngo 1.26\n",
	"devstack/go.sum":                    "",
	"devstack/main.go":                   "package main\n\nfunc main() {}\n",
	"e2e/e2e_test.go": `package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"floe/internal/devtest/binaries"
)

func TestMain(m *testing.M) { os.Exit(binaries.Run(m)) }

func TestAll(t *testing.T) {
	all := []string{binaries.Worker, binaries.Scripted, binaries.Trainer, binaries.Devstack}
	dir, err := binaries.Build(all...)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range all {
		if out, err := exec.Command(filepath.Join(dir, name)).CombinedOutput(); err != nil {
			t.Errorf("%s: %v, %s", name, err, out)
		}
	}
	if script := os.Getenv("EDIT"); script != "" { // while the test runs
		if out, err := exec.Command("sh", "-c", script).CombinedOutput(); err != nil {
			t.Error(err, string(out))
		}
	}
}
`,
}

const exits = "package main\n\nimport \"os\"\n\nfunc main() { os.Exit(3) }\n"

// Times of the small repository's sources, and of its programs.
var (
	before   = time.Now().Add(-time.Hour)
	recently = time.Now().Add(-time.Minute)
)

// plant writes the small repository, all of it an hour old: the go command
// distrusts files of the last two seconds.
func plant(t *testing.T) (root string) {
	t.Helper()
	root = t.TempDir()
	files := maps.Clone(small)
	ours, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range ours {
		if body, err := os.ReadFile(file); err != nil {
			t.Fatal(err)
		} else if !strings.HasSuffix(file, "_test.go") {
			files["internal/devtest/binaries/"+file] = string(body)
		}
	}
	for _, made := range []string{"bin/test/.lock", "bin/test/.changed"} {
		files[made] = ""
	}
	for file, body := range files {
		file = filepath.Join(root, file)
		if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
			t.Fatal(err)
		}
		write(t, file, body)
		if err := os.Chtimes(file, before, before); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// tests runs the small repository's tests as a person would.
func tests(t *testing.T, root string, env ...string) (said string, passed bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "test", "./e2e")
	cmd.Dir, cmd.Env = root, append(append(os.Environ(), "GOFLAGS=-buildvcs=false", "GOWORK=off", "FLOE_DEVSTACK="), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

// cached runs the tests until they pass without being run. That takes a second
// run, with programs that are not of the last two seconds.
func cached(t *testing.T, root string) {
	t.Helper()
	for range 3 {
		said, passed := tests(t, root)
		switch {
		case !passed:
			t.Fatalf("the tests of what is whole fail:\n%s", said)
		case strings.Contains(said, "(cached)"):
			return
		}
		for _, made := range []string{"devstack", "worker", "scripted", "trainer"} {
			if err := os.Chtimes(filepath.Join(root, "bin", "test", made), recently, recently); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Fatal("the tests run again and again on the same sources")
}

func TestBreakingAProgramFailsTheTestsThatStartIt(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it runs the go command again and again: not with -short")
	}
	root := plant(t)
	for file, body := range map[string]string{
		"worker/main.go":                       exits,
		"worker/poll.go":                       "package main\n\nfunc {\n",
		"worker/another.go":                    "package main\n\nfunc init() { panic(3) }\n",
		"internal/word/some/word.txt":          "another",
		"internal/devtest/scripted/main.go":    exits,
		"internal/job/jobtest/trainer/more.go": "package main\n\nfunc init() { panic(3) }\n",
		"devstack/main.go":                     exits,
	} {
		cached(t, root)
		path := filepath.Join(root, file)
		write(t, path, body)
		if said, passed := tests(t, root); passed {
			t.Errorf("with %s broken they pass:\n%s", file, said)
		}
		var err error
		if whole, ok := small[file]; ok {
			err = errors.Join(os.WriteFile(path, []byte(whole), 0o600), os.Chtimes(path, before, before))
		} else {
			err = os.Remove(path)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	cached(t, root)
}

func TestSourcesThatChangeDuringTheTestsWereNotTested(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it runs the go command again and again: not with -short")
	}
	root := plant(t)
	cached(t, root)
	script := "printf '" + strings.ReplaceAll(exits, "\n", `\n`) + "' > " + filepath.Join(root, "worker", "main.go")
	if said, passed := tests(t, root, "EDIT="+script); !passed {
		t.Errorf("the worker that was tested fails:\n%s", said)
	}
	if said, passed := tests(t, root, "EDIT="+script); passed {
		t.Errorf("a worker that was never tested passes:\n%s", said)
	}
}

// TestNoTestBuildsProgramsByItself: what another way builds, the test cache does
// not see.
func TestNoTestBuildsProgramsByItself(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, folder := range []string{"activities", "internal", "starter", "worker", "workflows"} {
		for _, depth := range []string{"*.go", "*/*.go", "*/*/*.go", "*/*/*/*.go"} {
			found, err := filepath.Glob(filepath.Join(root, folder, depth))
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, found...)
		}
	}
	if !slices.Contains(files, filepath.Join(root, "starter", "e2e_test.go")) {
		t.Fatalf("of %d files none is starter/e2e_test.go", len(files))
	}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(body), `"go", "build"`) && filepath.Base(filepath.Dir(file)) != "binaries" {
			t.Errorf("%s runs go build; want binaries.Build", file)
		}
	}
}
