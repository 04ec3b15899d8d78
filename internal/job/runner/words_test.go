package runner_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"floe/internal/job"
)

// saying is a back end that sees what it is told to, once an attempt runs.
type saying struct {
	job.Backend
	pending int // looks
}

// Status implements job.Backend.
func (s *saying) Status(ctx context.Context, name string) (job.Status, error) {
	got, err := s.Backend.Status(ctx, name)
	if err == nil && got.State == job.Running {
		if s.pending--; s.pending >= 0 {
			return job.Status{Name: name, State: job.Pending, Reason: "Resources"}, nil
		}
		got.Restarts = 2
	}
	return got, err
}

func TestPeopleAreToldWhereTheJobIs(t *testing.T) {
	t.Parallel()
	progress := fmt.Sprintf(`{"schema":"floe.progress/v1","job_id":"x","attempt":2,"phase":"PHASE","step":1,"total_steps":3,"updated":%q,`+
		`"step_seconds":212.4,"remaining_seconds":27660,"metrics":{"epoch":1.25,"reward":0.414,"valid_rate":0.52,"loss":null}}`, time.Now().UTC().Format(time.RFC3339))
	w := newWorld(t, "", `[ "$FLOE_ATTEMPT" = 1 ] && exit 75
		until [ -e go1 ]; do sleep 0.02; done
		echo '`+strings.ReplaceAll(progress, "PHASE", "training")+`' > p && mv p progress.json
		until [ -e go2 ]; do sleep 0.02; done
		echo '`+strings.ReplaceAll(progress, "PHASE", "saving")+`' > p && mv p progress.json
		until [ -e go3 ]; do sleep 0.02; done
		echo 'no progress' > progress.json
		until [ -e go4 ]; do sleep 0.02; done`)
	w.Backend = &saying{w.Backend, 5}
	end, done := w.background()
	defer end()
	for i, want := range []string{
		"0/3 starts, attempt 2, restarted twice by the back end",
		"1/3 epoch 1.25, reward 0.41, 52 % valid, 212 s a step, about 7 h 41 min left, attempt 2, restarted twice",
		"1/3 saves a checkpoint, epoch 1.25",
		"1/3 runs, but its progress cannot be read: progress.json",
	} {
		w.until(want, func() bool { return w.heard.heard(want) })
		if err := w.Files.Put(t.Context(), fmt.Sprintf("go%d", i+1), nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"puts the inputs", "submits attempt 1", "waits for a machine: Resources", "checks the checkpoint, 0.0 GB of 0.0 GB"} {
		if !w.heard.heard(want) {
			t.Errorf("nobody was told %q:\n%s", want, w.heard.all())
		}
	}
}
