package main

import (
	"testing"

	enumspb "go.temporal.io/api/enums/v1"

	"floe/internal/devtest/skill"
	"floe/workflows"
)

// TestACancelledTrainingIsGoneBeforeAnotherHasTheDevice has trainings and servers of
// others wait for the device while a training is cancelled that holds it: it must be
// stopped before them, and not behind them.
func TestACancelledTrainingIsGoneBeforeAnotherHasTheDevice(t *testing.T) {
	t.Parallel()
	l := openLab(t)
	other := append([]string{"--set", "rounds=1", "--set", "trainer.learning_rate=0.00003"}, fails("nan:1")...)
	l.starter(append([]string{"run", l.spec, "--name", "trains"}, other...)...)
	l.must(append([]string{"run", l.spec, "--detach", "--set", "rounds=1"}, fails("hold:3")...)...)
	first := l.holds(3)
	l.must(append([]string{"retry", "trains"}, fails("")...)...)
	l.waits("trains-round-0", "Train")
	l.must("run", l.spec, "--detach", "--name", "serves", "--set", "rounds=1", "--set", "validation.instances=29")
	l.waits("serves", "Evaluate")
	servers := len(l.of(skill.EventServe))
	l.must("cancel", "lm", "--reason", "a test of cancelling")
	l.gone("lm")
	l.reaches("trains", workflows.StateDone)
	l.reaches("serves", workflows.StateDone)
	began := 0
	for _, e := range l.of(skill.EventStart, skill.EventServe, skill.EventEnd) {
		if e.PID == first.PID && e.Event == skill.EventEnd {
			break
		}
		if e.PID != first.PID && e.Event != skill.EventEnd {
			began++
		}
	}
	if began != servers+1 { // the training that failed
		t.Errorf("%d programs had begun before the cancelled training ended; want %d", began, servers+1)
	}
	l.quiet()
}

// waits waits until an activity of an experiment waits for a worker that is busy.
func (l *lab) waits(name, activity string) {
	l.t.Helper()
	c := l.dial()
	l.until(name+" to wait for the device", func() bool {
		d, err := c.DescribeWorkflow(l.t.Context(), "exp-"+name, "")
		if err != nil {
			return false
		}
		for _, a := range d.RawResponse.PendingActivities {
			if a.ActivityType.Name == activity && a.State == enumspb.PENDING_ACTIVITY_STATE_SCHEDULED {
				return true
			}
		}
		return false
	})
}

// TestAnExperimentThatWaitsForTheSameTrainingTakesItOver cancels the one of two that
// has begun it.
func TestAnExperimentThatWaitsForTheSameTrainingTakesItOver(t *testing.T) {
	t.Parallel()
	l := openLab(t)
	l.must(append([]string{"run", l.spec, "--detach", "--set", "rounds=1"}, fails("hold:3")...)...)
	l.holds(3)
	l.must(append([]string{"run", l.spec, "--detach", "--name", "second", "--set", "rounds=1"}, fails("hold:3")...)...)
	l.waits("second", "Evaluate")
	l.tell("go", "")
	l.must("cancel", "lm", "--reason", "a test of cancelling")
	l.reaches("second", workflows.StateDone)
	l.once()
	l.quiet()
}

// TestAServerOutlivesItsWorker kills the worker while a server is asked.
func TestAServerOutlivesItsWorker(t *testing.T) {
	t.Parallel()
	l := openLab(t, impatient...)
	l.tell("hold", skill.EventAnswer)
	l.must("run", l.spec, "--detach", "--set", "rounds=1", "--set", "serve.idle_minutes=1")
	l.until("a server that is asked", func() bool { return l.asks("lm", skill.EventAnswer) })
	l.kill9("worker")
	l.tell("hold", "")
	l.must("watch", "lm")
	if servers := l.of(skill.EventServe); len(servers) != 2 { // one before the training and one after it
		t.Errorf("servers were started as %+v; want the first to be adopted", servers)
	}
}

// TestAServerThatDiesIsStartedAgain kills a server while it is asked.
func TestAServerThatDiesIsStartedAgain(t *testing.T) {
	t.Parallel()
	l := openLab(t)
	l.tell("hold", skill.EventAnswer)
	l.must("run", l.spec, "--detach", "--set", "rounds=1")
	l.until("a server that is asked", func() bool { return l.asks("lm", skill.EventAnswer) })
	l.kill(l.of(skill.EventServe)[0].PID)
	l.tell("hold", "")
	l.must("watch", "lm")
	l.quiet()
}
