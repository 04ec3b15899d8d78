package kubernetes_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"floe/internal/job"
	"floe/internal/job/jobtest"
)

func TestBackendAgainstARealControlPlane(t *testing.T) {
	l := cluster(t)
	jobtest.Run(t, jobtest.World{
		Open:            func(t *testing.T) job.Backend { return open(t, l.settings) },
		Preempt:         l.evict,
		Restarts:        true,
		NoExitAfterStop: true,
	})
}

// holding is a job that runs until it may end, and saves when it is asked to end.
func holding(t *testing.T) job.Request {
	t.Helper()
	r := request()
	r.Job, r.Dir, r.Grace = "train-2", t.TempDir(), 30*time.Second
	r.Command = []string{"sh", "-c", `echo x >> "$FLOE_JOB_DIR/starts"; trap 'exit 75' TERM; while [ ! -e "$FLOE_JOB_DIR/go" ]; do sleep 0.05; done`}
	r.Resources = job.Resources{GPUs: nodeGPUs}
	return r
}

func letGo(t *testing.T, r job.Request) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(r.Dir, "go"), nil, 0o600))
}

func wantStarts(t *testing.T, r job.Request, want int) {
	t.Helper()
	if body, err := os.ReadFile(filepath.Join(r.Dir, "starts")); err != nil || strings.Count(string(body), "x") != want {
		t.Errorf("it was started %q, %v; want %d times", body, err, want)
	}
}

func running(s job.Status) bool { return s.State == job.Running }

func ended(s job.Status) bool { return s.State.Final() }

func TestAPodThatFitsNowhereSaysWhatTheSchedulerMisses(t *testing.T) {
	l := cluster(t)
	b, r := open(t, l.settings), holding(t)
	r.Resources.GPUs = nodeGPUs + 1
	_, err := b.Submit(t.Context(), r)
	must(t, err)
	becomes(t, b, r.Name(), "unschedulable", func(s job.Status) bool {
		return s.State == job.Pending && strings.HasPrefix(s.Reason, "Unschedulable: ") && strings.Contains(s.Reason, "nvidia.com/gpu")
	})
	must(t, b.Stop(t.Context(), r.Name(), time.Hour))
}

// Each of these takes the machine away in its own way; the Job gets another pod.
func TestAPodThatLostItsMachineIsMadeAnew(t *testing.T) {
	l := cluster(t)
	nothing := func() {}
	for _, way := range []struct {
		name string
		take func(t *testing.T, r job.Request) (giveBack func())
	}{
		{"drained", func(t *testing.T, r job.Request) func() { l.evict(t, r.Name()); return nothing }},
		{"short-of-memory", func(t *testing.T, r job.Request) func() { l.node.evict(l.podOf(t, r.Name(), runs).UID); return nothing }},
		{"outranked", func(t *testing.T, _ job.Request) func() { return l.outrank(t) }},
	} {
		t.Run(way.name, func(t *testing.T) {
			b, r := open(t, l.settings), holding(t)
			r.Job = way.name
			_, err := b.Submit(t.Context(), r)
			must(t, err)
			becomes(t, b, r.Name(), "running", running)
			for n := 1; n <= 2; n++ {
				giveBack := way.take(t, r)
				becomes(t, b, r.Name(), "no longer on its machine", func(s job.Status) bool { return !running(s) || s.Restarts == n })
				giveBack()
				becomes(t, b, r.Name(), "running again", func(s job.Status) bool { return running(s) && s.Restarts == n })
			}
			letGo(t, r)
			if s := becomes(t, b, r.Name(), "ended", ended); s.ExitCode == nil || *s.ExitCode != 0 || s.Restarts != 2 {
				t.Errorf("got %+v; want it ended well after two restarts", s)
			}
			wantStarts(t, r, 3)
		})
	}
}

func TestALogIsFollowedFromOnePodToTheNext(t *testing.T) {
	l := cluster(t)
	b, r := open(t, l.settings), holding(t)
	r.Command[2] = "echo it begins; " + r.Command[2] + "; echo it ends"
	_, err := b.Submit(t.Context(), r)
	must(t, err)
	from, to := io.Pipe()
	go func() { _ = to.CloseWithError(b.Logs(t.Context(), r.Name(), job.LogOptions{Follow: true}, to)) }()
	log := bufio.NewReader(from)
	first, err := log.ReadString('\n')
	must(t, err)
	l.evict(t, r.Name())
	becomes(t, b, r.Name(), "running again", func(s job.Status) bool { return running(s) && s.Restarts == 1 })
	letGo(t, r)
	rest, err := io.ReadAll(log)
	must(t, err)
	if got, want := first+string(rest), "it begins\nit begins\nit ends\n"; got != want {
		t.Errorf("the log is %q; want %q", got, want)
	}
}

// outrank lets the scheduler make room for a pod of a higher class.
func (l *lab) outrank(t *testing.T) (giveBack func()) {
	t.Helper()
	class, err := l.admin.SchedulingV1().PriorityClasses().Create(t.Context(), &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{GenerateName: "high-"}, Value: 1000}, metav1.CreateOptions{})
	must(t, err)
	all := corev1.ResourceList{"nvidia.com/gpu": *quantity(nodeGPUs)}
	pods := l.admin.CoreV1().Pods(l.namespace)
	p, err := pods.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "important-"},
		Spec: corev1.PodSpec{
			PriorityClassName: class.Name, RestartPolicy: corev1.RestartPolicyNever,
			Containers: []corev1.Container{{Name: "c", Image: "lab/other:1", Command: []string{"sleep", "100000"}, Resources: corev1.ResourceRequirements{Limits: all}}},
		},
	}, metav1.CreateOptions{})
	must(t, err)
	return func() {
		now := int64(1)
		must(t, pods.Delete(t.Context(), p.Name, metav1.DeleteOptions{GracePeriodSeconds: &now}))
		must(t, l.admin.SchedulingV1().PriorityClasses().Delete(t.Context(), class.Name, metav1.DeleteOptions{}))
	}
}

func TestAJobPastItsTimeIsEndedAndMaySave(t *testing.T) {
	l := cluster(t)
	b, r := open(t, l.settings), holding(t)
	r.Command[2] = strings.Replace(r.Command[2], "'exit 75'", `'touch "$FLOE_JOB_DIR/saved"; exit 75'`, 1)
	r.Resources.Wall = time.Second
	_, err := b.Submit(t.Context(), r)
	must(t, err)
	s := becomes(t, b, r.Name(), "ended", ended)
	if s.State != job.Ended || s.Reason != "DeadlineExceeded" || s.ExitCode == nil || *s.ExitCode != job.ExitStopped {
		t.Errorf("got %s; want it ended by its deadline, with its exit code", s)
	}
	if _, err := os.Stat(filepath.Join(r.Dir, "saved")); err != nil {
		t.Errorf("it could not save: %v", err)
	}
}

func TestTheTimeThatAPodWaitsForANodeIsNotCounted(t *testing.T) {
	l := cluster(t)
	giveBack := l.outrank(t)
	b, r := open(t, l.settings), holding(t)
	r.Resources.Wall = 2 * time.Second
	letGo(t, r)
	_, err := b.Submit(t.Context(), r)
	must(t, err)
	p := l.podOf(t, r.Name(), func(*corev1.Pod) bool { return true })
	until(t, "the pod to have waited for longer than it may run", func() bool { return time.Since(p.CreationTimestamp.Time) > 2*r.Resources.Wall })
	giveBack()
	if s := becomes(t, b, r.Name(), "ended", ended); s.ExitCode == nil || *s.ExitCode != 0 {
		t.Errorf("got %s; want it ended well", s)
	}
}

func TestAnEndedJobIsForgottenWhenItsTimeToBeKeptIsUp(t *testing.T) {
	l := cluster(t)
	l.settings.Keep = time.Second
	b, r := open(t, l.settings), holding(t)
	letGo(t, r)
	_, err := b.Submit(t.Context(), r)
	must(t, err)
	until(t, "the job to be gone", func() bool {
		_, err := b.Status(t.Context(), r.Name())
		return errors.Is(err, job.ErrUnknown)
	})
}

func TestCheckNamesTheRightsThatAreMissing(t *testing.T) {
	l := cluster(t)
	b := open(t, l.settings)
	must(t, b.Check(t.Context()))
	roles := l.admin.RbacV1().Roles(l.namespace)
	role, err := roles.Get(t.Context(), "floe-worker", metav1.GetOptions{})
	must(t, err)
	role.Rules = role.Rules[:2] // without logs
	role.Rules[1].Verbs = []string{"list"}
	_, err = roles.Update(t.Context(), role, metav1.UpdateOptions{})
	must(t, err)
	until(t, "the server to enforce the role", func() bool { err = b.Check(t.Context()); return err != nil })
	for _, want := range []string{l.namespace, "delete pods", "get pods/log"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got %v; want %s named", err, want)
		}
	}
	if strings.Contains(err.Error(), "jobs") {
		t.Errorf("got %v; want nothing of jobs, for which it has the rights", err)
	}
}

// What the API server makes of the manifest is what was meant: it drops fields
// that it does not know, without a word.
func TestTheServerKeepsAllOfTheManifest(t *testing.T) {
	l := cluster(t)
	l.settings.Queue = "gpus"
	b, r := open(t, l.settings), holding(t)
	r.Resources.Wall = time.Hour
	_, err := b.Submit(t.Context(), r)
	must(t, err)
	j, err := l.admin.BatchV1().Jobs(l.namespace).Get(t.Context(), r.Name(), metav1.GetOptions{})
	must(t, err)
	got, err := json.Marshal(j.Spec)
	must(t, err)
	for _, want := range []string{
		`"backoffLimit":0`, `"backoffLimitPerIndex":0`, `"completionMode":"Indexed"`, `"podReplacementPolicy":"Failed"`, `"action":"Ignore"`,
		`"activeDeadlineSeconds":3600`, `"ttlSecondsAfterFinished":604800`, `"suspend":true`, `"terminationGracePeriodSeconds":30`,
	} {
		if !strings.Contains(string(got), want) {
			t.Errorf("the server keeps %s; want %s in it", got, want)
		}
	}
}
