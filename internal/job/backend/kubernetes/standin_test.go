package kubernetes_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// standIn speaks as much of Kubernetes' API as the back end uses, and plays the
// job controller and the kubelet, whose pods are processes of this machine. It
// knows what we know of Kubernetes and proves the back end's logic quickly, where
// there is none; that Kubernetes agrees is what real_test.go is for.
type standIn struct {
	t    *testing.T
	dir  string
	mu   sync.Mutex
	jobs map[string]*batchv1.Job
	pods map[string]*pod // by name of pod
	made int
	// before is called once, before the next change of a Job; nil: not.
	before func()
}

type pod struct {
	corev1.Pod
	cmd  *exec.Cmd
	log  string
	gone bool // deleted
}

func newStandIn(t *testing.T) *standIn {
	return &standIn{t: t, dir: t.TempDir(), jobs: map[string]*batchv1.Job{}, pods: map[string]*pod{}}
}

// handler routes the paths that client-go asks for.
func (s *standIn) handler() http.Handler {
	mux := http.NewServeMux()
	const jobs, pods = "/apis/batch/v1/namespaces/lab/jobs", "/api/v1/namespaces/lab/pods"
	mux.HandleFunc("POST "+jobs, s.create)
	mux.HandleFunc("GET "+jobs, func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, &batchv1.JobList{TypeMeta: metav1.TypeMeta{Kind: "JobList", APIVersion: "batch/v1"}})
	})
	mux.HandleFunc("GET "+jobs+"/{name}", s.onJob(func(w http.ResponseWriter, _ *http.Request, j *batchv1.Job) { answer(w, http.StatusOK, j) }))
	mux.HandleFunc("PATCH "+jobs+"/{name}", s.onJob(s.patch))
	mux.HandleFunc("DELETE "+jobs+"/{name}", s.onJob(s.remove))
	mux.HandleFunc("GET "+pods, s.list)
	mux.HandleFunc("DELETE "+pods+"/{name}", s.deletePod)
	mux.HandleFunc("GET "+pods+"/{name}/log", s.logs)
	mux.HandleFunc("POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews", func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, http.StatusForbidden, metav1.StatusReasonForbidden) // which some clusters do
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.t.Errorf("%s %s is not what the stand-in knows", r.Method, r.URL)
		refuse(w, http.StatusNotImplemented, metav1.StatusReasonUnknown)
	})
	return mux
}

func answer(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v)
}

func refuse(w http.ResponseWriter, code int, reason metav1.StatusReason) {
	answer(w, code, &metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Reason: reason, Code: int32(code), Message: string(reason),
	})
}

func (s *standIn) create(w http.ResponseWriter, r *http.Request) {
	var j batchv1.Job
	if err := json.NewDecoder(r.Body).Decode(&j); err != nil {
		refuse(w, http.StatusBadRequest, metav1.StatusReasonBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.jobs[j.Name] != nil {
		refuse(w, http.StatusConflict, metav1.StatusReasonAlreadyExists)
		return
	}
	j.Kind, j.APIVersion, j.UID = "Job", "batch/v1", types.UID(rand.Text())
	s.jobs[j.Name] = &j
	if !*j.Spec.Suspend {
		s.start(&j, 0)
	}
	answer(w, http.StatusCreated, &j)
}

func (s *standIn) onJob(do func(http.ResponseWriter, *http.Request, *batchv1.Job)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.before != nil && r.Method != http.MethodGet {
			s.before()
			s.before = nil
		}
		j := s.jobs[r.PathValue("name")]
		if j == nil {
			refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound)
			return
		}
		do(w, r, j)
	}
}

// start makes a pod of a job, as controller and kubelet would, in place of a
// number of others.
func (s *standIn) start(j *batchv1.Job, replaces int) {
	now := metav1.Now()
	if j.Status.StartTime == nil {
		j.Status.StartTime = &now
	}
	s.made++
	p := &pod{log: filepath.Join(s.dir, fmt.Sprintf("log-%d", s.made))}
	p.Name, p.Namespace, p.CreationTimestamp = fmt.Sprintf("%s-%d", j.Name, s.made), "lab", metav1.NewTime(now.Add(time.Duration(s.made)*time.Second))
	p.Labels, p.UID = map[string]string{batchv1.JobNameLabel: j.Name}, types.UID(rand.Text())
	p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(j, batchv1.SchemeGroupVersion.WithKind("Job"))}
	p.Annotations = map[string]string{batchv1.JobIndexIgnoredFailureCountAnnotation: strconv.Itoa(replaces)}
	p.Spec = *j.Spec.Template.Spec.DeepCopy()
	p.Status = corev1.PodStatus{Phase: corev1.PodPending, StartTime: &now}
	s.pods[p.Name] = p
	c := p.Spec.Containers[0]
	// Kubernetes makes one dollar of two; it expands $(NAME), which nothing here wants.
	plain := func(text string) string { return strings.ReplaceAll(text, "$$", "$") }
	var words []string
	for _, w := range append(append([]string{}, c.Command...), c.Args...) {
		words = append(words, plain(w))
	}
	log, err := os.Create(p.log)
	if err != nil {
		s.t.Error(err)
		return
	}
	p.cmd = exec.Command(words[0], words[1:]...)
	p.cmd.Env = os.Environ()
	for _, v := range c.Env {
		p.cmd.Env = append(p.cmd.Env, v.Name+"="+plain(v.Value))
	}
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		s.finish(j, p, 128, log)
		return
	}
	p.Status.Phase = corev1.PodRunning
	go func() {
		_ = p.cmd.Wait()
		code := p.cmd.ProcessState.ExitCode()
		if code < 0 {
			code = 128 + int(p.cmd.ProcessState.Sys().(syscall.WaitStatus).Signal())
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.finish(j, p, code, log)
	}()
}

// finish is what kubelet and controller do when a container has ended.
func (s *standIn) finish(j *batchv1.Job, p *pod, code int, log io.Closer) {
	_ = log.Close()
	now := metav1.Now()
	p.Status.Phase = corev1.PodSucceeded
	condition, reason := batchv1.JobComplete, ""
	if code != 0 {
		p.Status.Phase = corev1.PodFailed
		condition, reason = batchv1.JobFailed, batchv1.JobReasonBackoffLimitExceeded
	}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name:  p.Spec.Containers[0].Name,
		State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: int32(code), Reason: "Error", FinishedAt: now}},
	}}
	switch {
	case j.Spec.ActiveDeadlineSeconds != nil:
		condition, reason = batchv1.JobFailed, batchv1.JobReasonDeadlineExceeded
	case len(p.Status.Conditions) > 0 && j.Spec.PodFailurePolicy.Rules[0].Action == batchv1.PodFailurePolicyActionIgnore:
		before, _ := strconv.Atoi(p.Annotations[batchv1.JobIndexIgnoredFailureCountAnnotation])
		s.start(j, before+1) // disrupted
		return
	}
	if p.gone {
		delete(s.pods, p.Name)
	}
	j.Status.Conditions = append(j.Status.Conditions, batchv1.JobCondition{Type: condition, Status: corev1.ConditionTrue, Reason: reason, LastTransitionTime: now})
}

func (s *standIn) patch(w http.ResponseWriter, r *http.Request, j *batchv1.Job) {
	body, err := io.ReadAll(r.Body)
	uid := j.UID
	if err == nil {
		err = json.Unmarshal(body, j) // enough for a merge of plain values
	}
	if j.UID != uid {
		j.UID, j.Spec.ActiveDeadlineSeconds = uid, nil
		refuse(w, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)
		return
	}
	if err != nil {
		s.t.Error(err)
	}
	answer(w, http.StatusOK, j)
}

func (s *standIn) remove(w http.ResponseWriter, r *http.Request, j *batchv1.Job) {
	var how metav1.DeleteOptions
	if err := json.NewDecoder(r.Body).Decode(&how); err != nil {
		s.t.Error(err)
	}
	if p := how.Preconditions; p == nil || p.UID == nil || *p.UID != j.UID {
		refuse(w, http.StatusConflict, metav1.StatusReasonConflict)
		return
	}
	for _, p := range s.pods {
		if p.Labels[batchv1.JobNameLabel] == j.Name {
			_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
			delete(s.pods, p.Name)
		}
	}
	delete(s.jobs, j.Name)
	answer(w, http.StatusOK, &metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess})
}

func (s *standIn) list(w http.ResponseWriter, r *http.Request) {
	name, ok := strings.CutPrefix(r.URL.Query().Get("labelSelector"), batchv1.JobNameLabel+"=")
	if !ok {
		s.t.Errorf("pods are listed by %q; want the label of their job", r.URL.RawQuery)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	list := &corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}}
	for _, p := range s.pods {
		if p.Labels[batchv1.JobNameLabel] == name {
			list.Items = append(list.Items, p.Pod)
		}
	}
	answer(w, http.StatusOK, list)
}

func (s *standIn) deletePod(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pods[r.PathValue("name")]
	if p == nil {
		refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound)
		return
	}
	p.gone = true
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) // the grace of a second is spent on nothing
	answer(w, http.StatusOK, &p.Pod)
}

// replace has a Job vanish with its pods, and another of its name run in its place. The
// caller has the lock.
func (s *standIn) replace(name string, annotations map[string]string) {
	was := s.jobs[name]
	for _, p := range s.pods {
		if metav1.IsControlledBy(p, was) && p.Status.Phase == corev1.PodRunning {
			_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
			delete(s.pods, p.Name)
		}
	}
	j := was.DeepCopy()
	j.UID, j.Annotations, j.Status = types.UID(rand.Text()), annotations, batchv1.JobStatus{}
	j.Spec.Template.Spec.Containers[0].Command, j.Spec.Template.Spec.Containers[0].Args = []string{"sleep"}, []string{"1000"}
	s.jobs[name] = j
	s.start(j, 0)
}

// runs reports whether a Job of a name has a pod that runs, and was not told to end.
func (s *standIn) runs(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.jobs[name]
	for _, p := range s.pods {
		if j != nil && metav1.IsControlledBy(p, j) && p.Status.Phase == corev1.PodRunning && !p.gone {
			return j.Spec.ActiveDeadlineSeconds == nil
		}
	}
	return false
}

// end kills what is left.
func (s *standIn) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.pods {
		if p.cmd != nil && p.Status.Phase == corev1.PodRunning {
			_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
		}
	}
}

// disrupt takes a pod's machine away.
func (s *standIn) disrupt(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.pods {
		if p.Labels[batchv1.JobNameLabel] == name && p.Status.Phase == corev1.PodRunning {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "PreemptionByScheduler"}}
			_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGTERM)
		}
	}
}

func (s *standIn) logs(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	p := s.pods[r.PathValue("name")]
	s.mu.Unlock()
	if p == nil {
		refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound)
		return
	}
	f, err := os.Open(p.log)
	if err != nil {
		s.t.Error(err)
		return
	}
	defer func() { _ = f.Close() }()
	for {
		s.mu.Lock()
		running := p.Status.Phase == corev1.PodRunning
		s.mu.Unlock()
		_, err := io.Copy(w, f)
		if err != nil || !running || r.URL.Query().Get("follow") != "true" {
			return
		}
		w.(http.Flusher).Flush()
		select {
		case <-r.Context().Done():
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}
