package kubernetes

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"floe/internal/job"
	"floe/internal/job/backend/internal/attempt"
	"floe/internal/pause"
)

// podsOf lists the pods of a Job, the newest last.
func (b *Backend) podsOf(ctx context.Context, j *batchv1.Job) ([]corev1.Pod, error) {
	list, err := b.pods.List(ctx, metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=" + j.Name})
	if err != nil {
		return nil, b.served(ctx, err)
	}
	list.Items = slices.DeleteFunc(list.Items, func(p corev1.Pod) bool { return !metav1.IsControlledBy(&p, j) })
	slices.SortStableFunc(list.Items, func(a, b corev1.Pod) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), restarts(&a)-restarts(&b)) // times are whole seconds
	})
	return list.Items, nil
}

// restarts is how often a pod, or one that it replaces, lost its machine.
func restarts(p *corev1.Pod) int {
	n, _ := strconv.Atoi(p.Annotations[batchv1.JobIndexIgnoredFailureCountAnnotation]) // none: 0
	if disrupted(p) && p.Status.Phase == corev1.PodFailed {
		n++
	}
	return n
}

func (b *Backend) status(ctx context.Context, j *batchv1.Job) (job.Status, error) {
	pods, err := b.podsOf(ctx, j)
	if err != nil {
		return job.Status{}, err
	}
	return told(j, pods), nil
}

// told says what a Job and its pods mean. The pods of an ended Job may be gone,
// and with them the exit code.
func told(j *batchv1.Job, pods []corev1.Pod) job.Status {
	s := job.Status{Name: j.Name, State: job.Pending, Where: "Kubernetes job " + j.Namespace + "/" + j.Name}
	var last *corev1.Pod
	if len(pods) > 0 {
		last = &pods[len(pods)-1]
		s.Restarts = restarts(last)
		s.Where += ", pod " + last.Name
		if last.Spec.NodeName != "" {
			s.Where += " on " + last.Spec.NodeName
		}
		if last.Status.StartTime != nil {
			s.Started = last.Status.StartTime.UTC()
		}
	}
	for _, c := range j.Status.Conditions {
		if c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) {
			return ended(s, j, c, last)
		}
	}
	s.State, s.Reason = running(j, last)
	if s.State == job.Pending {
		s.Started = time.Time{}
	}
	return s
}

func ended(s job.Status, j *batchv1.Job, c batchv1.JobCondition, last *corev1.Pod) job.Status {
	s.State, s.Ended, s.Reason = job.Ended, c.LastTransitionTime.UTC(), because(c, last)
	if j.Status.StartTime != nil && s.Started.IsZero() {
		s.Started = j.Status.StartTime.UTC()
	}
	if t := terminated(last); t != nil {
		code := int(t.ExitCode)
		s.ExitCode = &code
		s.Ended = t.FinishedAt.UTC()
	} else if c.Type == batchv1.JobComplete {
		s.ExitCode = new(int)
	}
	return s
}

// because is what container, pod and Job say of the end, beside the exit code.
func because(c batchv1.JobCondition, last *corev1.Pod) string {
	var words []string
	if t := terminated(last); t != nil && t.Reason != "Completed" && t.Reason != "Error" {
		words = append(words, t.Reason) // OOMKilled
	}
	if last != nil && last.Status.Reason != "" {
		words = append(words, last.Status.Reason) // DeadlineExceeded
	}
	switch c.Reason {
	case "", batchv1.JobReasonCompletionsReached, batchv1.JobReasonBackoffLimitExceeded, batchv1.JobReasonFailedIndexes:
	case batchv1.JobReasonDeadlineExceeded: // nobody but Stop gives the Job a deadline
		words = append(words, "stopped")
	default:
		words = append(words, c.Reason)
	}
	return strings.Join(words, ", ")
}

func terminated(p *corev1.Pod) *corev1.ContainerStateTerminated {
	if p == nil {
		return nil
	}
	for _, c := range p.Status.ContainerStatuses {
		if c.State.Terminated != nil && (c.Name == trainer || len(p.Spec.Containers) == 1) {
			return c.State.Terminated
		}
	}
	return nil
}

func disrupted(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue
	})
}

// running tells a program that runs from one that waits, and what it waits for.
func running(j *batchv1.Job, last *corev1.Pod) (job.State, string) {
	switch {
	case j.Spec.Suspend != nil && *j.Spec.Suspend && last == nil:
		return job.Pending, "suspended; waits in the queue " + j.Labels[queueLabel]
	case last == nil:
		return job.Pending, "no pod yet"
	case last.Status.Phase == corev1.PodRunning && last.DeletionTimestamp != nil:
		return job.Running, "its pod is being deleted"
	case last.Status.Phase == corev1.PodRunning:
		return job.Running, ""
	case last.Status.Phase == corev1.PodFailed && disrupted(last):
		return job.Pending, "preempted or evicted; waits for another pod"
	case last.Status.Phase == corev1.PodFailed || last.Status.Phase == corev1.PodSucceeded:
		return job.Running, "its pod has ended"
	}
	return job.Pending, waitsFor(last)
}

func waitsFor(p *corev1.Pod) string {
	for _, c := range p.Status.ContainerStatuses {
		if c.State.Waiting != nil {
			return strings.TrimSuffix(c.State.Waiting.Reason+": "+c.State.Waiting.Message, ": ")
		}
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return strings.TrimSuffix(c.Reason+": "+c.Message, ": ")
		}
	}
	return "its pod is " + strings.ToLower(string(p.Status.Phase))
}

const againAfter = time.Second // a log that ended before the job did

// Logs implements job.Backend. It is the log of the newest pod; that of one which
// was replaced is gone with it.
func (b *Backend) Logs(ctx context.Context, name string, o job.LogOptions, w io.Writer) error {
	at := o.From
	pod := ""
	for {
		j, err := b.get(ctx, name)
		if err != nil {
			return err
		}
		pods, err := b.podsOf(ctx, j)
		if err != nil {
			return err
		}
		s := told(j, pods)
		if len(pods) > 0 {
			last := &pods[len(pods)-1]
			if pod != "" && pod != last.Name {
				at = 0
			}
			pod = last.Name
			out := &attempt.Tail{W: w, Skip: at}
			err := b.copyLog(ctx, last, o.Follow, out)
			if at += out.Wrote; out.Err != nil || (err != nil && !o.Follow) {
				return errors.Join(out.Err, err)
			}
		}
		if !o.Follow || s.State.Final() {
			return nil
		}
		if err := pause.For(ctx, againAfter); err != nil {
			return err
		}
	}
}

// copyLog copies a pod's log; a container that has not started has none yet.
func (b *Backend) copyLog(ctx context.Context, p *corev1.Pod, follow bool, w io.Writer) error {
	if p.Status.Phase == corev1.PodPending {
		return nil
	}
	c, err := container(&p.Spec)
	if err != nil {
		return err
	}
	log, err := b.pods.GetLogs(p.Name, &corev1.PodLogOptions{Container: c.Name, Follow: follow}).Stream(ctx)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, log)
	return errors.Join(err, log.Close())
}
