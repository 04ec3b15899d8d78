package kubernetes_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	clients "k8s.io/client-go/kubernetes"
	typedcore "k8s.io/client-go/kubernetes/typed/core/v1"
)

// node is a machine of a cluster, and what a kubelet does as far as a Job can
// tell: it starts the pods that the scheduler gives it, as processes of this
// machine, says how they are, serves their logs to the API server, and ends them
// when they are deleted. Of a cluster it is the one part here that is not real.
type node struct {
	t      *testing.T
	name   string
	pods   typedcore.PodInterface
	dir    string
	mu     sync.Mutex
	held   map[types.UID]*container
	stop   context.CancelFunc
	all    sync.WaitGroup
	leases func(context.Context) error // renews
}

const nodeGPUs = 2

func quantity(n int64) *resource.Quantity { return resource.NewQuantity(n, resource.DecimalSI) }

func startNode(t *testing.T, admin *clients.Clientset, namespace string) *node {
	t.Helper()
	n := &node{t: t, name: "node-of-" + namespace, pods: admin.CoreV1().Pods(namespace), dir: t.TempDir(), held: map[types.UID]*container{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", n.logs)
	server := httptest.NewTLSServer(mux)
	t.Cleanup(server.Close)
	ctx, cancel := context.WithCancel(context.Background())
	n.stop = cancel
	nodes := admin.CoreV1().Nodes()
	_, err := nodes.Create(ctx, n.object(server.Listener.Addr().(*net.TCPAddr).Port), metav1.CreateOptions{})
	must(t, err)
	leases := admin.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	lease, err := leases.Create(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: n.name}, Spec: coordinationv1.LeaseSpec{HolderIdentity: &n.name}}, metav1.CreateOptions{})
	must(t, err)
	n.leases = func(ctx context.Context) error {
		now := metav1.NowMicro()
		lease.Spec.RenewTime = &now
		lease, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
		return err
	}
	n.all.Go(func() { n.beat(ctx) })
	n.all.Go(func() { n.watch(ctx) })
	t.Cleanup(func() {
		n.down()
		must(t, nodes.Delete(context.Background(), n.name, metav1.DeleteOptions{}))
	})
	return n
}

// object is what a kubelet registers.
func (n *node) object(port int) *corev1.Node {
	has := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("64"), corev1.ResourceMemory: resource.MustParse("256Gi"),
		corev1.ResourcePods: resource.MustParse("110"), "nvidia.com/gpu": *quantity(nodeGPUs),
	}
	now := metav1.Now()
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: n.name, Labels: map[string]string{corev1.LabelHostname: n.name, corev1.LabelOSStable: "linux"}},
		Status: corev1.NodeStatus{
			Capacity: has, Allocatable: has,
			Addresses:       []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}},
			DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: int32(port)}},
			Conditions:      []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", LastHeartbeatTime: now, LastTransitionTime: now}},
		},
	}
}

// beat keeps the control plane from believing that the node is lost.
func (n *node) beat(ctx context.Context) {
	every := time.NewTicker(5 * time.Second)
	defer every.Stop()
	for {
		if err := n.leases(ctx); err != nil && ctx.Err() == nil {
			n.t.Errorf("renew the lease of the node: %v", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
	}
}

// watch follows the pods that are bound to the node.
func (n *node) watch(ctx context.Context) {
	for ctx.Err() == nil {
		w, err := n.pods.Watch(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + n.name})
		if err != nil {
			if ctx.Err() == nil {
				n.t.Errorf("watch the pods of the node: %v", err)
			}
			return
		}
		for e := range w.ResultChan() {
			if p, ok := e.Object.(*corev1.Pod); ok {
				n.see(ctx, e.Type, p)
			}
		}
	}
}

func (n *node) see(ctx context.Context, what watch.EventType, p *corev1.Pod) {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := n.held[p.UID]
	switch {
	case what == watch.Deleted:
		if c != nil {
			c.kill() // without being asked first: it was deleted by force
		}
	case c == nil && p.DeletionTimestamp != nil:
		n.all.Go(func() { n.remove(ctx, p) })
	case c == nil && p.Status.Phase == corev1.PodPending:
		c = n.newContainer(p)
		n.held[p.UID] = c
		n.all.Go(func() { c.run(ctx) })
	case c != nil && p.DeletionTimestamp != nil && c.over:
		n.all.Go(func() { n.remove(ctx, p) })
	case c != nil && p.DeletionTimestamp != nil:
		c.deleted = true
		c.end(p.DeletionTimestamp.Time)
	}
}

// remove tells that nothing of a deleted pod is left.
func (n *node) remove(ctx context.Context, p *corev1.Pod) {
	now := int64(0)
	err := n.pods.Delete(ctx, p.Name, metav1.DeleteOptions{GracePeriodSeconds: &now, Preconditions: metav1.NewUIDPreconditions(string(p.UID))})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) && ctx.Err() == nil {
		n.t.Errorf("remove pod %s: %v", p.Name, err)
	}
}

// down ends all that runs here.
func (n *node) down() {
	n.stop()
	n.mu.Lock()
	for _, c := range n.held {
		c.kill()
	}
	n.mu.Unlock()
	n.all.Wait()
}

// logs is what the API server asks a kubelet for.
func (n *node) logs(w http.ResponseWriter, r *http.Request) {
	var c *container
	n.mu.Lock()
	for _, held := range n.held {
		if held.pod.Name == r.PathValue("pod") && held.spec.Name == r.PathValue("container") {
			c = held
		}
	}
	n.mu.Unlock()
	if c == nil {
		http.Error(w, "no such container", http.StatusNotFound)
		return
	}
	f, err := os.Open(c.log)
	if err != nil {
		http.Error(w, "the container has not started", http.StatusBadRequest)
		return
	}
	defer func() { _ = f.Close() }()
	for {
		n.mu.Lock()
		ended := c.ended
		n.mu.Unlock()
		_, err := io.Copy(w, f)
		if err != nil || ended || r.URL.Query().Get("follow") != "true" {
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
