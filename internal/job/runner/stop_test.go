package runner_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"floe/internal/job"
	"floe/internal/job/runner"
)

func TestAStopLetsTheJobSaveAndWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "hold", `[ "$FLOE_ATTEMPT" = 1 ] || touch go`)
	w.left(1)
	for range 2 {
		if err := w.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		a := w.history().Attempts[0]
		if s := a.Status; s.State != job.Ended || s.ExitCode == nil || *s.ExitCode != job.ExitStopped || w.state(1) != job.Ended {
			t.Fatalf("after the stop it is %s; want it ended with 75", s)
		}
	}
	w.Work = "retry"
	if h := w.succeed(); outcomes(h) != "interrupted success" || h.Attempts[0].Steps != 1 {
		t.Errorf("want the retry to go on from what was saved:\n%s", shown(h))
	}
}

func TestAStopOfNothingIsNoError(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", "")
	if err := w.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(w.record); err == nil {
		t.Error("a record was made; want none for a job that never was")
	}
}

func TestAStopFindsWhatTheRecordLacks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "hold", "")
	w.left(1)
	if err := os.Remove(w.record); err != nil {
		t.Fatal(err)
	}
	if err := w.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := w.state(1); s != job.Ended {
		t.Errorf("after the stop it is %s; want it ended", s)
	}
}

func TestAWatcherHearsOfAStopAndStartsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "hold", "")
	end, done := w.background()
	defer end()
	w.training(1)
	if err := w.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, runner.ErrStopped) {
		t.Errorf("the watcher returns %v; want ErrStopped", err)
	}
	if h := w.history(); len(h.Attempts) != 1 || len(w.starts()) != 1 {
		t.Errorf("attempts were made after the stop:\n%s", shown(h))
	}
}

func TestWhatIsAtWorkOnAnotherMachineIsLeftAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "hold", "")
	w.left(1)
	before := shown(w.history())
	w.Host = "there"
	_, _, err := w.run()
	for _, err := range []error{err, w.Stop(t.Context())} {
		e, ok := errors.AsType[*runner.ElsewhereError](err)
		if !ok || e.Host != "here" || e.Name != job.Name(w.Request.Job, 1) || !strings.Contains(e.Error(), "--host here") {
			t.Errorf("got %v; want to be sent to the other machine", err)
		}
	}
	if after := shown(w.history()); after != before || w.state(1) != job.Running {
		t.Errorf("the record was\n%s\nand is\n%s", before, after)
	}
}

func TestASuccessOnAnotherMachineIsNotTrainedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", "")
	w.succeed()
	w.Host = "there"
	_, _, err := w.run()
	if e, ok := errors.AsType[*runner.ElsewhereError](err); !ok || !e.Done {
		t.Errorf("got %v; want to be sent to the machine that has the checkpoint", err)
	}
}

func TestABackEndThatAllWorkersSeeKnowsNoElsewhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "hold", "")
	w.left(1)
	w.Host = ""
	w.letGo()
	if h := w.succeed(); outcomes(h) != "success" {
		t.Errorf("outcomes %s; want the success", outcomes(h))
	}
}

// Settings of the job section make another job of the same step.
func TestTheJobOfEarlierSettingsIsStoppedFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "hold", "")
	w.left(1)
	before := w.Job
	dir := filepath.Join(t.TempDir(), "job")
	w.Job = w.job("train-other", dir, "", "")
	h := w.succeed()
	if outcomes(h) != "interrupted success" || !strings.Contains(h.Attempts[0].Reason, "settings") || h.Attempts[1].Job != "train-other" {
		t.Errorf("want the job of earlier settings to be stopped:\n%s", shown(h))
	}
	s, err := before.Backend.Status(t.Context(), job.Name(before.Request.Job, 1))
	if err != nil || s.State != job.Ended || s.Ended.After(h.Attempts[1].Submitting.Add(time.Second)) {
		t.Errorf("the earlier one is %s, %v; want it gone before the next", s, err)
	}
}

func TestAnEarlierJobThatNobodyKnowsIsLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", "")
	h := w.announced()
	h.Attempts[0].Job, h.Attempts[0].Submitted = "train-of-another-cluster", time.Now().UTC()
	w.keep(h)
	h = w.succeed()
	if outcomes(h) != "interrupted success" || h.Attempts[0].Status.State != job.Lost {
		t.Errorf("want the first to be lost:\n%s", shown(h))
	}
}
