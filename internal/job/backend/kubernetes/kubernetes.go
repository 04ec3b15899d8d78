// Package kubernetes is the back end for Kubernetes: an attempt is a Job of
// batch/v1 with one pod, which Kueue may queue. The name of the attempt is the
// Job's, so Kubernetes itself sees to it that there is one; an annotation has the
// digest of its spec.
//
// A pod that was evicted or preempted is made anew by Kubernetes under the same
// Job; the trainer goes on from its latest checkpoint. A pod cannot be signalled
// without being deleted, and a deleted pod takes its exit code along. So Stop
// first waits for the program to follow stop.requested.
package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedauthorization "k8s.io/client-go/kubernetes/typed/authorization/v1"
	typedbatch "k8s.io/client-go/kubernetes/typed/batch/v1"
	typedcore "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/clientcmd"

	"floe/internal/job"
	"floe/internal/job/backend/internal/attempt"
	"floe/internal/outage"
)

// Settings of the back end.
type Settings struct {
	Kubeconfig string // file; empty: KUBECONFIG, ~/.kube/config, or the pod that the worker runs in
	Context    string // in that file; empty: its current one
	Namespace  string // empty: that of the context

	// Template is what the job's pod is made from: image, volumes, tolerations,
	// secrets. Command, variables and resources are put into its container named
	// "trainer", or its only one.
	Template corev1.PodTemplateSpec
	// Queue is Kueue's LocalQueue; empty: Kueue has no part in it.
	Queue string
	// Priority is Kueue's WorkloadPriorityClass.
	Priority string
	// GPUResource is what a GPU is called; empty: nvidia.com/gpu.
	GPUResource string
	// Keep is how long a Job stays after its end. A worker that was away for
	// longer does not find it. 0: a week.
	Keep time.Duration
}

const (
	trainer        = "trainer" // container
	defaultGPU     = "nvidia.com/gpu"
	defaultKeep    = 7 * 24 * time.Hour
	goneWithin     = 10 * time.Minute // after a Job was told to end
	callsPerSecond = 50               // at most; client-go's 5 would make many jobs wait for one another
	digestNote     = "floe/spec-sha256"
	jobNote        = "floe/job"
	managedByLabel = "app.kubernetes.io/managed-by"
	queueLabel     = "kueue.x-k8s.io/queue-name"
	priorityLabel  = "kueue.x-k8s.io/priority-class"
)

// New checks settings, reads the kubeconfig and returns the back end.
func New(s Settings) (*Backend, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = s.Kubeconfig
	config := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: s.Context})
	rest, err := config.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("kubernetes back end: %w", err)
	}
	rest.ContentType = "application/json" // what every server and every proxy between understands
	rest.QPS, rest.Burst = callsPerSecond, 2*callsPerSecond
	if s.Namespace == "" {
		if s.Namespace, _, err = config.Namespace(); err != nil {
			return nil, fmt.Errorf("kubernetes back end: %w", err)
		}
	}
	jobs, err1 := typedbatch.NewForConfig(rest)
	pods, err2 := typedcore.NewForConfig(rest)
	reviews, err3 := typedauthorization.NewForConfig(rest)
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, fmt.Errorf("kubernetes back end: %w", err)
	}
	if s, err = s.complete(); err != nil {
		return nil, err
	}
	return &Backend{s, rest.Host, jobs.Jobs(s.Namespace), pods.Pods(s.Namespace), reviews.SelfSubjectAccessReviews()}, nil
}

// complete checks settings and fills in what they leave out.
func (s Settings) complete() (Settings, error) {
	if s.GPUResource == "" {
		s.GPUResource = defaultGPU
	}
	if s.Keep <= 0 {
		s.Keep = defaultKeep
	}
	c, err := container(&s.Template.Spec)
	if err == nil && c.Image == "" {
		err = fmt.Errorf("kubernetes back end: container %s of the template has no image", c.Name)
	}
	return s, err
}

// container is the one of a pod that the trainer runs in.
func container(p *corev1.PodSpec) (*corev1.Container, error) {
	for i := range p.Containers {
		if p.Containers[i].Name == trainer || len(p.Containers) == 1 {
			return &p.Containers[i], nil
		}
	}
	return nil, fmt.Errorf("kubernetes back end: the template has %d containers; want one, or one named %s", len(p.Containers), trainer)
}

// Backend implements job.Backend.
type Backend struct {
	settings Settings
	address  string // of the API server
	jobs     typedbatch.JobInterface
	pods     typedcore.PodInterface
	reviews  typedauthorization.SelfSubjectAccessReviewInterface
}

var _ job.Backend = (*Backend)(nil)

// Submit implements job.Backend.
func (b *Backend) Submit(ctx context.Context, r job.Request) (job.Status, error) {
	if err := r.Validate(); err != nil {
		return job.Status{}, err
	}
	want, err := b.manifest(r)
	if err != nil {
		return job.Status{}, err
	}
	found, err := b.jobs.Create(ctx, want, metav1.CreateOptions{})
	if err != nil {
		// It may be there already, or the answer to its creation got lost.
		var again error
		if found, again = b.jobs.Get(ctx, r.Name(), metav1.GetOptions{}); again != nil {
			return job.Status{}, b.served(ctx, err)
		}
	}
	if digest := found.Annotations[digestNote]; digest != r.SpecSHA256 {
		return job.Status{}, &job.ConflictError{Name: r.Name(), Found: digest, Want: r.SpecSHA256}
	}
	return b.status(ctx, found)
}

// get finds an attempt. A Job of its name that floe has not made is none.
func (b *Backend) get(ctx context.Context, name string) (*batchv1.Job, error) {
	if err := job.CheckName(name); err != nil {
		return nil, err
	}
	found, err := b.jobs.Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("%s: %w", name, job.ErrUnknown)
	case err != nil:
		return nil, b.served(ctx, err)
	case found.Annotations[digestNote] == "" || !strings.HasPrefix(name, found.Annotations[jobNote]+"-a"):
		return nil, fmt.Errorf("%s: the Job of that name in the cluster was not made by floe: %w", name, job.ErrUnknown)
	}
	return found, nil
}

// served marks the error of a call that the API server did not serve as an outage.
func (b *Backend) served(ctx context.Context, err error) error {
	if err == nil || errors.Is(ctx.Err(), context.Canceled) {
		return err
	}
	unserved := false
	if answer, ok := errors.AsType[*apierrors.StatusError](err); ok {
		switch answer.ErrStatus.Code {
		case http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			unserved = true
		}
	} else if _, ok := errors.AsType[net.Error](err); ok || errors.Is(err, io.ErrUnexpectedEOF) {
		unserved = true
	}
	if unserved {
		return outage.Of("Kubernetes at "+b.address, err)
	}
	return err
}

// Status implements job.Backend.
func (b *Backend) Status(ctx context.Context, name string) (job.Status, error) {
	found, err := b.get(ctx, name)
	if err != nil {
		return job.Status{}, err
	}
	return b.status(ctx, found)
}

// Stop implements job.Backend. A Job that runs is ended, and stays to be asked
// about; one that waits, or waits again as its queue took the machine away while
// it was asked to end, is deleted: a deadline does not end what is suspended. What is
// changed is the very Job that was seen: another one of its name is left alone.
func (b *Backend) Stop(ctx context.Context, name string, grace time.Duration) error {
	var found *batchv1.Job
	var s job.Status
	gone := func(ctx context.Context) (bool, error) {
		j, err := b.get(ctx, name)
		if errors.Is(err, job.ErrUnknown) || err == nil && found != nil && j.UID != found.UID {
			s.State = job.Lost
			return true, nil
		}
		if err != nil {
			return false, err
		}
		found = j
		s, err = b.status(ctx, j)
		return s.State.Final(), err
	}
	left := func(ctx context.Context) (bool, error) {
		_, err := gone(ctx)
		return s.State != job.Running, err
	}
	if _, err := attempt.Until(ctx, grace, left); err != nil || s.State.Final() {
		return err
	}
	if err := b.end(ctx, found, s.State); err != nil {
		if done, again := gone(ctx); done && again == nil {
			return nil
		}
		return b.served(ctx, err)
	}
	done, err := attempt.Until(ctx, goneWithin, gone)
	if err == nil && !done {
		err = fmt.Errorf("%s is still there %s after it was told to end", name, goneWithin)
	}
	return err
}

// end ends a Job without more grace for its program. One that runs is told that its
// time is up.
func (b *Backend) end(ctx context.Context, j *batchv1.Job, state job.State) error {
	if state != job.Running {
		foreground := metav1.DeletePropagationForeground
		return b.jobs.Delete(ctx, j.Name, metav1.DeleteOptions{PropagationPolicy: &foreground, Preconditions: metav1.NewUIDPreconditions(string(j.UID))})
	}
	now := fmt.Appendf(nil, `{"metadata":{"uid":%q},"spec":{"activeDeadlineSeconds":1}}`, j.UID)
	if _, err := b.jobs.Patch(ctx, j.Name, types.StrategicMergePatchType, now, metav1.PatchOptions{}); err != nil {
		return err // also if it is another Job: a uid cannot be changed
	}
	return b.kill(ctx, j)
}

// kill ends the pods of a Job without more grace: they had theirs.
func (b *Backend) kill(ctx context.Context, j *batchv1.Job) error {
	pods, err := b.podsOf(ctx, j)
	if err != nil {
		return err
	}
	var errs []error
	for _, p := range pods {
		how := metav1.NewPreconditionDeleteOptions(string(p.UID))
		how.GracePeriodSeconds = new(int64(1)) // 0 would not wait for the program to be gone
		if err := b.pods.Delete(ctx, p.Name, *how); err != nil && !apierrors.IsNotFound(err) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
