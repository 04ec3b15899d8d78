package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdktemporal "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

func TestNamespaceKeepsNinetyDays(t *testing.T) {
	got, err := shared.client(t).WorkflowService().DescribeNamespace(t.Context(),
		&workflowservice.DescribeNamespaceRequest{Namespace: "default"})
	if err != nil {
		t.Fatal(err)
	}
	if ttl, want := got.Config.WorkflowExecutionRetentionTtl.AsDuration(), 90*24*time.Hour; ttl != want {
		t.Errorf("retention %v; want %v", ttl, want)
	}
}

func TestNamespaceHasTheSearchAttributes(t *testing.T) {
	got, err := shared.client(t).OperatorService().ListSearchAttributes(t.Context(),
		&operatorservice.ListSearchAttributesRequest{Namespace: "default"})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range searchAttributes {
		if kind := got.CustomAttributes[name]; kind != want {
			t.Errorf("%s is %v; want %v", name, kind, want)
		}
	}
}

// greet waits for one update and returns what it brought.
func greet(ctx workflow.Context) (string, error) {
	name := ""
	err := workflow.SetUpdateHandlerWithOptions(ctx, "name", func(ctx workflow.Context, n string) (string, error) {
		name = n
		return "got " + n, nil
	}, workflow.UpdateHandlerOptions{Validator: func(n string) error {
		if n == "" {
			return errors.New("empty name")
		}
		return nil
	}})
	if err != nil {
		return "", err
	}
	if err := workflow.Await(ctx, func() bool { return name != "" }); err != nil {
		return "", err
	}
	var greeting string
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: 10 * time.Second})
	err = workflow.ExecuteActivity(ctx, hello, name).Get(ctx, &greeting)
	return greeting, err
}

func hello(_ context.Context, name string) (string, error) { return "hello " + name, nil }

// TestTemporalDoesWhatFloeNeeds covers a pinned worker deployment, an update
// with a validator, an activity, and finding the workflow by its attributes.
func TestTemporalDoesWhatFloeNeeds(t *testing.T) {
	c, ctx := shared.client(t), t.Context()
	build := worker.WorkerDeploymentVersion{DeploymentName: "floe", BuildID: "build-1"}
	w := worker.New(c, "floe-test", worker.Options{DeploymentOptions: worker.DeploymentOptions{
		UseVersioning: true, Version: build, DefaultVersioningBehavior: workflow.VersioningBehaviorPinned,
	}})
	w.RegisterWorkflow(greet)
	w.RegisterActivity(hello)
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	deployment := c.WorkerDeploymentClient().GetHandle("floe")
	eventually(t, func() error {
		_, err := deployment.SetCurrentVersion(ctx, client.WorkerDeploymentSetCurrentVersionOptions{BuildID: build.BuildID})
		return err
	})

	run, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: "greet-1", TaskQueue: "floe-test", StaticSummary: "says hello",
		TypedSearchAttributes: sdktemporal.NewSearchAttributes(
			sdktemporal.NewSearchAttributeKeyKeyword("FloeExperiment").ValueSet("exp-1"),
			sdktemporal.NewSearchAttributeKeyInt64("FloeRound").ValueSet(3),
			sdktemporal.NewSearchAttributeKeyFloat64("FloeValidRate").ValueSet(0.5),
		),
	}, greet)
	if err != nil {
		t.Fatal(err)
	}
	update := func(name string) error {
		h, err := c.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
			WorkflowID: run.GetID(), UpdateName: "name", Args: []any{name}, WaitForStage: client.WorkflowUpdateStageCompleted,
		})
		if err != nil {
			return err
		}
		return h.Get(ctx, nil)
	}
	if err := update(""); err == nil {
		t.Error("an update that the validator refuses went through")
	}
	if err := update("floe"); err != nil {
		t.Fatal(err)
	}
	var got string
	if err := run.Get(ctx, &got); err != nil || got != "hello floe" {
		t.Errorf("result %q, %v; want %q", got, err, "hello floe")
	}
	eventually(t, func() error {
		list, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Query: `FloeExperiment = "exp-1" AND FloeRound > 2 AND FloeValidRate < 0.6`,
		})
		if err == nil && len(list.Executions) != 1 {
			err = errors.New("not listed yet")
		}
		return err
	})
}

func TestWebUIIsServedFromTheBinary(t *testing.T) {
	for path, want := range map[string]string{
		"/":                             "<!doctype html>",
		"/namespaces/default/workflows": "<!doctype html>",
		"/api/v1/namespaces/default":    `"default"`,
	} {
		response, err := http.Get(shared.state(t).UI + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK || !strings.Contains(string(body), want) {
			t.Errorf("%s: %s, %v, %.200q; want 200 with %q", path, response.Status, err, body, want)
		}
	}
}
