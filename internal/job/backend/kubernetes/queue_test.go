package kubernetes_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"floe/internal/job"
	"floe/internal/job/jobtest"
)

// Kueue is no part of Kubernetes; what it does to a Job is played here: it
// unsuspends the Job with a choice of nodes, and suspends it again to give its
// machine to another. What becomes of the Job is real.
func TestBackendBehindAQueueOfARealControlPlane(t *testing.T) {
	l := cluster(t)
	l.settings.Queue, l.settings.Priority = "gpus", "low"
	jobs, err := l.admin.BatchV1().Jobs(l.namespace).Watch(t.Context(), metav1.ListOptions{LabelSelector: "kueue.x-k8s.io/queue-name=gpus"})
	must(t, err)
	admitted := make(chan error)
	go func() {
		var errs []error
		for e := range jobs.ResultChan() {
			if j, ok := e.Object.(*batchv1.Job); ok && e.Type == watch.Added {
				errs = append(errs, l.patch(j.Name, admit))
			}
		}
		admitted <- errors.Join(errs...)
	}()
	jobtest.Run(t, jobtest.World{Open: func(t *testing.T) job.Backend { return open(t, l.settings) }, NoExitAfterStop: true})
	jobs.Stop()
	must(t, <-admitted)
}

const (
	admit    = `{"spec":{"suspend":false,"template":{"spec":{"nodeSelector":{"kubernetes.io/os":"linux"}}}}}`
	withdraw = `{"spec":{"suspend":true}}`
)

func TestAJobWhoseQueueTookItsMachineGoesOnWhenItIsLetGo(t *testing.T) {
	l := cluster(t)
	l.settings.Queue = "gpus"
	b, r := open(t, l.settings), holding(t)
	_, err := b.Submit(t.Context(), r)
	must(t, err)
	must(t, l.patch(r.Name(), admit))
	becomes(t, b, r.Name(), "running", running)
	must(t, l.patch(r.Name(), withdraw))
	becomes(t, b, r.Name(), "in its queue again", func(s job.Status) bool { return s.State == job.Pending && strings.Contains(s.Reason, "queue gpus") })
	must(t, l.patch(r.Name(), admit))
	becomes(t, b, r.Name(), "running again", running)
	letGo(t, r)
	if s := becomes(t, b, r.Name(), "ended", ended); s.ExitCode == nil || *s.ExitCode != 0 {
		t.Errorf("got %s; want it ended well", s)
	}
	wantStarts(t, r, 2)
}

func TestAJobWhoseQueueTookItsMachineWhileItWasAskedToEndIsDeleted(t *testing.T) {
	l := cluster(t)
	l.settings.Queue = "gpus"
	b, r := open(t, l.settings), holding(t) // which does not look for stop.requested
	_, err := b.Submit(t.Context(), r)
	must(t, err)
	must(t, l.patch(r.Name(), admit))
	becomes(t, b, r.Name(), "running", running)
	stopped := make(chan error, 1)
	go func() { stopped <- b.Stop(t.Context(), r.Name(), time.Hour) }()
	must(t, l.patch(r.Name(), withdraw))
	select {
	case err := <-stopped:
		must(t, err)
	case <-time.After(jobtest.Patience):
		t.Fatal("the stop does not come to its end")
	}
	if s, err := b.Status(t.Context(), r.Name()); !errors.Is(err, job.ErrUnknown) {
		t.Errorf("got %s, %v; want it gone", s, err)
	}
}

func TestAQueuedJobIsDeletedWhenItIsStopped(t *testing.T) {
	l := cluster(t)
	l.settings.Queue = "gpus"
	b, r := open(t, l.settings), holding(t)
	s, err := b.Submit(t.Context(), r)
	if err != nil || s.State != job.Pending || !strings.Contains(s.Reason, "queue gpus") {
		t.Fatalf("got %s, %v; want it to wait in its queue", s, err)
	}
	must(t, b.Stop(t.Context(), r.Name(), time.Hour))
	if s, err := b.Status(t.Context(), r.Name()); !errors.Is(err, job.ErrUnknown) {
		t.Errorf("got %s, %v; want it gone", s, err)
	}
}
