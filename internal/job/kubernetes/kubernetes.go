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
	"floe/internal/job/record"
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
	return &Backend{s, jobs.Jobs(s.Namespace), pods.Pods(s.Namespace), reviews.SelfSubjectAccessReviews()}, nil
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
			return job.Status{}, err
		}
	}
	if digest := found.Annotations[digestNote]; digest != r.SpecSHA256 {
		return job.Status{}, &job.ConflictError{Name: r.Name(), Found: digest, Want: r.SpecSHA256}
	}
	return b.status(ctx, found)
}

func (b *Backend) get(ctx context.Context, name string) (*batchv1.Job, error) {
	if err := job.CheckName(name); err != nil {
		return nil, err
	}
	found, err := b.jobs.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("%s: %w", name, job.ErrUnknown)
	}
	return found, err
}

// Status implements job.Backend.
func (b *Backend) Status(ctx context.Context, name string) (job.Status, error) {
	found, err := b.get(ctx, name)
	if err != nil {
		return job.Status{}, err
	}
	return b.status(ctx, found)
}

// endNow is how a Job that runs is told to end: its time is up.
var endNow = []byte(`{"spec":{"activeDeadlineSeconds":1}}`)

// Stop implements job.Backend. A Job that runs is ended, and stays to be asked
// about; one that waits, or waits again as its queue took the machine away while
// it was asked to end, is deleted: a deadline does not end what is suspended.
func (b *Backend) Stop(ctx context.Context, name string, grace time.Duration) error {
	var s job.Status
	left := func(ctx context.Context) (bool, error) {
		var err error
		s, err = b.Status(ctx, name)
		return s.State != job.Running, err
	}
	_, err := record.Until(ctx, grace, left)
	if err == nil && !s.State.Final() {
		err = b.end(ctx, s)
	}
	if errors.Is(err, job.ErrUnknown) || apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	done, err := record.Until(ctx, goneWithin, record.Gone(b, name))
	if err == nil && !done {
		err = fmt.Errorf("%s is still there %s after it was told to end", name, goneWithin)
	}
	return err
}

// end ends a Job without more grace for its program.
func (b *Backend) end(ctx context.Context, s job.Status) error {
	if s.State != job.Running {
		foreground := metav1.DeletePropagationForeground
		return b.jobs.Delete(ctx, s.Name, metav1.DeleteOptions{PropagationPolicy: &foreground})
	}
	_, err := b.jobs.Patch(ctx, s.Name, types.StrategicMergePatchType, endNow, metav1.PatchOptions{})
	return errors.Join(err, b.kill(ctx, s.Name))
}

// kill ends the pods of a Job without more grace: they had theirs.
func (b *Backend) kill(ctx context.Context, name string) error {
	pods, err := b.podsOf(ctx, name)
	if err != nil {
		return err
	}
	var errs []error
	for _, p := range pods {
		now := int64(1) // 0 would not wait for the program to be gone
		if err := b.pods.Delete(ctx, p.Name, metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil && !apierrors.IsNotFound(err) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
