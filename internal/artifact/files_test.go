package artifact_test

import (
	"errors"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"floe/internal/artifact"
	"floe/internal/artifact/artifacttest"
)

type row struct {
	ID   int    `json:"id"`
	Text string `json:"text"`
}

func rows(n int) []row {
	all := make([]row, n)
	for i := range all {
		all[i] = row{i, strings.Repeat("<S & G>", i%5)}
	}
	return all
}

func TestRowsComeBack(t *testing.T) {
	s := over(artifacttest.NewMemory())
	for _, want := range [][]row{nil, rows(1), rows(10_000)} {
		body, err := artifact.JSONLines("rows.jsonl.zst", want)
		if err != nil {
			t.Fatal(err)
		}
		m, _, err := s.Commit(t.Context(), train, "run-1", nil, begun, []artifact.Body{body})
		if err != nil {
			t.Fatal(err)
		}
		got, err := artifact.ReadJSONLines[row](t.Context(), s, m, "rows.jsonl.zst")
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%d rows came back, %v; want %d", len(got), err, len(want))
		}
		if err := s.Store.Delete(t.Context(), trainManifest); err != nil {
			t.Fatal(err)
		}
	}
}

// The digest of such a file is part of the keys of later steps. If this test
// fails after an update of the compressor, finished work will be done again.
func TestEqualRowsAreEqualBytesOnAnyMachine(t *testing.T) {
	const want = "467ae9d0c298618aac27d654f06ca190fbee985e3583d78402eacbb971344c90"
	s := over(artifacttest.NewMemory())
	for i, procs := range []int{1, 2, 7} {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
		body, err := artifact.JSONLines("rows.jsonl.zst", rows(30_000))
		if err != nil {
			t.Fatal(err)
		}
		id := train
		id.Key = strings.Repeat("0", 63) + string(rune('0'+i))
		m, _, err := s.Commit(t.Context(), id, "run-1", nil, begun, []artifact.Body{body})
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Files[0].SHA256; got != want {
			t.Errorf("GOMAXPROCS %d: sha256 %s; want %s", procs, got, want)
		}
	}
}

func TestRowsOfAnotherFormAreNamed(t *testing.T) {
	s := over(artifacttest.NewMemory())
	odd, err := artifact.JSONLines("odd.jsonl.zst", []any{row{1, "a"}, "not a row"})
	if err != nil {
		t.Fatal(err)
	}
	m, _, err := s.Commit(t.Context(), train, "run-1", nil, begun, []artifact.Body{odd, artifact.Bytes("raw", []byte("{"))})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := artifact.ReadJSONLines[row](t.Context(), s, m, "odd.jsonl.zst"); err == nil || !strings.Contains(err.Error(), "row 2") {
		t.Errorf("got %v; want an error of row 2", err)
	}
	if _, err := artifact.ReadJSONLines[row](t.Context(), s, m, "raw"); err == nil {
		t.Error("a file that is not compressed was read")
	}
	var v any
	if err := s.ReadJSON(t.Context(), m, "raw", &v); err == nil || !strings.Contains(err.Error(), "raw of train/") {
		t.Errorf("got %v; want an error that names the file", err)
	}
	if _, err := artifact.JSONLines("f", []any{1, func() {}}); err == nil || !strings.Contains(err.Error(), "row 2") {
		t.Errorf("got %v; want an error of row 2", err)
	}
	if _, err := artifact.JSON("f", func() {}); err == nil {
		t.Error("a function became JSON")
	}
}

func TestJSONStaysReadable(t *testing.T) {
	body, err := artifact.JSON("a.json", map[string]string{"map": "S<G>&"})
	if err != nil {
		t.Fatal(err)
	}
	r, err := body.Open()
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r)
	if want := "{\n  \"map\": \"S<G>&\"\n}\n"; err != nil || string(got) != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

func TestDocumentsOfExperiments(t *testing.T) {
	s := over(artifacttest.NewMemory())
	for _, d := range [][2]string{{"a", "spec.yaml"}, {"a-b", "spec.yaml"}, {"a", "report.html"}, {"c", "x"}} {
		if err := s.PutDoc(t.Context(), d[0], d[1], []byte("old")); err != nil {
			t.Fatal(err)
		}
		if err := s.PutDoc(t.Context(), d[0], d[1], []byte(strings.Join(d[:], " "))); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := s.GetDoc(t.Context(), "a", "report.html"); err != nil || string(got) != "a report.html" {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := s.ListDocs(t.Context(), "a"); err != nil || !slices.Equal(got, []string{"report.html", "spec.yaml"}) {
		t.Errorf("documents %q, %v", got, err)
	}
	if got, err := s.ListExperiments(t.Context()); err != nil || !slices.Equal(got, []string{"a", "a-b", "c"}) {
		t.Errorf("experiments %q, %v", got, err)
	}
	if got, err := s.ListDocs(t.Context(), "unknown"); err != nil || len(got) != 0 {
		t.Errorf("documents of nobody: %q, %v", got, err)
	}
	if _, err := s.GetDoc(t.Context(), "a", "nothing"); !errors.Is(err, artifact.ErrNotFound) {
		t.Errorf("got %v; want ErrNotFound", err)
	}
	for _, bad := range [][2]string{{"a/b", "f"}, {"a", "f/g"}, {"..", "f"}, {"a", ""}} {
		if err := s.PutDoc(t.Context(), bad[0], bad[1], nil); err == nil {
			t.Errorf("document %q was accepted", bad)
		}
	}
}
