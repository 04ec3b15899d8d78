package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"floe/activities"
	"floe/internal/config"
	"floe/internal/env/all"
	"floe/internal/experiment"
	"floe/workflows"
)

func (a *app) retryCmd() *cobra.Command {
	var r retryOrder
	var round int
	c := &cobra.Command{
		Use:   "retry NAME",
		Short: "Resume a failed experiment",
		Long: `Resumes a failed experiment; completed steps are reused. One that needs attention
continues where it waits. One whose workflow failed, was cancelled, terminated or
stopped, or was lost with its server, is restarted under the same name. The exit code
is 1 if there is nothing to retry.

--from reruns a completed step and everything that follows from it. --set changes the
spec from here on; a change that would invalidate completed steps is refused (use
starter fork).`,
		Example: `  starter retry demo
  starter retry demo --set limits.model_calls=500 --reason "the budget was too small"
  starter retry demo --round 1 --from train`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.names,
		RunE: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("round") {
				r.round = &round
			}
			return a.retry(c.Context(), args[0], r)
		},
	}
	c.Flags().IntVar(&round, "round", 0, "resume from this `ROUND`, counted from 0 (default: the one that failed)")
	c.Flags().StringVar(&r.from, "from", "", "rerun this completed `STEP`: generate, train, validate, design, benchmark-K")
	c.Flags().StringArrayVar(&r.sets, "set", nil, "change a field of the spec, such as `limits.attempts=9`; can be repeated")
	c.Flags().StringVar(&r.reason, "reason", "", "`WHY`, kept in the log")
	return c
}

// retryOrder is what a person asks for.
type retryOrder struct {
	round  *int
	from   string
	sets   []string
	reason string
}

func (a *app) retry(ctx context.Context, name string, r retryOrder) error {
	c, err := a.client(ctx)
	if err != nil {
		return err
	}
	old, status, err := a.registered(ctx, c, name)
	if err != nil {
		return err
	}
	if old == nil {
		return notThere(name)
	}
	spec, changes, err := a.amend(*old, r.sets)
	if err != nil {
		return err
	}
	if _, err := a.workStore(ctx); err != nil {
		return err
	}
	if status == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		return a.retryWaiting(ctx, c, name, r, spec, changes)
	}
	return a.retryEnded(ctx, c, status, *old, spec, changes, r)
}

func notThere(name string) error {
	return fail(exitNotFound, "experiment %s not found; see `starter list`", name)
}

// amend reads a spec anew with changes, as strictly as a file.
func (a *app) amend(old experiment.Spec, sets []string) (experiment.Spec, []string, error) {
	if len(sets) == 0 {
		return old, nil, nil
	}
	spec, err := config.Amend("the spec of "+old.Name, old, sets, all.Open)
	if err != nil {
		return old, nil, err
	}
	if err := a.effective(old, spec, sets); err != nil {
		return old, nil, err
	}
	return spec, config.Diff(old, spec), nil
}

// effective refuses sets that change nothing of what is done, and names those that
// do nothing among others.
func (a *app) effective(old, spec experiment.Spec, sets []string) error {
	if len(sets) == 0 {
		return nil
	}
	idle := config.Idle(old, spec)
	switch diff := config.Diff(old, spec); {
	case len(diff) == 0:
		return fail(exitUsage, "--set %s changes nothing: the value is the same", strings.Join(sets, " --set "))
	case len(idle) == len(diff):
		return fail(exitUsage, "--set %s changes nothing:\n  %s", strings.Join(sets, " --set "), strings.Join(idle, "\n  "))
	}
	for _, line := range idle {
		a.say("%s", line)
	}
	return nil
}

// retryWaiting decides for an experiment that waits for it.
func (a *app) retryWaiting(ctx context.Context, c client.Client, name string, r retryOrder, spec experiment.Spec, changes []string) error {
	order := workflows.Retry{Round: r.round, From: r.from, Set: changes, Reason: r.reason}
	if len(changes) > 0 {
		order.Spec = &spec
	}
	status, err := update(ctx, c, name, workflows.UpdateRetry, order)
	if err != nil {
		return err
	}
	a.say("follow it with: %s", a.command("watch "+name))
	return a.emitAnswer(effect(ctx, c, c.GetWorkflow(ctx, workflows.ExperimentID(name), ""), status))
}

// retryEnded starts an experiment again whose workflow has ended or is lost.
func (a *app) retryEnded(ctx context.Context, c client.Client, status enumspb.WorkflowExecutionStatus, old, spec experiment.Spec, changes []string, r retryOrder) error {
	kept, err := a.keptOf(ctx, old.Name)
	if err != nil {
		return err
	}
	state := stateWord(status)
	if status == enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED {
		if state, err = a.stateOf(ctx, c, old.Name); err != nil {
			return err
		}
		missing, err := a.missing(ctx, kept.refs)
		if err != nil {
			return err
		}
		if state == workflows.StateUndesigned && r.from == "" {
			r.from = "design" // equal designs would be found done
		}
		if state != workflows.StateStopped && state != workflows.StateUndesigned && missing == 0 {
			return fail(exitFailed, "%s is %s; there is nothing to retry (starter fork or starter rerun make another experiment)", old.Name, state)
		}
	}
	round := min(len(kept.refs.Rounds), old.Rounds-1)
	if state == workflows.StateUndesigned {
		round = 0
	}
	if r.round != nil {
		round = *r.round
	}
	if round < 0 || round > len(kept.refs.Rounds) {
		return fail(exitUsage, "--round is %d; want one from 0 to %d, which %s has reached", round, len(kept.refs.Rounds), old.Name)
	}
	errs := []error{workflows.CheckFrom(r.from, round, spec)}
	if len(changes) > 0 {
		errs = append(errs, workflows.CheckAmended(old, spec, len(kept.refs.Rounds)))
	}
	if err := errors.Join(errs...); err != nil {
		return fail(exitUsage, "%w", err)
	}
	in := kept.input(spec)
	if r.from != "" {
		in.Redo = append(in.Redo, activities.Redo{Round: round, Step: r.from})
	}
	in.Events = append(in.Events, activities.Event{
		At: utc(time.Now()), Verb: workflows.VerbRetry, Round: round, Step: r.from, Set: changes,
		Reason: cmp.Or(r.reason, "it was "+state),
	})
	run, err := a.launch(ctx, c, in, state)
	if err != nil {
		return err
	}
	if url := a.uiURL(run); url != "" {
		a.say("Temporal UI: %s", url)
	}
	a.say("follow it with: %s", a.command("watch "+old.Name))
	return a.emitResult(result{old.Name, workflows.StatePreparing, fmt.Sprintf("%s was %s and is started again", old.Name, state)})
}

// kept is what the artifact store knows of an experiment beside its spec.
type kept struct {
	refs activities.Refs
	ops  activities.Operations
	fork *activities.Fork // nil unless it is one
	tags []string
}

// keptOf reads what is kept; what is not there yet is empty.
func (a *app) keptOf(ctx context.Context, name string) (kept, error) {
	var k kept
	if err := errors.Join(
		a.readDoc(ctx, name, activities.DocIndex, &k.refs),
		a.readDoc(ctx, name, activities.DocOperations, &k.ops),
		a.readDoc(ctx, name, activities.DocFork, &k.fork),
	); err != nil {
		return k, err
	}
	tags, err := a.tagsOf(ctx, name)
	k.tags = tags
	return k, err
}

func (a *app) readDoc(ctx context.Context, name, doc string, into any) error {
	steps, err := a.store(ctx)
	if err != nil {
		return err
	}
	body, err := steps.GetDoc(ctx, name, doc)
	if isNotFound(err) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(body, into)
	}
	if err != nil {
		return fmt.Errorf("read %s of %s: %w", doc, name, err)
	}
	return nil
}

// input starts the experiment again as the same one.
func (k kept) input(spec experiment.Spec) workflows.ExperimentInput {
	return workflows.ExperimentInput{Spec: spec, Sweep: k.ops.Sweep, Arm: k.ops.Arm, Redo: k.ops.Redo, Events: k.ops.Events, Fork: k.fork}
}

// stateOf is the state that the newest run of an experiment says it is in.
func (a *app) stateOf(ctx context.Context, c client.Client, name string) (string, error) {
	d, err := describe(ctx, c, workflows.ExperimentID(name))
	if err != nil {
		return "", err
	}
	return listedOf(d.WorkflowExecutionInfo).State, nil
}
