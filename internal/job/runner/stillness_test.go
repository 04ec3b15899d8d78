package runner

import (
	"testing"
	"time"

	"floe/internal/job"
)

func TestStandingStillIsJudgedByWhatWasSeen(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	patient := job.Patience{Least: 30 * time.Minute}
	after := func(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }
	at := func(s job.State, started, updated, restarts int) sight {
		seen := sight{status: job.Status{State: s, Started: after(started), Restarts: restarts}}
		if updated >= 0 {
			seen.progress = &job.Progress{Attempt: 1, Updated: after(updated)}
		}
		return seen
	}
	type look struct {
		seen sight
		now  int
		hung bool
	}
	const far = -600 // a clock ten hours behind
	for name, looks := range map[string][]look{
		"AtFirstSightByItsOwnWords":       {{at(job.Running, 0, 10, 0), 20, false}, {at(job.Running, 0, 10, 0), 39, false}, {at(job.Running, 0, 10, 0), 41, true}},
		"AWatcherWatchesHalfThePatience":  {{at(job.Running, 0, 10, 0), 300, false}, {at(job.Running, 0, 10, 0), 314, false}, {at(job.Running, 0, 10, 0), 316, true}},
		"WithoutProgressFromItsStart":     {{at(job.Running, 0, -1, 0), 10, false}, {at(job.Running, 0, -1, 0), 29, false}, {at(job.Running, 0, -1, 0), 31, true}},
		"WaitingIsNoStandingStill":        {{at(job.Pending, 0, -1, 0), 0, false}, {at(job.Pending, 0, -1, 0), 500, false}},
		"TimeInTheQueueDoesNotCount":      {{at(job.Pending, 0, -1, 0), 0, false}, {at(job.Running, 0, -1, 0), 100, false}, {at(job.Running, 0, -1, 0), 129, false}, {at(job.Running, 0, -1, 0), 131, true}},
		"ARestartIsAStart":                {{at(job.Running, 0, 20, 0), 25, false}, {at(job.Running, 0, 20, 1), 100, false}, {at(job.Running, 0, 20, 1), 131, true}},
		"MovingCountsWhateverItsClock":    {{at(job.Running, 0, 5, 0), 6, false}, {sight{status: job.Status{State: job.Running, Started: after(far)}, progress: &job.Progress{Attempt: 1, Updated: after(far + 1)}}, 60, false}, {sight{status: job.Status{State: job.Running, Started: after(far)}, progress: &job.Progress{Attempt: 1, Updated: after(far + 2)}}, 120, false}},
		"ProgressOfAnotherAttemptIsNone":  {{sight{status: job.Status{State: job.Running, Started: noon}, progress: &job.Progress{Attempt: 2, Updated: after(30)}}, 10, false}, {sight{status: job.Status{State: job.Running, Started: noon}, progress: &job.Progress{Attempt: 2, Updated: after(30)}}, 31, true}},
		"WithoutAStartFromTheFirstLookOn": {{sight{status: job.Status{State: job.Running}}, 100, false}, {sight{status: job.Status{State: job.Running}}, 129, false}, {sight{status: job.Status{State: job.Running}}, 131, true}},
	} {
		var s stillness
		for i, l := range looks {
			if _, hung := s.judge(1, l.seen, patient, after(l.now)); hung != l.hung {
				t.Errorf("%s: look %d, at minute %d: hangs: %t; want %t", name, i+1, l.now, hung, l.hung)
			}
		}
	}
}

func TestTimeInWhichLookingFailedIsNoStandingStill(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	seen := sight{status: job.Status{State: job.Running, Started: noon}}
	var s stillness
	for _, l := range []struct {
		minute int
		blind  time.Duration // before this look
		hung   bool
	}{{0, 0, false}, {20, 0, false}, {200, 180 * time.Minute, false}, {209, 0, false}, {211, 0, true}} {
		s.unseen += l.blind
		if _, hung := s.judge(1, seen, job.Patience{Least: 30 * time.Minute}, noon.Add(time.Duration(l.minute)*time.Minute)); hung != l.hung {
			t.Errorf("minute %d: hangs: %t; want %t", l.minute, hung, l.hung)
		}
	}
}
