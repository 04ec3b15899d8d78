package runner_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"floe/internal/job"
	"floe/internal/job/runner"
)

func sample() runner.History {
	at := time.Date(2026, 11, 29, 20, 0, 0, 0, time.UTC)
	code := 75
	return runner.History{Attempts: []runner.Attempt{
		{
			Job: "train-1", Number: 1, GPUs: 8, Submitting: at, Submitted: at, Ended: at.Add(3 * time.Hour), Outcome: job.Interrupted, Reason: "preempted", Steps: 50,
			Status: job.Status{Name: "train-1-a1", State: job.Ended, ExitCode: &code, Started: at.Add(time.Hour), Ended: at.Add(150 * time.Minute)},
		},
		{
			Job: "train-1", Number: 2, GPUs: 8, Submitting: at, Submitted: at, Ended: at.Add(4 * time.Hour), Outcome: job.Interrupted, Steps: 50,
			Status: job.Status{Name: "train-1-a2", State: job.Lost, Started: at.Add(3 * time.Hour)},
		},
		{
			Job: "train-1", Number: 3, GPUs: 4, Submitting: at, Submitted: at,
			Status: job.Status{Name: "train-1-a3", State: job.Running, Started: at.Add(4 * time.Hour)},
		},
		{Job: "train-1", Number: 4, GPUs: 4, Submitting: at, Status: job.Status{State: job.Pending, Reason: "Resources"}},
	}}
}

func TestGPUTimeIsSummedOverAttempts(t *testing.T) {
	t.Parallel()
	h := sample()
	now := h.Attempts[0].Submitting.Add(5 * time.Hour)
	if got, want := h.GPUTime(now), (90*8+60*8+60*4)*time.Minute; got != want {
		t.Errorf("got %s; want %s", got, want)
	}
	var text []string
	for _, l := range h.Table(now) {
		if len(l) != len(runner.TableHead) {
			t.Errorf("%d columns; want %d", len(l), len(runner.TableHead))
		}
		text = append(text, strings.Join(l, " | "))
	}
	want := []string{
		"train-1-a1 | interrupted | 2026-11-29 21:00:00 | 1 h 30 min | 12 h 0 min | 50 | preempted",
		"train-1-a2 | interrupted | 2026-11-29 23:00:00 | 1 h 0 min | 8 h 0 min | 50 | ",
		"train-1-a3 | running | 2026-11-30 00:00:00 | 1 h 0 min | 4 h 0 min | - | ",
		"train-1-a4 | pending | - | 0 s | 0 s | - | Resources",
	}
	if got := strings.Join(text, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

func TestABadHistoryIsRefused(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"schema":"floe.attempts/v2","attempts":[]}`:               "another version of floe",
		`{"schema":"floe.attempts/v1","attempts":[],"more":1}`:      `unknown field "more"`,
		`{"schema":"floe.attempts/v1","attempts":[]} {}`:            "after top-level value",
		`{"schema":"floe.attempts/v1","attempts":[{"job":"../x"}]}`: "attempts[0].status.state",
		`{`: "history of attempts",
	} {
		if _, err := runner.ReadHistory([]byte(body)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v; want %q", body, err, want)
		}
	}
	h := sample()
	h.Attempts[1].Number, h.Attempts[2].Outcome, h.Attempts[3].Outcome = 1, job.Success, "fine"
	body, err := h.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	_, err = runner.ReadHistory(body)
	for _, want := range []string{"attempts[1].number", "attempts[2].outcome: found success", `attempts[3].outcome: found "fine"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v; want %q told beside the others", err, want)
		}
	}
}

func FuzzReadHistory(f *testing.F) {
	body, err := sample().Marshal()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(body)
	f.Add([]byte(`{"schema":"floe.attempts/v1","attempts":[]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		h, err := runner.ReadHistory(body)
		if err != nil {
			return
		}
		once, err := h.Marshal()
		if err != nil {
			t.Skip("a time that no JSON can hold")
		}
		again, err := runner.ReadHistory(once)
		if err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		if twice, err := again.Marshal(); err != nil || !bytes.Equal(once, twice) {
			t.Errorf("read and written again it differs: %v\n%s\n%s", err, once, twice)
		}
	})
}
