package runner_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"floe/internal/job"
)

func TestAJobRunsToItsEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", "")
	h := w.succeed()
	if len(h.Attempts) != 1 {
		t.Fatalf("%d attempts; want 1:\n%s", len(h.Attempts), shown(h))
	}
	a := h.Attempts[0]
	if a.Outcome != job.Success || a.Steps != steps || a.Work != "work" || a.Host != "here" || a.GPUs != 2 || a.Status.Where == "" ||
		a.Submitted.Before(a.Submitting) || a.Ended.Before(a.Submitted) || a.Status.Ended.IsZero() {
		t.Errorf("the record lacks something:\n%s", shown(h))
	}
	if shown(w.history()) != shown(h) {
		t.Errorf("kept is\n%s\nand returned\n%s", shown(w.history()), shown(h))
	}
	if ran := a.Ran(time.Now()); ran <= 0 || h.GPUTime(time.Now()) != 2*ran {
		t.Errorf("it ran %s and took %s of GPUs; want twice as much", ran, h.GPUTime(time.Now()))
	}
	// Whoever comes again, for whatever work, finds the success.
	w.Work = "another"
	if h := w.succeed(); len(h.Attempts) != 1 || len(w.starts()) != 1 {
		t.Errorf("asked again, it was started %q; want once", w.starts())
	}
}

func TestAnInterruptedJobGoesOn(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"75", "137", "143"} {
		w := newWorld(t, "", `[ "$FLOE_ATTEMPT" = 1 ] && exit `+code)
		if h := w.succeed(); outcomes(h) != "interrupted success" {
			t.Errorf("after exit code %s: %s; want interrupted, then success", code, outcomes(h))
		}
	}
}

// askedToStop makes every attempt save after one step and end with 75.
const askedToStop = `echo "$FLOE_ATTEMPT" > stop.requested`

func TestInterruptionsWithNewCheckpointsAreNoReasonToAsk(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", askedToStop)
	w.Resumes = 0
	h := w.succeed()
	if outcomes(h) != "interrupted interrupted interrupted success" {
		t.Errorf("outcomes %s; want three interruptions, one at each step", outcomes(h))
	}
	for i, want := range []int{1, 2, 3, 3} {
		if h.Attempts[i].Steps != want {
			t.Errorf("attempt %d left the checkpoint of step %d; want %d", i+1, h.Attempts[i].Steps, want)
		}
	}
	if !w.heard.heard("1/3 attempt 1 was interrupted (exit code 75") || !w.heard.heard("goes on from step 1") {
		t.Errorf("nobody was told of the interruption:\n%s", w.heard.all())
	}
}

func TestANewCheckpointMakesInterruptionsCountAnew(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", `case $FLOE_ATTEMPT in 1|3) exit 75;; 2) `+askedToStop+`;; esac`)
	w.Resumes = 1
	if h := w.succeed(); outcomes(h) != "interrupted interrupted interrupted success" {
		t.Errorf("outcomes %s; want the checkpoint of the second to count", outcomes(h))
	}
}

func TestInterruptionsWithoutNewCheckpointsAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", `[ "$FLOE_ATTEMPT" = 1 ] || exit 137; `+askedToStop)
	e, h := w.ended()
	if e.Final || e.Outcome != job.Interrupted || outcomes(h) != strings.Repeat("interrupted ", 3)+"interrupted" {
		t.Errorf("%v (final: %t), %s; want the first, which saved, and three more", e, e.Final, outcomes(h))
	}
	if !strings.Contains(e.Error(), "interrupted 3 times without a newer checkpoint than that of step 1; attempt 4: exit code 137") {
		t.Errorf("the error says %q", e)
	}
}

func TestANewerCheckpointStartsTheCountOfFailuresAnew(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", `case $FLOE_ATTEMPT in 1|3) exit 70;; 2) `+askedToStop+`;; esac`)
	w.Attempts = 2
	if h := w.succeed(); outcomes(h) != "failed interrupted failed success" {
		t.Errorf("outcomes %s; want two failures, one on each side of a checkpoint", outcomes(h))
	}
}

func TestFailuresAreBoundedForEachWork(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", `[ "$FLOE_ATTEMPT" -gt 5 ] || exit 70`)
	e, h := w.ended()
	if e.Final || e.Outcome != job.Failed || outcomes(h) != "failed failed failed" {
		t.Errorf("%v (final: %t), %s; want three failures", e, e.Final, outcomes(h))
	}
	if !strings.Contains(e.Error(), "failed 3 times without a newer checkpoint than that of step 0; attempt 3: exit code 70") {
		t.Errorf("the error says %q", e)
	}
	// The same work again, as when its answer got lost, starts nothing.
	if _, h := w.ended(); len(h.Attempts) != 3 {
		t.Errorf("the same work was tried again: %s", outcomes(h))
	}
	w.Work = "a person's retry"
	if h := w.succeed(); outcomes(h) != "failed failed failed failed failed success" {
		t.Errorf("the retry gives %s; want two more failures and a success", outcomes(h))
	}
}

func TestWhatIsHopelessIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	for _, play := range []string{"exit:78", "exit:65"} {
		w := newWorld(t, play, "")
		e, h := w.ended()
		if !e.Final || e.Outcome != job.Hopeless || len(h.Attempts) != 1 || !strings.Contains(e.Error(), "meant to end with "+play[5:]) {
			t.Errorf("%s: %v (final: %t), %s; want one attempt, and the trainer's own words", play, e, e.Final, outcomes(h))
		}
		if _, h := w.ended(); len(h.Attempts) != 1 {
			t.Errorf("%s: the same work was tried again", play)
		}
		w.Work = "retry"
		if _, h := w.ended(); len(h.Attempts) != 2 {
			t.Errorf("%s: a person's retry gives %s; want one more attempt", play, outcomes(h))
		}
	}
}

func TestWhatATrainerSaysIsKeptWithinBounds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", `head -c 100000 /dev/zero | tr '\0' x > failure; exit 78`)
	if e, h := w.ended(); len(e.Error()) > 1000 || !strings.Contains(e.Reason, "xxx") || len(h.Attempts[0].Reason) > 1000 {
		t.Errorf("the error has %d bytes; want the beginning of what the trainer said", len(e.Error()))
	}
}

func TestAnEndWithoutAResultIsAFailure(t *testing.T) {
	t.Parallel()
	for _, play := range []string{"nothing", "no-steps", "damaged"} {
		w := newWorld(t, play, "")
		w.Attempts = 1
		e, h := w.ended()
		if e.Outcome != job.Failed || outcomes(h) != "failed" || !strings.Contains(e.Error(), "exit code 0, but") {
			t.Errorf("%s: %v, %s; want a failure in spite of exit code 0", play, e, outcomes(h))
		}
	}
}

func TestABusyDirectoryIsWaitedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", `[ "$FLOE_ATTEMPT" -gt 2 ] || exit 69`)
	w.Attempts, w.Resumes = 1, 0
	if h := w.succeed(); outcomes(h) != "busy busy success" {
		t.Errorf("outcomes %s; want two that found the directory held", outcomes(h))
	}
	if !w.heard.heard("found the directory held by another program") {
		t.Errorf("nobody was told:\n%s", w.heard.all())
	}
}

func TestADirectoryThatStaysBusyIsToldOf(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "exit:69", "")
	w.Every = time.Millisecond
	e, h := w.ended()
	if e.Outcome != job.Busy || len(h.Attempts) != 11 || !strings.Contains(e.Error(), w.Request.Dir) {
		t.Errorf("%v after %d attempts; want the directory's name after 11", e, len(h.Attempts))
	}
}

func TestAJobThatHangsIsEndedAndTriedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "hold", `[ "$FLOE_ATTEMPT" = 1 ] || touch go`)
	w.Patience = job.Patience{Least: 5 * time.Second} // more than an attempt needs on a busy machine
	h := w.succeed()
	a := h.Attempts[0]
	if outcomes(h) != "failed success" || a.Hung.IsZero() || a.Steps != 1 || !strings.Contains(a.Reason, "it stood still from") {
		t.Errorf("want a first attempt that failed by standing still and saved:\n%s", shown(h))
	}
	if !w.heard.heard("1/3 stands still since") {
		t.Errorf("nobody was told:\n%s", w.heard.all())
	}
	if metrics, err := job.ReadMetrics(w.Files); err != nil || len(metrics) != steps || metrics[0].Attempt != 1 {
		t.Errorf("metrics %+v, %v; want step 1 of the attempt that hung", metrics, err)
	}
}

func TestHangingIsBoundedAsFailing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "deaf", "")
	w.Patience, w.Attempts, w.Request.Grace = job.Patience{Least: time.Second}, 2, 100*time.Millisecond
	e, h := w.ended()
	if outcomes(h) != "failed failed" || !strings.Contains(e.Error(), "it stood still") {
		t.Errorf("%v, %s; want two failures for standing still", e, outcomes(h))
	}
}

func TestASuccessWhoseFilesAreGoneIsTrainedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", "")
	w.succeed()
	if err := w.Files.Put(t.Context(), "result.json", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	h := w.succeed()
	if outcomes(h) != "success success" || !strings.Contains(h.Attempts[0].Reason, "no longer there") || !slices.Equal(w.starts(), []string{"a1", "a2"}) {
		t.Errorf("want the first to be told of and a second:\n%s", shown(h))
	}
}
