package kubernetes

import (
	"maps"
	"math"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"floe/internal/job"
)

// manifest is the Job of a request.
func (b *Backend) manifest(r job.Request) (*batchv1.Job, error) {
	pod := *b.settings.Template.DeepCopy()
	c, err := container(&pod.Spec)
	if err != nil {
		return nil, err
	}
	fill(c, r, corev1.ResourceName(b.settings.GPUResource))
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	pod.Spec.TerminationGracePeriodSeconds = new(max(1, int64(r.Grace.Seconds())))
	if wall := r.Resources.Wall; wall > 0 {
		// A deadline of the Job would count the time that its pod waits for a node.
		pod.Spec.ActiveDeadlineSeconds = new(max(1, int64(wall.Seconds())))
	}
	pod.Labels = merged(pod.Labels, map[string]string{managedByLabel: "floe"})
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Name: r.Name(), Namespace: b.settings.Namespace, Labels: b.labels(),
			Annotations: map[string]string{digestNote: r.SpecSHA256, jobNote: r.Job},
		},
		Spec: batchv1.JobSpec{
			Template: pod, Completions: new(int32(1)), Parallelism: new(int32(1)),
			// A program that ends badly is judged by floe, which starts the next
			// attempt; one that lost its machine is started again by Kubernetes.
			BackoffLimit: new(int32(0)),
			// Of an indexed job Kubernetes notes on each pod how many went before it:
			// those that were evicted are gone, and with them all other trace.
			CompletionMode: new(batchv1.IndexedCompletion), BackoffLimitPerIndex: new(int32(0)),
			PodFailurePolicy: &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
				Action:          batchv1.PodFailurePolicyActionIgnore,
				OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}},
			}}},
			// Two pods must never train the same job, not even while one ends.
			PodReplacementPolicy:    new(batchv1.Failed),
			TTLSecondsAfterFinished: new(int32(min(b.settings.Keep.Seconds(), math.MaxInt32))),
			Suspend:                 new(b.settings.Queue != ""), // until Kueue lets it go
		},
	}, nil
}

// labels are the Job's, by which Kueue knows it.
func (b *Backend) labels() map[string]string {
	l := map[string]string{managedByLabel: "floe"}
	if b.settings.Queue != "" {
		l[queueLabel] = b.settings.Queue
	}
	if b.settings.Priority != "" {
		l[priorityLabel] = b.settings.Priority
	}
	return l
}

// fill puts a request into a container.
func fill(c *corev1.Container, r job.Request, gpu corev1.ResourceName) {
	words := make([]string, len(r.Command))
	for i, w := range r.Command {
		words[i] = literal(w)
	}
	c.Command, c.Args = words[:1], words[1:]
	for _, v := range r.Environ() {
		c.Env = append(c.Env, corev1.EnvVar{Name: v.Name, Value: literal(v.Value)})
	}
	want := func(list *corev1.ResourceList, name corev1.ResourceName, n int64) {
		if n == 0 {
			return
		}
		if *list == nil {
			*list = corev1.ResourceList{}
		}
		(*list)[name] = *resource.NewQuantity(n, resource.DecimalSI)
	}
	want(&c.Resources.Limits, gpu, int64(r.Resources.GPUs)) // which makes it the request, too
	want(&c.Resources.Requests, corev1.ResourceCPU, int64(r.Resources.CPUs))
	want(&c.Resources.Requests, corev1.ResourceMemory, r.Resources.MemoryBytes)
}

// literal keeps Kubernetes from expanding $(NAME).
func literal(text string) string { return strings.ReplaceAll(text, "$", "$$") }

func merged(a, b map[string]string) map[string]string {
	m := map[string]string{}
	maps.Copy(m, a)
	maps.Copy(m, b)
	return m
}
