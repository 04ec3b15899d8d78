package activities_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"floe/activities"
	"floe/internal/devtest"
	"floe/internal/experiment"
	"floe/internal/outage"
	"floe/internal/retry"
)

func TestMain(m *testing.M) { os.Exit(devtest.Run(m)) }

// script is an activity of a test: what it does at each attempt.
type script func(ctx context.Context, attempt int) error

// work runs scripts on a real server, under the retry policy of workflows but for its
// pauses.
type work struct {
	t      *testing.T
	client client.Client
	queue  string
	mu     sync.Mutex
	told   []activities.Progress
	tries  int
}

func newWork(t *testing.T) *work {
	t.Helper()
	c, err := client.Dial(client.Options{
		HostPort: devtest.Shared(t).Temporal, Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return &work{t: t, client: c, queue: strings.ReplaceAll(t.Name(), "/", "-")}
}

// worker is one that does as the script says.
func (w *work) worker(do script) worker.Worker {
	one := worker.New(w.client, w.queue, worker.Options{
		WorkerStopTimeout: 5 * time.Second,
		Interceptors: []interceptor.WorkerInterceptor{&activities.Retries{Tell: func(_ context.Context, _ string, p activities.Progress) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.told = append(w.told, p)
			return nil
		}}},
	})
	one.RegisterActivityWithOptions(func(ctx context.Context, _ activities.TrainInput) error {
		w.mu.Lock()
		w.tries++
		n := w.tries
		w.mu.Unlock()
		return do(ctx, n)
	}, activity.RegisterOptions{Name: "Work"})
	one.RegisterWorkflowWithOptions(once, workflow.RegisterOptions{Name: "Once"})
	if err := one.Start(); err != nil {
		w.t.Fatal(err)
	}
	return one
}

func once(ctx workflow.Context, in activities.TrainInput) error {
	return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: time.Hour, HeartbeatTimeout: 15 * time.Second, WaitForCancellation: true,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: 10 * time.Millisecond, BackoffCoefficient: 1},
	}), "Work", in).Get(ctx, nil)
}

func input(attempts int) activities.TrainInput {
	in := activities.TrainInput{Where: activities.Where{Workflow: "exp-x", Name: "x", Round: 1}}
	in.Spec.Limits = experiment.LimitsSpec{Attempts: attempts, OutageMinutes: 60}
	return in
}

func (w *work) start(in activities.TrainInput) client.WorkflowRun {
	w.t.Helper()
	run, err := w.client.ExecuteWorkflow(w.t.Context(), client.StartWorkflowOptions{TaskQueue: w.queue}, "Once", in)
	if err != nil {
		w.t.Fatal(err)
	}
	return run
}

// do runs a script to its end on one worker.
func (w *work) do(in activities.TrainInput, do script) error {
	w.t.Helper()
	defer w.worker(do).Stop()
	return w.start(in).Get(w.t.Context(), nil)
}

// wantLast checks the error of the last attempt.
func wantLast(t *testing.T, err error, kind string, failed int) {
	t.Helper()
	var app *temporal.ApplicationError
	var told activities.Attempted
	if !errors.As(err, &app) || app.Type() != kind || !app.NonRetryable() {
		t.Fatalf("error %v; want a last one of kind %s", err, kind)
	}
	if err := app.Details(&told); err != nil || told.Attempt != failed {
		t.Errorf("after %d failed attempts, %v; want %d", told.Attempt, err, failed)
	}
}

func TestFailuresWithoutProgressAreBounded(t *testing.T) {
	t.Parallel()
	w := newWork(t)
	err := w.do(input(3), func(_ context.Context, n int) error { return fmt.Errorf("loss is not finite at attempt %d", n) })
	wantLast(t, err, activities.KindTrouble, 3)
	if w.tries != 3 || !strings.Contains(err.Error(), "at attempt 3") {
		t.Errorf("%d tries: %v; want 3, and the last error", w.tries, err)
	}
}

func TestFailuresWithProgressBetweenThemAreNot(t *testing.T) {
	t.Parallel()
	w := newWork(t)
	err := w.do(input(2), func(ctx context.Context, n int) error {
		activities.Kept(ctx, n)
		if n < 5 {
			return errors.New("out of memory")
		}
		return nil
	})
	if err != nil || w.tries != 5 {
		t.Errorf("%d tries, %v; want 5 and success", w.tries, err)
	}
}

func TestAPanicIsAFailure(t *testing.T) {
	t.Parallel()
	w := newWork(t)
	err := w.do(input(2), func(context.Context, int) error { panic("index out of range") })
	wantLast(t, err, activities.KindTimeout, 2)
	if w.tries != 2 {
		t.Errorf("%d tries; want 2", w.tries)
	}
}

func TestAWorkerThatStopsUsesUpNoAttempt(t *testing.T) {
	t.Parallel()
	w := newWork(t)
	working := make(chan bool)
	until := func(end bool) script {
		return func(ctx context.Context, _ int) error {
			working <- true
			if end {
				return nil
			}
			<-activity.GetWorkerStopChannel(ctx)
			return temporal.NewApplicationError("the worker is stopping", activities.KindStopping)
		}
	}
	run := w.start(input(1))
	for range 4 {
		one := w.worker(until(false))
		<-working
		one.Stop()
	}
	last := w.worker(until(true))
	defer last.Stop()
	<-working
	if err := run.Get(t.Context(), nil); err != nil || w.tries != 5 {
		t.Errorf("%d tries, %v; want 5 and success", w.tries, err)
	}
}

func TestAServiceThatIsAwayUsesUpNoAttemptAndIsTold(t *testing.T) {
	t.Parallel()
	w := newWork(t)
	err := w.do(input(1), func(_ context.Context, n int) error {
		if n <= 2 {
			return fmt.Errorf("read the dataset: %w", outage.Of("S3 at http://store", errors.New("connection refused")))
		}
		return nil
	})
	if err != nil || w.tries != 3 {
		t.Fatalf("%d tries, %v; want 3 and success", w.tries, err)
	}
	if len(w.told) != 2 || w.told[0].Outage == nil || w.told[1].Outage != nil {
		t.Fatalf("told %+v; want that it waits, and that it no longer does", w.told)
	}
	if got := w.told[0].Outage.String(); !strings.HasPrefix(got, "waiting for S3 at http://store since ") || !strings.HasSuffix(got, " UTC: connection refused") || w.told[0].Round != 1 {
		t.Errorf("told %q of round %d", got, w.told[0].Round)
	}
}

// resumed runs one attempt after others that left a tally.
func resumed(t *testing.T, before retry.Tally, err error) error {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	e := suite.NewTestActivityEnvironment()
	e.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{&activities.Retries{}}})
	e.SetHeartbeatDetails(activities.Progress{Tally: &before})
	e.RegisterActivityWithOptions(func(context.Context, activities.TrainInput) error { return err }, activity.RegisterOptions{Name: "Work"})
	_, got := e.ExecuteActivity("Work", input(5))
	return got
}

func TestAServiceThatStaysAwayEndsTheWaiting(t *testing.T) {
	since := time.Now().Add(-2 * time.Hour)
	err := resumed(t, retry.Tally{Ended: true, Outage: &retry.Outage{Service: "S3", Since: since, Asked: 9}}, outage.Of("S3", errors.New("connection refused")))
	wantLast(t, err, activities.KindOutage, 0)
	if want := "S3 does not answer: connection refused; it was waited for since " + since.UTC().Format("2006-01-02 15:04 UTC"); !strings.Contains(err.Error(), want) {
		t.Errorf("error %v; want %q", err, want)
	}
}

func TestWorkWhoseWorkersDieComesToAnEnd(t *testing.T) {
	since := time.Now().Add(-2 * time.Hour)
	err := resumed(t, retry.Tally{Lost: 40, LostSince: since}, errors.New("it was tried once more"))
	wantLast(t, err, activities.KindTimeout, 0)
	if !strings.Contains(err.Error(), "41 attempts in a row were lost") {
		t.Errorf("error %v", err)
	}
}

// TestTheBookkeepingOfASweepIsNotBounded: a sweep must not fail because a server was away
// for longer than an experiment would wait.
func TestTheBookkeepingOfASweepIsNotBounded(t *testing.T) {
	var suite testsuite.WorkflowTestSuite
	e := suite.NewTestActivityEnvironment()
	e.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{&activities.Retries{}}})
	e.SetHeartbeatDetails(activities.Progress{Tally: &retry.Tally{Ended: true, Failed: 500}})
	e.RegisterActivityWithOptions(func(context.Context, activities.LookAtCellsInput) error {
		return errors.New("the server is restarting")
	}, activity.RegisterOptions{Name: "Work"})
	_, err := e.ExecuteActivity("Work", activities.LookAtCellsInput{})
	var app *temporal.ApplicationError
	if !errors.As(err, &app) || app.NonRetryable() {
		t.Errorf("error %v; want one that is retried", err)
	}
}
