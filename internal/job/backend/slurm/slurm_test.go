package slurm_test

import (
	"context"
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"floe/internal/importtest"
	"floe/internal/job"
	"floe/internal/job/backend/slurm"
	"floe/internal/job/jobtest"
	"floe/internal/outage"
)

func TestImports(t *testing.T) {
	importtest.Check(t, importtest.NoTemporal, importtest.NoAWS, importtest.NoNetwork)
}

func open(t *testing.T, root string) *slurm.Backend {
	t.Helper()
	b, err := slurm.New(slurm.Settings{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// cluster skips a test where there is no Slurm to be used; scripts/test-slurm
// sets one up.
func cluster(t *testing.T) {
	t.Helper()
	if os.Getenv("FLOE_TEST_SLURM") == "" {
		t.Skip("set FLOE_TEST_SLURM=1 where sbatch works, or run make test-slurm")
	}
}

func TestBackend(t *testing.T) {
	cluster(t)
	root := t.TempDir()
	jobtest.Run(t, jobtest.World{
		Open:     func(t *testing.T) job.Backend { return open(t, root) },
		Restarts: true,
		Preempt: func(t *testing.T, name string) {
			t.Helper()
			s, err := open(t, root).Status(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			number := strings.Fields(s.Where)[2]
			if out, err := exec.CommandContext(t.Context(), "scontrol", "requeue", number).CombinedOutput(); err != nil {
				t.Fatalf("requeue %s: %v\n%s", number, err, out)
			}
		},
		Stranger: func(t *testing.T, name string) func() bool { return stranger(t, root, name) },
	})
}

// stranger ends a job of a real Slurm, and has its record name another one's number.
func stranger(t *testing.T, root, name string) (runs func() bool) {
	t.Helper()
	run := func(command string, args ...string) string {
		out, err := exec.CommandContext(context.WithoutCancel(t.Context()), command, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s %q: %v\n%s", command, args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	state := func(id string) string {
		return run("squeue", "--noheader", "--states=all", "--jobs="+id, "--format=%T")
	}
	ours := strconv.Itoa(numberOf(t, open(t, root), name))
	run("scancel", "--signal=KILL", "--full", ours)
	until(t, "the end of the job", func() bool { return state(ours) != "RUNNING" && state(ours) != "COMPLETING" })
	other := run("sbatch", "--parsable", "--job-name=my-other-project", "--output=/dev/null", "--wrap=sleep 1000")
	t.Cleanup(func() { run("scancel", other) })
	until(t, "the other job", func() bool { return state(other) == "RUNNING" })
	record := filepath.Join(root, name, "submitted.json")
	body, err := os.ReadFile(record)
	if err == nil {
		err = os.WriteFile(record, []byte(strings.Replace(string(body), `"id":`+ours, `"id":`+other, 1)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return func() bool { return state(other) == "RUNNING" }
}

func TestBackendAgainstAStandIn(t *testing.T) {
	slurms := standIn(t)
	root := t.TempDir()
	jobtest.Run(t, jobtest.World{
		Open: func(t *testing.T) job.Backend { return open(t, root) },
		Stranger: func(t *testing.T, name string) func() bool {
			t.Helper()
			return slurms.replace(t, numberOf(t, open(t, root), name), "my-other-project")
		},
	})
}

func TestAControllerThatIsAwayIsAnOutage(t *testing.T) {
	slurms := standIn(t)
	root := t.TempDir()
	b, r := open(t, root), request(t, "away", countAndHold)
	if _, err := b.Submit(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Stop(context.Background(), r.Name(), 0) })
	for said, want := range map[string]bool{
		"slurm_load_jobs error: Unable to contact slurm controller (connect failure)":   true,
		"slurm_load_jobs error: Socket timed out on send/recv operation":                true,
		`If munged is up, restart with --num-threads=10: Failed to access "/run/munge"`: true,
		"slurm_load_jobs error: Invalid user id":                                        false,
	} {
		away := filepath.Join(slurms.root, "away")
		if err := os.WriteFile(away, []byte(said), 0o600); err != nil {
			t.Fatal(err)
		}
		for what, call := range map[string]func() error{
			"status": func() error { _, err := b.Status(t.Context(), r.Name()); return err },
			"stop":   func() error { return b.Stop(t.Context(), r.Name(), 0) },
			"submit": func() error { _, err := b.Submit(t.Context(), request(t, "other", "exit 0")); return err },
			"check":  func() error { return b.Check(t.Context()) },
		} {
			err := call()
			if e, is := outage.As(err); err == nil || is != want || is && e.Service != "Slurm" {
				t.Errorf("%s, %s: got %v, an outage: %t; want %t", said, what, err, is, want)
			}
		}
		if err := os.Remove(away); err != nil {
			t.Fatal(err)
		}
	}
}

// request runs a line of shell.
func request(t *testing.T, name, script string) job.Request {
	t.Helper()
	dir := t.TempDir()
	return job.Request{
		Job: name + "-" + strings.ToLower(rand.Text()[:8]), Attempt: 1, Command: []string{"sh", "-c", script}, Spec: filepath.Join(dir, "spec.json"),
		SpecSHA256: job.Digest([]byte(name)), Dir: dir, Grace: time.Minute,
	}
}

func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(jobtest.Patience); !holds(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %s in vain for %s", jobtest.Patience, what)
		}
	}
}

func end(t *testing.T, b *slurm.Backend, r job.Request) job.Status {
	t.Helper()
	var s job.Status
	until(t, "the end of "+r.Name(), func() bool {
		var err error
		if s, err = b.Status(t.Context(), r.Name()); err != nil {
			t.Fatal(err)
		}
		return s.State.Final()
	})
	return s
}

func forget(t *testing.T, root string, r job.Request, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := os.Remove(filepath.Join(root, r.Name(), name)); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
}

const countAndHold = `echo x >> "$FLOE_JOB_DIR/starts"; while [ ! -e "$FLOE_JOB_DIR/go" ]; do sleep 0.05; done`

// A worker can die after sbatch took the job and before the number was noted.
func TestAJobWhoseNumberWasLostIsFoundAgain(t *testing.T) {
	cluster(t)
	root := t.TempDir()
	b := open(t, root)
	r := request(t, "lost", countAndHold)
	first, err := b.Submit(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	forget(t, root, r, "submitted.json")
	again, err := b.Submit(t.Context(), r)
	if err != nil || strings.Fields(again.Where)[2] != strings.Fields(first.Where)[2] {
		t.Fatalf("found %s, %v; want %s", again.Where, err, first.Where)
	}
	if err := os.WriteFile(filepath.Join(r.Dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	end(t, b, r)
	forget(t, root, r, "submitted.json", "end.json")
	if s, err := b.Submit(t.Context(), r); err != nil || s.State != job.Ended {
		t.Errorf("after its end it is %s, %v; want the ended job", s, err)
	}
	if body, err := os.ReadFile(filepath.Join(r.Dir, "starts")); err != nil || string(body) != "x\n" {
		t.Errorf("it was started %q, %v; want once", body, err)
	}
}

// Slurm forgets a job minutes after its end; here it never knew the number.
func TestAJobThatSlurmForgotIsToldByWhatItLeft(t *testing.T) {
	cluster(t)
	root := t.TempDir()
	b := open(t, root)
	r := request(t, "forgotten", "exit 75")
	if _, err := b.Submit(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	end(t, b, r)
	forget(t, root, r, "end.json")
	if err := os.WriteFile(filepath.Join(root, r.Name(), "submitted.json"), []byte(`{"id":4000000,"time":"2026-01-01T00:00:00Z"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if s := end(t, b, r); s.ExitCode == nil || *s.ExitCode != job.ExitStopped {
		t.Errorf("got %s; want the exit code that its script wrote", s)
	}
	forget(t, root, r, "end.json", "exit.json")
	if s := end(t, b, r); s.State != job.Lost {
		t.Errorf("without a trace it is %s; want it lost", s)
	}
}

func TestAJobThatWaitsIsStoppedBeforeItRuns(t *testing.T) {
	cluster(t)
	b, err := slurm.New(slurm.Settings{Root: t.TempDir(), Partition: "main", Options: []string{"--begin=now+1hour"}})
	if err != nil {
		t.Fatal(err)
	}
	r := request(t, "waiting", countAndHold)
	if s, err := b.Submit(t.Context(), r); err != nil || s.State != job.Pending || s.Reason == "" {
		t.Fatalf("got %s, %v; want it to wait, with the reason", s, err)
	}
	if err := b.Stop(t.Context(), r.Name(), time.Hour); err != nil {
		t.Fatal(err)
	}
	if s := end(t, b, r); s.State != job.Ended || s.ExitCode != nil {
		t.Errorf("got %s; want it ended without an exit code", s)
	}
	if _, err := os.Stat(filepath.Join(r.Dir, "starts")); err == nil {
		t.Error("it ran; want that it never did")
	}
}

func TestAJobCanSaveBeforeItsTimeIsUp(t *testing.T) {
	cluster(t)
	r := request(t, "limited", `trap 'exit 75' TERM; while :; do sleep 0.05; done`)
	r.Resources.Wall, r.Grace = time.Minute, 55*time.Second
	b := open(t, t.TempDir())
	if _, err := b.Submit(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if s := end(t, b, r); s.ExitCode == nil || *s.ExitCode != job.ExitStopped {
		t.Errorf("got %s; want exit code 75", s)
	}
}

func TestSetupRunsFirst(t *testing.T) {
	cluster(t)
	b, err := slurm.New(slurm.Settings{Root: t.TempDir(), Setup: "FROM_SETUP='a module'\nexport FROM_SETUP"})
	if err != nil {
		t.Fatal(err)
	}
	r := request(t, "setup", `test "$FROM_SETUP" = "a module"`)
	if _, err := b.Submit(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if s := end(t, b, r); s.ExitCode == nil || *s.ExitCode != 0 {
		t.Errorf("got %s; want the variable of the setup", s)
	}
}

func TestCheckNamesAPartitionThatIsNotThere(t *testing.T) {
	cluster(t)
	b, err := slurm.New(slurm.Settings{Root: t.TempDir(), Partition: "nowhere"})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("got %v; want the partition named", err)
	}
}

func TestCheckNamesCommandsThatAreNotThere(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	err := open(t, t.TempDir()).Check(t.Context())
	for _, want := range []string{"sbatch", "squeue", "scancel"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v; want %s named", err, want)
		}
	}
}
