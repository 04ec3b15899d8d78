package kubernetes_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clients "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"floe/internal/job"
	"floe/internal/job/backend/kubernetes"
	"floe/internal/job/jobtest"
)

// lab is a namespace of a real control plane, a node of ours, and a worker that
// may do no more than docs/kubernetes-role.yaml says.
type lab struct {
	namespace string
	admin     *clients.Clientset
	node      *node
	settings  kubernetes.Settings
}

// cluster makes a lab in the control plane that scripts/test-kubernetes starts.
func cluster(t *testing.T) *lab {
	t.Helper()
	path := os.Getenv("FLOE_TEST_KUBECONFIG")
	if path == "" {
		t.Skip("set FLOE_TEST_KUBECONFIG to the file of a cluster's administrator, or run make test-kubernetes")
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	must(t, err)
	config.QPS, config.Burst = 500, 500
	admin, err := clients.NewForConfig(config)
	must(t, err)
	space, err := admin.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "floe-test-"}}, metav1.CreateOptions{})
	must(t, err)
	l := &lab{namespace: space.Name, admin: admin}
	t.Cleanup(func() {
		must(t, admin.CoreV1().Namespaces().Delete(context.Background(), l.namespace, metav1.DeleteOptions{}))
	})
	l.node = startNode(t, admin, l.namespace)
	l.settings = kubernetes.Settings{
		Kubeconfig: l.worker(t, path),
		Template:   corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "trainer", Image: "lab/trainer:1"}}}},
	}
	worker := open(t, l.settings)
	until(t, "the worker's role to be in force", func() bool { return worker.Check(t.Context()) == nil })
	return l
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// worker writes a kubeconfig of somebody who has the documented role.
func (l *lab) worker(t *testing.T, admins string) string {
	t.Helper()
	ctx := t.Context()
	body, err := os.ReadFile("../../../docs/kubernetes-role.yaml")
	must(t, err)
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	must(t, err)
	role, err := l.admin.RbacV1().Roles(l.namespace).Create(ctx, object.(*rbacv1.Role), metav1.CreateOptions{})
	must(t, err)
	accounts := l.admin.CoreV1().ServiceAccounts(l.namespace)
	account, err := accounts.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "worker"}}, metav1.CreateOptions{})
	must(t, err)
	_, err = l.admin.RbacV1().RoleBindings(l.namespace).Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "worker"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Name: account.Name, Namespace: l.namespace}},
	}, metav1.CreateOptions{})
	must(t, err)
	token, err := accounts.CreateToken(ctx, account.Name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	must(t, err)

	config, err := clientcmd.LoadFromFile(admins)
	must(t, err)
	here := config.Contexts[config.CurrentContext]
	here.AuthInfo, here.Namespace = "worker", l.namespace
	config.AuthInfos = map[string]*api.AuthInfo{"worker": {Token: token.Status.Token}}
	path := t.TempDir() + "/kubeconfig"
	must(t, clientcmd.WriteToFile(*config, path))
	return path
}

// podOf is the newest pod of a Job, once there is one that satisfies.
func (l *lab) podOf(t *testing.T, name string, is func(*corev1.Pod) bool) *corev1.Pod {
	t.Helper()
	var found *corev1.Pod
	until(t, "a pod of "+name, func() bool {
		list, err := l.admin.CoreV1().Pods(l.namespace).List(t.Context(), metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=" + name})
		must(t, err)
		for i := range list.Items {
			if is(&list.Items[i]) {
				found = &list.Items[i]
			}
		}
		return found != nil
	})
	return found
}

func runs(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil
}

// evict asks as `kubectl drain` does.
func (l *lab) evict(t *testing.T, name string) {
	t.Helper()
	p := l.podOf(t, name, runs)
	must(t, l.admin.PolicyV1().Evictions(l.namespace).Evict(t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: l.namespace}}))
}

// patch changes a Job as another program would.
func (l *lab) patch(name, change string) error {
	_, err := l.admin.BatchV1().Jobs(l.namespace).Patch(context.Background(), name, types.StrategicMergePatchType, []byte(change), metav1.PatchOptions{})
	return err
}

func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(jobtest.Patience); !holds(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %s in vain for %s", jobtest.Patience, what)
		}
	}
}

// becomes waits until the status of an attempt is as wanted.
func becomes(t *testing.T, b job.Backend, name, what string, is func(job.Status) bool) job.Status {
	t.Helper()
	var s job.Status
	var seen []string
	defer func() {
		if t.Failed() {
			t.Logf("%s was, in turn:\n%s", name, strings.Join(seen, "\n"))
		}
	}()
	until(t, name+" to be "+what, func() bool {
		var err error
		s, err = b.Status(t.Context(), name)
		must(t, err)
		if text := s.String(); len(seen) == 0 || seen[len(seen)-1] != text {
			seen = append(seen, text)
		}
		return is(s)
	})
	return s
}
