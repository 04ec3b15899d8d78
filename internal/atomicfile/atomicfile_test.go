package atomicfile_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"floe/internal/atomicfile"
)

func says(text string, err error) func(io.Writer) error {
	return func(w io.Writer) error {
		_, failed := io.WriteString(w, text)
		return errors.Join(failed, err)
	}
}

func want(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	body, err := os.ReadFile(path)
	if err != nil || string(body) != text {
		t.Errorf("%s has %q, %v; want %q", path, body, err, text)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
		t.Errorf("%s is %v, %v; want mode %v", path, info, err, mode)
	}
	if all, err := os.ReadDir(filepath.Dir(path)); err != nil || len(all) != 1 {
		t.Errorf("the folder has %v, %v; want the file alone", all, err)
	}
}

func TestAFileIsReplacedWholeOrNotAtAll(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report.html")
	if err := atomicfile.Write(path, 0o600, says("first", nil)); err != nil {
		t.Fatal(err)
	}
	want(t, path, "first", 0o600)
	if err := atomicfile.Write(path, 0o644, says("second", nil)); err != nil {
		t.Fatal(err)
	}
	want(t, path, "second", 0o644)
	full := errors.New("no space left")
	if err := atomicfile.Write(path, 0o600, says("half of the thi", full)); !errors.Is(err, full) {
		t.Errorf("got %v; want %v", err, full)
	}
	want(t, path, "second", 0o644)
}
