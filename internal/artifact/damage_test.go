package artifact_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"floe/internal/artifact"
	"floe/internal/artifact/artifacttest"
)

func TestAWriteThatDoesNotReadBackIsNotCommitted(t *testing.T) {
	store := artifacttest.NewMemory()
	store.OnGet = func(_ string, content []byte) ([]byte, error) {
		if len(content) > 0 {
			content[0] ^= 1
		}
		return content, nil
	}
	_, _, err := over(store).Commit(t.Context(), train, "run-1", nil, begun, files(t, "weights"))
	if err == nil || !strings.Contains(err.Error(), "read back "+trainFolder+"run-1/policy.bin") {
		t.Errorf("commit: %v; want it to name the object that did not read back", err)
	}
	if _, ok := errors.AsType[*artifact.CorruptError](err); ok {
		t.Error("nothing was recorded, so nothing is corrupt: another attempt may do better")
	}
	store.OnGet = nil
	wantNotDone(t, over(store))
}

func TestDamageIsFoundOnRead(t *testing.T) {
	store := artifacttest.NewMemory()
	s := over(store)
	m := commit(t, s, "run-1", "weights")
	f, _ := m.File("policy.bin")
	store.Corrupt(f.Object)
	_, err := s.Read(t.Context(), m, "policy.bin")
	var corrupt *artifact.CorruptError
	if !errors.As(err, &corrupt) || corrupt.Object != f.Object || corrupt.Manifest != trainManifest {
		t.Fatalf("read: %v; want a CorruptError of the object", err)
	}
	for _, part := range []string{f.Object, f.SHA256, "got 7 bytes", trainManifest} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not say %q", err, part)
		}
	}
	r, err := s.Open(t.Context(), m, "policy.bin")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close() //nolint:errcheck // in memory
	if _, err := io.ReadAll(r); !errors.As(err, &corrupt) {
		t.Errorf("streaming: %v; want a CorruptError", err)
	}
}

func TestAFlippedBitOnTheWayIsNoDamage(t *testing.T) {
	store := artifacttest.NewMemory()
	s := over(store)
	m := commit(t, s, "run-1", "weights")
	flips := 1
	store.OnGet = func(_ string, content []byte) ([]byte, error) {
		if flips > 0 {
			flips--
			content[0] ^= 1
		}
		return content, nil
	}
	if got, err := s.Read(t.Context(), m, "policy.bin"); err != nil || string(got) != "weights" {
		t.Errorf("read %q, %v", got, err)
	}
}

func TestRecordedButNotThereIsFound(t *testing.T) {
	damage := map[string]func(*testing.T, *artifacttest.Memory, string){
		"no object": func(t *testing.T, store *artifacttest.Memory, key string) {
			if err := store.Delete(t.Context(), key); err != nil {
				t.Fatal(err)
			}
		},
		"3 bytes": func(t *testing.T, store *artifacttest.Memory, key string) {
			if err := store.Put(t.Context(), key, strings.NewReader("sho")); err != nil {
				t.Fatal(err)
			}
		},
	}
	for got, do := range damage {
		t.Run(got, func(t *testing.T) {
			store := artifacttest.NewMemory()
			s := over(store)
			m := commit(t, s, "run-1", "weights")
			f, _ := m.File("policy.bin")
			do(t, store, f.Object)
			_, ok, err := s.Find(t.Context(), train)
			var corrupt *artifact.CorruptError
			if ok || !errors.As(err, &corrupt) || corrupt.Object != f.Object || corrupt.Got != got {
				t.Errorf("find: %v, %v; want a CorruptError: got %s", ok, err, got)
			}
			if _, err := s.Read(t.Context(), m, "policy.bin"); !errors.As(err, &corrupt) {
				t.Errorf("read: %v; want a CorruptError", err)
			}
		})
	}
}

func TestManifestsThatLieAreRefused(t *testing.T) {
	store := artifacttest.NewMemory()
	s := over(store)
	honest := mustJSON(t, commit(t, s, "run-1", "weights"))
	swap := func(old, with string) string { return strings.Replace(honest, old, with, 1) }
	for name, body := range map[string]string{
		"torn":                    honest[:len(honest)/2],
		"empty":                   "",
		"of another schema":       swap("floe.step/v1", "floe.step/v9"),
		"of another step":         swap(train.Key, strings.Repeat("cd", 32)),
		"of another kind":         swap(`"train"`, `"validate"`),
		"pointing elsewhere":      swap("run-1/policy.bin", "run-2/policy.bin"),
		"leaving its folder":      swap(`"name":"policy.bin"`, `"name":"../policy.bin"`),
		"without a digest":        swap(`"sha256":"`, `"sha256":"zz`),
		"with a file there twice": swap(`"result.json"`, `"policy.bin"`),
		"with a negative size":    swap(`"size":7`, `"size":-7`),
		"of a reserved attempt":   strings.ReplaceAll(honest, "run-1", "partial"),
	} {
		if body == honest {
			t.Errorf("%s: the case changes nothing", name)
		}
		if err := store.Put(t.Context(), trainManifest, strings.NewReader(body)); err != nil {
			t.Fatal(err)
		}
		_, ok, err := s.Find(t.Context(), train)
		var corrupt *artifact.CorruptError
		if ok || !errors.As(err, &corrupt) || corrupt.Object != trainManifest {
			t.Errorf("a manifest %s: %v, %v; want a CorruptError of the manifest", name, ok, err)
		}
	}
}

func TestTroubleIsNotMistakenForDamageOrAbsence(t *testing.T) {
	store := artifacttest.NewMemory()
	s := over(store)
	m := commit(t, s, "run-1", "weights")
	away := errors.New("connection refused")
	store.OnGet = func(string, []byte) ([]byte, error) { return nil, away }
	_, _, find := s.Find(t.Context(), train)
	_, read := s.Read(t.Context(), m, "policy.bin")
	_, _, _, latest := s.LatestPartial(t.Context(), train)
	if !errors.Is(find, away) || !errors.Is(read, away) || latest != nil {
		t.Errorf("find: %v; read: %v; partial: %v; want the cause", find, read, latest)
	}
	var corrupt *artifact.CorruptError
	if errors.As(find, &corrupt) || errors.As(read, &corrupt) {
		t.Error("a broken connection was taken for damage")
	}
}
