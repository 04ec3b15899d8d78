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

// repository makes a tree with a small program in devstack's place.
func repository(t *testing.T) (c *binaries.Checkout, sources string) {
	t.Helper()
	t.Setenv(binaries.EnvBinary, "")
	root := t.TempDir()
	sources = filepath.Join(root, "devstack")
	deep := filepath.Join(root, "internal", "some")
	for _, dir := range []string{sources, deep} {
		if err := os.MkdirAll(dir, 0o750); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(sources, "go.mod"), "module small\n\ngo 1.26\n")
	write(t, filepath.Join(sources, "main.go"), "package main\n\nfunc main() { println(\"one\") }\n")
	c, err := binaries.At(deep)
	if err != nil {
		t.Fatal(err)
	}
	return c, sources
}

func write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func build(t *testing.T, c *binaries.Checkout) (binary, says string, at time.Time) {
	t.Helper()
	binary, err := c.Devstack()
	if err != nil {
		t.Fatal(err)
	}
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

func TestDevstackIsBuiltWhenItsSourcesChange(t *testing.T) {
	c, sources := repository(t)
	binary, says, first := build(t, c)
	if filepath.Base(filepath.Dir(binary)) != "bin" || says != "one" {
		t.Errorf("built %s, which says %q", binary, says)
	}
	write(t, filepath.Join(sources, "main_test.go"), "package main\n")
	if _, _, again := build(t, c); !again.Equal(first) {
		t.Error("built again although nothing but a test changed")
	}
	write(t, filepath.Join(sources, "main.go"), "package main\n\nfunc main() { println(\"two\") }\n")
	if _, says, _ := build(t, c); says != "two" {
		t.Errorf("after a change it says %q", says)
	}
	write(t, filepath.Join(sources, "main.go"), "package main\n\nfunc main() { broken }\n")
	if _, err := c.Devstack(); err == nil || !strings.Contains(err.Error(), "broken") {
		t.Errorf("got %v; want what the compiler said", err)
	}
}

func TestManyBuildersDoNotGetInEachOthersWay(t *testing.T) {
	c, _ := repository(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if _, err := c.Devstack(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if _, says, _ := build(t, c); says != "one" {
		t.Errorf("it says %q", says)
	}
}

func TestABuiltDevstackCanBeNamed(t *testing.T) {
	c, _ := repository(t)
	t.Setenv(binaries.EnvBinary, "/opt/devstack")
	if binary, err := c.Devstack(); err != nil || binary != "/opt/devstack" {
		t.Errorf("got %q, %v", binary, err)
	}
}

func TestWithoutSourcesTheFolderIsNamed(t *testing.T) {
	if _, err := binaries.At(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no folder devstack in") {
		t.Errorf("got %v", err)
	}
}
