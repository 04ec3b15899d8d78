// The program has the parts of a Kubernetes that decide what becomes of a Job, each
// as a verb: its store, API server, controllers and scheduler. They are compiled
// from their released sources, so that scripts/test-kubernetes needs neither
// containers nor root. Nodes are not among them: the test brings its own.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	etcd "go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/workqueue"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

var verbs = map[string]func() *cobra.Command{
	"apiserver":   apiserver.NewAPIServerCommand,
	"controllers": controllers.NewControllerManagerCommand,
	"scheduler":   func() *cobra.Command { return scheduler.NewSchedulerCommand() },
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "kubernetes: want etcd, apiserver, controllers or scheduler, and its flags")
		os.Exit(2)
	}
	verb := os.Args[1]
	os.Args = append([]string{verb}, os.Args[2:]...)
	if verb == "etcd" {
		etcd.Main(os.Args)
		return
	}
	command, ok := verbs[verb]
	if !ok {
		fmt.Fprintf(os.Stderr, "kubernetes: found %q; want etcd, apiserver, controllers or scheduler\n", verb)
		os.Exit(2)
	}
	os.Exit(cli.Run(command()))
}
