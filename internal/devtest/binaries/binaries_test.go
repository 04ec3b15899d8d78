package binaries_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"floe/internal/devtest/binaries"
)

// checkout is what a test program knows of the small repository.
func checkout(t *testing.T, root string) *binaries.Checkout {
	t.Helper()
	c, err := binaries.At(filepath.Join(root, "internal", "devtest"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// devstack builds devstack and runs it.
func devstack(t *testing.T, root string) (binary, says string, at time.Time) {
	t.Helper()
	dir, err := checkout(t, root).Build(binaries.Devstack)
	if err != nil {
		t.Fatal(err)
	}
	binary = filepath.Join(dir, binaries.Devstack)
	out, err := exec.CommandContext(t.Context(), binary).CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(binary)
	if err != nil {
		t.Fatal(err)
	}
	return binary, strings.TrimSpace(string(out)), info.ModTime()
}

func TestAProgramIsBuiltWhenItsSourcesChange(t *testing.T) {
	t.Setenv(binaries.EnvDevstack, "")
	root := plant(t)
	source := filepath.Join(root, "devstack", "main.go")
	write(t, source, "package main\n\nfunc main() { println(\"one\") }\n")
	binary, says, first := devstack(t, root)
	if filepath.Dir(binary) != filepath.Join(root, "bin", "test") || says != "one" {
		t.Errorf("built %s, which says %q", binary, says)
	}
	write(t, filepath.Join(root, "devstack", "main_test.go"), "package main\n")
	if _, _, again := devstack(t, root); !again.Equal(first) {
		t.Error("built again although nothing but a test changed")
	}
	write(t, source, "package main\n\nfunc main() { println(\"two\") }\n")
	if _, says, _ := devstack(t, root); says != "two" {
		t.Errorf("after a change it says %q", says)
	}
	write(t, source, "package main\n\nfunc main() { broken }\n")
	c := checkout(t, root)
	_, err := c.Build(binaries.Devstack)
	if err == nil || !strings.Contains(err.Error(), "broken") {
		t.Errorf("got %v; want what the compiler said", err)
	}
	if _, again := c.Build(binaries.Devstack); again != err { //nolint:errorlint // the very same
		t.Errorf("asked again, got %v; want the failure that is known", again)
	}
	if _, err := c.Build(binaries.Worker); err != nil {
		t.Errorf("the worker needs no devstack, and got %v", err)
	}
}

func TestManyBuildersDoNotGetInEachOthersWay(t *testing.T) {
	t.Setenv(binaries.EnvDevstack, "")
	root := plant(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if _, err := checkout(t, root).Build(binaries.Worker, binaries.Devstack); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	devstack(t, root)
}

func TestABuiltDevstackCanBeNamed(t *testing.T) {
	root, named := plant(t), filepath.Join(t.TempDir(), "mine")
	t.Setenv(binaries.EnvDevstack, "")
	devstack(t, root)
	if err := os.WriteFile(named, []byte("#!/bin/sh\necho mine\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ named, says string }{{named, "mine"}, {"", ""}} {
		t.Setenv(binaries.EnvDevstack, c.named)
		if _, says, _ := devstack(t, root); says != c.says {
			t.Errorf("with %q named, it says %q; want %q", c.named, says, c.says)
		}
	}
}

func TestWithoutSourcesTheFolderIsNamed(t *testing.T) {
	if _, err := binaries.At(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no folder devstack in") {
		t.Errorf("got %v", err)
	}
}

func TestAProgramThatIsNotKnownIsNamed(t *testing.T) {
	if _, err := checkout(t, plant(t)).Build("wroker"); err == nil || !strings.Contains(err.Error(), `"wroker"`) {
		t.Errorf("got %v", err)
	}
}
