package artifact_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"floe/internal/artifact"
	"floe/internal/artifact/artifacttest"
	"floe/internal/experiment"
)

var (
	begun = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	train = experiment.StepID{Kind: "train", Key: strings.Repeat("ab", 32)}
)

const (
	trainFolder   = "steps/train/abababababababababababababababababababababababababababababababab/"
	trainManifest = trainFolder + "manifest.json"
)

func over(store artifact.Store) artifact.Steps {
	return artifact.Steps{
		Store: store, Version: "test", Host: "here",
		Now: func() time.Time { return begun.Add(time.Minute) },
	}
}

func files(t *testing.T, content string) []artifact.Body {
	t.Helper()
	result, err := artifact.JSON("result.json", map[string]string{"says": content})
	if err != nil {
		t.Fatal(err)
	}
	return []artifact.Body{artifact.Bytes("policy.bin", []byte(content)), result}
}

func commit(t *testing.T, s artifact.Steps, attempt, content string) artifact.Manifest {
	t.Helper()
	m, adopted, err := s.Commit(t.Context(), train, attempt, struct{ Seed int }{7}, begun, files(t, content))
	if err != nil || adopted {
		t.Fatalf("commit: adopted %v, %v", adopted, err)
	}
	return m
}

func wantNotDone(t *testing.T, s artifact.Steps) {
	t.Helper()
	if _, ok, err := s.Find(t.Context(), train); ok || err != nil {
		t.Errorf("find: %v, %v; want the step not to be done", ok, err)
	}
}

func TestACommittedStepIsFoundAndRead(t *testing.T) {
	s := over(artifacttest.NewMemory())
	wantNotDone(t, s)
	committed := commit(t, s, "run-1", "weights")
	found, ok, err := s.Find(t.Context(), train)
	if err != nil || !ok {
		t.Fatalf("find: %v, %v", ok, err)
	}
	a, b := mustJSON(t, committed), mustJSON(t, found)
	if a != b {
		t.Errorf("found %s; committed %s", b, a)
	}
	if found.Schema != "floe.step/v1" || found.Host != "here" || found.Version != "test" ||
		!found.Started.Equal(begun) || !found.Finished.Equal(begun.Add(time.Minute)) {
		t.Errorf("the record is incomplete: %+v", found)
	}
	policy, err := s.Read(t.Context(), found, "policy.bin")
	if err != nil || string(policy) != "weights" {
		t.Errorf("read %q, %v", policy, err)
	}
	var result map[string]string
	if err := s.ReadJSON(t.Context(), found, "result.json", &result); err != nil || result["says"] != "weights" {
		t.Errorf("read %v, %v", result, err)
	}
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestAManifestSaysWhereThingsAre(t *testing.T) {
	m := commit(t, over(artifacttest.NewMemory()), "run-1", "weights")
	want := artifact.File{
		Name: "policy.bin", Object: trainFolder + "run-1/policy.bin", Size: 7,
		SHA256: fmt.Sprintf("%x", sha256.Sum256([]byte("weights"))),
	}
	got, ok := m.File("policy.bin")
	if !ok || got != want {
		t.Errorf("got %+v; want %+v", got, want)
	}
	if _, ok := m.File("policy"); ok {
		t.Error("found a file that is not there")
	}
}

func TestTheLoserOfARaceAdoptsTheWinnersWork(t *testing.T) {
	store := artifacttest.NewMemory()
	s := over(store)
	won := commit(t, s, "run-1", "first")
	m, adopted, err := s.Commit(t.Context(), train, "run-2", nil, begun, files(t, "second"))
	if err != nil || !adopted || m.Attempt != "run-1" {
		t.Fatalf("second commit: attempt %q, adopted %v, %v; want run-1 adopted", m.Attempt, adopted, err)
	}
	if mustJSON(t, m) != mustJSON(t, won) {
		t.Error("the adopted manifest is not the winner's")
	}
	if left := store.Keys(trainFolder + "run-2/"); len(left) != 0 {
		t.Errorf("the loser left %q", left)
	}
	if got, err := s.Read(t.Context(), m, "policy.bin"); err != nil || string(got) != "first" {
		t.Errorf("read %q, %v; want the winner's", got, err)
	}
}

func TestOfManyAttemptsAtOnceOneWins(t *testing.T) {
	store := artifacttest.NewMemory()
	s := over(store)
	var wg sync.WaitGroup
	winners := make([]string, 20)
	firsts := make([]bool, 20)
	for i := range winners {
		wg.Go(func() {
			m, adopted, err := s.Commit(t.Context(), train, fmt.Sprintf("run-%d", i), nil, begun, files(t, fmt.Sprint(i)))
			if err != nil {
				t.Error(err)
			}
			winners[i], firsts[i] = m.Attempt, !adopted
		})
	}
	wg.Wait()
	if slices.Sort(winners); winners[0] != winners[19] || winners[0] == "" {
		t.Errorf("attempts disagree on the winner: %q", winners)
	}
	if n := len(store.Keys("")); n != 3 {
		t.Errorf("%d objects are left; want the winner's two and the manifest", n)
	}
	firsts = slices.DeleteFunc(firsts, func(first bool) bool { return !first })
	if len(firsts) != 1 {
		t.Errorf("%d attempts think they won", len(firsts))
	}
}

func TestALostAnswerToTheManifestIsNotALostRace(t *testing.T) {
	for name, lost := range map[string]error{
		"a retry found it there": artifact.ErrExists,
		"the connection broke":   errors.New("connection reset"),
	} {
		t.Run(name, func(t *testing.T) {
			store := artifacttest.NewMemory()
			store.AfterPut = func(key string) error {
				if key == trainManifest {
					return lost
				}
				return nil
			}
			s := over(store)
			m := commit(t, s, "run-1", "weights")
			if _, err := s.Read(t.Context(), m, "policy.bin"); err != nil {
				t.Errorf("our own objects were removed: %v", err)
			}
		})
	}
}

func TestDeathBetweenObjectsAndManifestLeavesTheStepOpen(t *testing.T) {
	dead := errors.New("killed")
	for n := range 3 {
		store := artifacttest.NewMemory()
		puts := 0
		store.BeforePut = func(string) error {
			if puts++; puts > n {
				return dead
			}
			return nil
		}
		s := over(store)
		if _, _, err := s.Commit(t.Context(), train, "run-1", nil, begun, files(t, "x")); !errors.Is(err, dead) {
			t.Fatalf("death after %d puts: %v", n, err)
		}
		store.BeforePut = nil
		wantNotDone(t, s)
		commit(t, s, "run-2", "again")
	}
}

func TestBadNamesAreRefusedAllAtOnce(t *testing.T) {
	store := artifacttest.NewMemory()
	var bodies []artifact.Body
	for _, name := range []string{"../up", "", "a", "a/b", "twice", "twice", "sp ace", strings.Repeat("x", 256)} {
		bodies = append(bodies, artifact.Bytes(name, nil))
	}
	_, _, err := over(store).Commit(t.Context(), experiment.StepID{Kind: "no/kind"}, "partial", func() {}, begun, bodies)
	if err == nil {
		t.Fatal("bad names were accepted")
	}
	for _, want := range []string{
		`part ".."`, "an empty part", `"a" is both a file and the folder of "a/b"`, `"twice" is there twice`, `"sp ace"`,
		"256 bytes", `"no/kind"`, "key of step", `attempt "partial"`, "inputs:",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error does not say %q:\n%v", want, err)
		}
	}
	if left := store.Keys(""); len(left) != 0 {
		t.Errorf("written in spite of bad names: %q", left)
	}
	if _, _, err := over(store).Commit(t.Context(), train, "run-1", nil, begun, []artifact.Body{{Name: "hollow"}}); err == nil {
		t.Error("a body without content was accepted")
	}
}

func TestACancelledCommitStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	store := artifacttest.NewMemory()
	store.AfterPut = func(string) error { cancel(); return nil }
	_, _, err := over(store).Commit(ctx, train, "run-1", nil, begun, files(t, "x"))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("commit: %v; want context.Canceled", err)
	}
	wantNotDone(t, over(store))
}

func TestAnAbsentFileIsNotFound(t *testing.T) {
	s := over(artifacttest.NewMemory())
	m := commit(t, s, "run-1", "x")
	if _, err := s.Read(t.Context(), m, "policy"); !errors.Is(err, artifact.ErrNotFound) {
		t.Errorf("read: %v; want ErrNotFound", err)
	}
}

func TestZeroStepsAreUsable(t *testing.T) {
	s := artifact.Steps{Store: artifacttest.NewMemory()}
	before := time.Now()
	m, _, err := s.Commit(t.Context(), train, "a", nil, before, nil)
	if err != nil || m.Finished.Before(before) || m.Finished.Location() != time.UTC {
		t.Errorf("finished %v, %v; want now in UTC", m.Finished, err)
	}
	if _, ok, err := s.Find(t.Context(), train); !ok || err != nil {
		t.Errorf("a step without files: %v, %v; want it done", ok, err)
	}
}

// logTo collects what is logged.
func logTo(b *bytes.Buffer) *slog.Logger { return slog.New(slog.NewTextHandler(b, nil)) }
