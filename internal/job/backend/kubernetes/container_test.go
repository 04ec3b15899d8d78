package kubernetes_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// container is the one of a pod. All but what is fixed at its start is guarded by
// the node's mutex.
type container struct {
	node *node
	pod  *corev1.Pod
	spec corev1.Container
	log  string
	cmd  *exec.Cmd

	began   metav1.Time
	asked   bool        // to end
	timer   *time.Timer // until it is killed
	deleted bool        // the pod is
	evicted bool        // by the node itself
	late    bool        // it ran for as long as it may
	ended   bool        // the process has
	over    bool        // and the API server was told
}

func (n *node) newContainer(p *corev1.Pod) *container {
	return &container{node: n, pod: p, spec: p.Spec.Containers[0], log: filepath.Join(n.dir, string(p.UID))}
}

var reference = regexp.MustCompile(`\$\$|\$\([A-Za-z_][A-Za-z0-9_]*\)`)

// expand is what Kubernetes does to arguments and variables: two dollars are one,
// and $(NAME) is a variable, if there is one of that name.
func expand(text string, env map[string]string) string {
	return reference.ReplaceAllStringFunc(text, func(m string) string {
		if m == "$$" {
			return "$"
		}
		if value, ok := env[m[2:len(m)-1]]; ok {
			return value
		}
		return m
	})
}

// command is the process of a container. It has the variables of the container
// and of an image, and not those of this process.
func command(c corev1.Container, log *os.File) *exec.Cmd {
	env := map[string]string{"PATH": os.Getenv("PATH")}
	for _, v := range c.Env {
		env[v.Name] = expand(v.Value, env)
	}
	var words []string
	for _, w := range append(append([]string{}, c.Command...), c.Args...) {
		words = append(words, expand(w, env))
	}
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Env = []string{}
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.Dir = filepath.Dir(log.Name())
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// run is the life of a container.
func (c *container) run(ctx context.Context) {
	log, err := os.Create(c.log)
	if err != nil {
		c.node.t.Error(err)
		return
	}
	cmd := command(c.spec, log)
	c.node.mu.Lock()
	c.began = metav1.Now()
	err = cmd.Start()
	if err == nil {
		c.cmd = cmd
	}
	c.node.mu.Unlock()
	state := corev1.ContainerStateTerminated{ExitCode: 128, Reason: "StartError", StartedAt: c.began}
	if err != nil {
		state.Message = err.Error()
	} else {
		c.tell(ctx, corev1.PodRunning, corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: c.began}})
		if most := c.pod.Spec.ActiveDeadlineSeconds; most != nil {
			defer time.AfterFunc(time.Duration(*most)*time.Second, c.tooLong).Stop()
		}
		state.ExitCode, state.Reason = wait(cmd), "Error"
	}
	if state.ExitCode == 0 {
		state.Reason = "Completed"
	}
	_ = log.Close()
	c.conclude(ctx, state)
}

func (c *container) conclude(ctx context.Context, state corev1.ContainerStateTerminated) {
	c.node.mu.Lock()
	c.ended = true
	c.node.mu.Unlock()
	state.FinishedAt = metav1.Now()
	phase := corev1.PodFailed
	if state.ExitCode == 0 {
		phase = corev1.PodSucceeded
	}
	c.tell(ctx, phase, corev1.ContainerState{Terminated: &state})
	c.node.mu.Lock()
	c.over = true
	deleted := c.deleted
	c.node.mu.Unlock()
	if deleted {
		c.node.remove(ctx, c.pod)
	}
}

// wait waits for the first process of a container. With it go all others, as
// they share its namespace of processes.
func wait(cmd *exec.Cmd) int32 {
	_ = cmd.Wait()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	if s, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		return 128 + int32(s.Signal())
	}
	return int32(cmd.ProcessState.ExitCode())
}

// end asks a container to end, and kills it at a time. The node's mutex is held.
func (c *container) end(at time.Time) {
	if c.cmd == nil || c.ended {
		return
	}
	if !c.asked {
		c.asked = true
		_ = c.cmd.Process.Signal(syscall.SIGTERM)
	} else {
		c.timer.Stop()
	}
	c.timer = time.AfterFunc(time.Until(at), c.kill)
}

func (c *container) kill() {
	if c.cmd != nil {
		_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL)
	}
}

// tooLong is what a kubelet does when a pod's time is up.
func (c *container) tooLong() {
	c.node.mu.Lock()
	defer c.node.mu.Unlock()
	if !c.ended {
		c.late = true
		c.end(time.Now().Add(time.Duration(*c.pod.Spec.TerminationGracePeriodSeconds) * time.Second))
	}
}

// evict is what a kubelet does that runs out of memory or disk.
func (n *node) evict(uid types.UID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := n.held[uid]
	c.evicted = true
	c.end(time.Now().Add(time.Minute))
}

// tell writes the status of the pod.
func (c *container) tell(ctx context.Context, phase corev1.PodPhase, state corev1.ContainerState) {
	c.node.mu.Lock()
	evicted, late := c.evicted, c.late
	c.node.mu.Unlock()
	ready := corev1.ConditionFalse
	if state.Running != nil {
		ready = corev1.ConditionTrue
	}
	status := corev1.PodStatus{
		Phase: phase, StartTime: &c.began, HostIP: "127.0.0.1",
		ContainerStatuses: []corev1.ContainerStatus{{Name: c.spec.Name, Image: c.spec.Image, State: state, Ready: state.Running != nil}},
		Conditions: []corev1.PodCondition{
			{Type: corev1.PodInitialized, Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: ready}, {Type: corev1.ContainersReady, Status: ready},
		},
	}
	switch {
	case late:
		status.Phase, status.Reason, status.Message = corev1.PodFailed, "DeadlineExceeded", "Pod was active on the node longer than the specified deadline"
	case evicted:
		status.Phase, status.Reason, status.Message = corev1.PodFailed, "Evicted", "The node was low on resource: memory."
		status.Conditions = append(status.Conditions, corev1.PodCondition{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: corev1.PodReasonTerminationByKubelet, Message: status.Message,
		})
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": c.pod.UID}, "status": status})
	if err == nil {
		_, err = c.node.pods.Patch(ctx, c.pod.Name, types.StrategicMergePatchType, body, metav1.PatchOptions{}, "status")
	}
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) && ctx.Err() == nil {
		c.node.t.Errorf("status of pod %s: %v", c.pod.Name, err)
	}
}
