package kubernetes_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"floe/internal/importtest"
	"floe/internal/job"
	"floe/internal/job/backend/kubernetes"
	"floe/internal/job/jobtest"
	"floe/internal/outage"
)

func TestImports(t *testing.T) { importtest.Check(t, importtest.NoTemporal, importtest.NoAWS) }

// config writes a kubeconfig for a server.
func config(t *testing.T, address string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: here
clusters: [{name: here, cluster: {server: %q}}]
users: [{name: me, user: {token: some-token}}]
contexts: [{name: here, context: {cluster: here, user: me, namespace: lab}}]
`, address)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func serve(t *testing.T) (*standIn, kubernetes.Settings) {
	t.Helper()
	s := newStandIn(t)
	server := httptest.NewServer(s.handler())
	t.Cleanup(server.Close)
	return s, kubernetes.Settings{
		Kubeconfig: config(t, server.URL),
		Template:   corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "trainer", Image: "lab/trainer:1"}}}},
	}
}

func open(t *testing.T, s kubernetes.Settings) *kubernetes.Backend {
	t.Helper()
	b, err := kubernetes.New(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBackendAgainstAStandIn(t *testing.T) {
	server, settings := serve(t)
	jobtest.Run(t, jobtest.World{
		Open:            func(t *testing.T) job.Backend { return open(t, settings) },
		Preempt:         func(_ *testing.T, name string) { server.disrupt(name) },
		Restarts:        true,
		NoExitAfterStop: true,
		Stranger: func(t *testing.T, name string) func() bool {
			server.mu.Lock()
			defer server.mu.Unlock()
			server.replace(name, map[string]string{"team": "lab"})
			t.Cleanup(server.end)
			return func() bool { return server.runs(name) }
		},
	})
}

// The Job can be replaced between the look and the deed, by another worker's too.
func TestOnlyTheJobThatWasSeenIsStopped(t *testing.T) {
	for _, queue := range []string{"", "gpus"} {
		server, settings := serve(t)
		t.Cleanup(server.end)
		settings.Queue = queue
		b, r := open(t, settings), request()
		r.Command = []string{"sleep", "1000"}
		if _, err := b.Submit(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		server.before = func() { server.replace(r.Name(), server.jobs[r.Name()].Annotations) }
		if err := b.Stop(t.Context(), r.Name(), 0); err != nil {
			t.Errorf("queue %q: %v; want that the Job is gone", queue, err)
		}
		if !server.runs(r.Name()) {
			t.Errorf("queue %q: the Job that took its name was stopped", queue)
		}
	}
}

func TestAnAPIServerThatDoesNotServeIsAnOutage(t *testing.T) {
	is := func(err error) bool {
		e, is := outage.As(err)
		return is && strings.HasPrefix(e.Service, "Kubernetes at http://127.0.0.1:")
	}
	for status, want := range map[int]bool{429: true, 500: true, 502: true, 503: true, 504: true, 401: false, 403: false, 422: false} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "0") // the client itself waits for no longer
			w.WriteHeader(status)
		}))
		_, settings := serve(t)
		settings.Kubeconfig = config(t, server.URL)
		if _, err := open(t, settings).Status(t.Context(), "train-1-a1"); err == nil || is(err) != want {
			t.Errorf("HTTP %d: %v, an outage: %t; want %t", status, err, is(err), want)
		}
		server.Close()
		if _, err := open(t, settings).Submit(t.Context(), request()); !is(err) {
			t.Errorf("refused connection: %v; want an outage", err)
		}
		if err := open(t, settings).Stop(t.Context(), "train-1-a1", 0); !is(err) {
			t.Errorf("refused connection: %v; want an outage", err)
		}
	}
}

func request() job.Request {
	return job.Request{
		Job: "train-1", Attempt: 1, Command: []string{"python", "-m", "floe_trainer", "$(HOME)"}, Spec: "s3://b/spec.json", SpecSHA256: job.Digest(nil),
		Dir: "/job", Output: "s3://b/out/", Grace: 5 * time.Minute,
		Resources: job.Resources{GPUs: 2, CPUs: 8, MemoryBytes: 64 << 30, Wall: time.Hour},
	}
}

func TestAQueuedJobWaitsForKueue(t *testing.T) {
	server, settings := serve(t)
	settings.Queue, settings.Priority = "gpus", "low"
	settings.Template.Labels = map[string]string{"team": "lab"}
	b := open(t, settings)
	s, err := b.Submit(t.Context(), request())
	if err != nil || s.State != job.Pending || !strings.Contains(s.Reason, "queue gpus") {
		t.Fatalf("got %s, %v; want it to wait in its queue", s, err)
	}
	j := server.jobs["train-1-a1"]
	if j.Labels["kueue.x-k8s.io/queue-name"] != "gpus" || j.Labels["kueue.x-k8s.io/priority-class"] != "low" || !*j.Spec.Suspend {
		t.Errorf("labels are %v, suspended %v; want Kueue's", j.Labels, j.Spec.Suspend)
	}
	p := j.Spec.Template
	c := p.Spec.Containers[0]
	gpus := c.Resources.Limits["nvidia.com/gpu"]
	if gpus.Value() != 2 || c.Resources.Requests.Cpu().Value() != 8 || c.Resources.Requests.Memory().Value() != 64<<30 || p.Labels["team"] != "lab" {
		t.Errorf("the container wants %+v; want 2 GPUs, 8 CPUs and 64 GiB", c.Resources)
	}
	if c.Args[2] != "$$(HOME)" {
		t.Errorf("an argument is %q; want what Kubernetes leaves alone", c.Args[2])
	}
	if *p.Spec.TerminationGracePeriodSeconds != 300 || *p.Spec.ActiveDeadlineSeconds != 3600 || *j.Spec.BackoffLimit != 0 || p.Spec.RestartPolicy != corev1.RestartPolicyNever {
		body, _ := json.Marshal(j.Spec)
		t.Errorf("the job is %s", body)
	}
	if err := b.Stop(t.Context(), "train-1-a1", time.Hour); err != nil {
		t.Fatal(err)
	}
	if len(server.jobs) != 0 {
		t.Error("the job that waited is there after it was stopped")
	}
}

func TestWhatAPodWaitsForIsTold(t *testing.T) {
	server, settings := serve(t)
	settings.Queue = "gpus"
	b := open(t, settings)
	if _, err := b.Submit(t.Context(), request()); err != nil {
		t.Fatal(err)
	}
	p := &pod{}
	p.Name, p.Labels = "train-1-a1-x", map[string]string{"batch.kubernetes.io/job-name": "train-1-a1"}
	p.CreationTimestamp = metav1.Now()
	p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(server.jobs["train-1-a1"], batchv1.SchemeGroupVersion.WithKind("Job"))}
	p.Status.Phase = corev1.PodPending
	server.pods[p.Name] = p
	for want, status := range map[string]corev1.PodStatus{
		"Unschedulable: no node has 2 GPUs": {
			Phase:      corev1.PodPending,
			Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "no node has 2 GPUs"}},
		},
		"ImagePullBackOff": {
			Phase:             corev1.PodPending,
			ContainerStatuses: []corev1.ContainerStatus{{Name: "trainer", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}}},
		},
	} {
		server.mu.Lock()
		p.Status = status
		server.mu.Unlock()
		if s, err := b.Status(t.Context(), "train-1-a1"); err != nil || s.State != job.Pending || s.Reason != want {
			t.Errorf("got %s, %v; want it to wait: %s", s, err, want)
		}
	}
}

func TestWhatAStopKilledIsSaidToBeStopped(t *testing.T) {
	_, settings := serve(t)
	b, r := open(t, settings), request()
	r.Command = []string{"sleep", "100000"}
	if s, err := b.Submit(t.Context(), r); err != nil || s.State != job.Running {
		t.Fatalf("got %s, %v; want it running", s, err)
	}
	if err := b.Stop(t.Context(), r.Name(), 0); err != nil {
		t.Fatal(err)
	}
	if s, err := b.Status(t.Context(), r.Name()); err != nil || s.State != job.Ended || s.Reason != "stopped" {
		t.Errorf("got %s, %v; want it stopped", s, err)
	}
}

func TestTemplatesAreChecked(t *testing.T) {
	_, settings := serve(t)
	two := corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "x"}, {Name: "b", Image: "x"}}}
	for name, spec := range map[string]corev1.PodSpec{"no container": {}, "two containers": two, "no image": {Containers: []corev1.Container{{Name: "trainer"}}}} {
		settings.Template.Spec = spec
		if _, err := kubernetes.New(settings); err == nil {
			t.Errorf("a template with %s is taken; want it refused", name)
		}
	}
}

func TestCheckSaysWhatIsWrong(t *testing.T) {
	_, settings := serve(t)
	settings.Kubeconfig = config(t, "http://127.0.0.1:1")
	if err := open(t, settings).Check(t.Context()); err == nil || strings.Contains(err.Error(), "some-token") {
		t.Errorf("got %v; want that nobody answers", err)
	}
	settings.Context = "nowhere"
	if _, err := kubernetes.New(settings); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("got %v; want the context named", err)
	}
}
