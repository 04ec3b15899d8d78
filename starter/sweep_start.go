package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"floe/activities"
	"floe/internal/config"
	"floe/internal/experiment"
	"floe/internal/sweep"
	"floe/workflows"
)

func (a *app) sweepStartCmd() *cobra.Command {
	var p ports
	var dev, keep, detach bool
	c := &cobra.Command{
		Use:   "start FILE",
		Short: "Start a sweep and follow it",
		Long: `Starts the sweep in a file and follows it. The name in the file is its identity:
starting the same file again re-attaches; an extended file runs only the new cells;
a file that changes a cell is refused, with the difference. Cells that ran before,
alone or in an ended sweep, are adopted. Ctrl-C stops following, not the sweep.`,
		Example:           "  starter sweep start examples/sweep-demo.yaml --dev\n  starter sweep start examples/paper-sweep.yaml --detach",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: yamlFiles,
		RunE: func(c *cobra.Command, args []string) error {
			s, err := loadSweep(args[0])
			if err != nil {
				return err
			}
			f := func(ctx context.Context) error { return a.startSweep(ctx, s, args[0], detach) }
			if dev || keep {
				return a.withServices(c.Context(), p, keep, f)
			}
			return f(c.Context())
		},
	}
	c.Flags().BoolVar(&dev, "dev", false, "start services on this machine for as long as this runs")
	c.Flags().BoolVar(&keep, "keep", false, "like --dev, but leave the services running")
	c.Flags().BoolVar(&detach, "detach", false, "start without following")
	p.register(c.Flags())
	return c
}

// startSweep starts, extends or re-attaches, and follows.
func (a *app) startSweep(ctx context.Context, s experiment.Sweep, file string, detach bool) error {
	c, err := a.client(ctx)
	if err != nil {
		return err
	}
	steps, err := a.workStore(ctx)
	if err != nil {
		return err
	}
	digest, err := activities.PutPlan(ctx, steps.Store, s)
	if err != nil {
		return err
	}
	if err := a.launchSweep(ctx, c, s, digest, file); err != nil {
		return err
	}
	a.sayLeftOut(ctx, c, s)
	if url := a.uiURL(c.GetWorkflow(ctx, workflows.SweepID(s.Name), "")); url != "" {
		a.say("Temporal UI: %s", url)
	}
	if detach {
		a.say("follow it with: %s", a.command("sweep watch "+s.Name))
		return a.emitResult(result{Name: s.Name, Text: "sweep " + s.Name + " is started"})
	}
	return a.concludeSweep(ctx, s.Name, a.command("sweep start "+quoted(file)))
}

// launchSweep sees to it that a sweep with this plan runs or has run. One that is
// only followed may be past its deadline.
func (a *app) launchSweep(ctx context.Context, c client.Client, s experiment.Sweep, digest, file string) error {
	d, err := describe(ctx, c, workflows.SweepID(s.Name))
	if _, none := errors.AsType[*serviceerror.NotFound](err); none {
		if err := checkDeadline(file); err != nil {
			return err
		}
		a.say("starting sweep %s: %d cells", s.Name, len(s.Cells()))
		return a.executeSweep(ctx, c, s, digest)
	}
	if err != nil {
		return err
	}
	running := d.WorkflowExecutionInfo.Status == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
	old := planOfSweep(d.WorkflowExecutionInfo.GetMemo().GetFields())
	if old != digest {
		if err := a.refuseChanges(ctx, s, old, running); err != nil {
			return err
		}
	}
	switch {
	case running && old == digest:
		a.say("sweep %s is running; following it", s.Name)
		return nil
	case running:
		if err := checkDeadline(file); err != nil {
			return err
		}
		return a.extendSweep(ctx, c, s, digest)
	}
	var status workflows.SweepStatus
	if c.GetWorkflow(ctx, workflows.SweepID(s.Name), "").Get(ctx, &status) == nil && status.Tally.Done == len(s.Cells()) && old == digest {
		a.say("sweep %s is done already", s.Name)
		return nil
	}
	if err := checkDeadline(file); err != nil {
		return err
	}
	a.say("sweep %s has ended; starting it again: cells that are done are not run again", s.Name)
	return a.executeSweep(ctx, c, s, digest)
}

// memoPlan is the workflow memo that holds the digest of the plan.
func memoPlan(digest string) map[string]any { return map[string]any{workflows.MemoPlan: digest} }

func (a *app) executeSweep(ctx context.Context, c client.Client, s experiment.Sweep, digest string) error {
	arms, cells := carried(s)
	_, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID:                       workflows.SweepID(s.Name),
		TaskQueue:                workflows.QueueWork,
		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		StaticSummary:            fmt.Sprintf("%s: %d arms, %d cells", s.Name, len(s.Arms), len(cells)),
		StaticDetails:            fmt.Sprintf("at most %d cells at the same time; compared with arm %s", s.Limits.Parallel, s.Baseline),
		Memo:                     memoPlan(digest),
		TypedSearchAttributes: temporal.NewSearchAttributes(
			workflows.AttrSweep.ValueSet(s.Name), workflows.AttrState.ValueSet(workflows.StateRunning),
		),
	}, workflows.Sweep, workflows.SweepInput{Name: s.Name, Plan: digest, Arms: arms, Limits: s.Limits, Stop: s.Stop, Cells: cells})
	return err
}

// carried are a sweep's arms and cells as its workflow carries them.
func carried(s experiment.Sweep) (arms []workflows.SweepArm, cells []sweep.Cell) {
	for _, arm := range s.Arms {
		arms = append(arms, workflows.SweepArm{Name: arm.Name, Need: sweep.NeedOf(arm.Spec)})
	}
	return arms, sweep.Fresh(s)
}

func (a *app) extendSweep(ctx context.Context, c client.Client, s experiment.Sweep, digest string) error {
	arms, cells := carried(s)
	answer, err := a.updateSweep(ctx, c, s.Name, workflows.UpdateExtend,
		workflows.SweepExtend{Plan: digest, Arms: arms, Limits: s.Limits, Stop: s.Stop, Cells: cells})
	if err != nil {
		return err
	}
	a.say("sweep %s is running; its file has %d new cells: %s", s.Name, answer.Cells, answer.Tally)
	return nil
}

// planOfSweep is the digest of the plan that a sweep's workflow has.
func planOfSweep(memo map[string]*commonpb.Payload) string {
	var digest string
	if p, ok := memo[workflows.MemoPlan]; ok {
		if converter.GetDefaultDataConverter().FromPayload(p, &digest) != nil {
			return ""
		}
	}
	return digest
}

// refuseChanges refuses a file in which a cell is not what it was. What an ended
// sweep had and the file has not is left alone.
func (a *app) refuseChanges(ctx context.Context, s experiment.Sweep, digest string, running bool) error {
	if digest == "" {
		return fail(exitFailed, "workflow %s carries no plan; it was not started by this program", workflows.SweepID(s.Name))
	}
	steps, err := a.store(ctx)
	if err != nil {
		return err
	}
	old, err := activities.GetPlan(ctx, steps.Store, s.Name, digest)
	if err != nil {
		return err
	}
	changes := sweepChanges(old, s, running)
	if len(changes) == 0 {
		return nil
	}
	return fail(exitUsage, "sweep %s has cells that the file changes:\n  %s\na cell is what it was when it was first started; choose another name for the sweep or the arm",
		s.Name, strings.Join(changes, "\n  "))
}

// sweepChanges says what of the old cells is not as it was.
func sweepChanges(old, next experiment.Sweep, dropped bool) []string {
	specs := map[string]experiment.Spec{}
	for _, c := range next.Cells() {
		specs[next.NameOf(c)] = next.SpecOf(c)
	}
	var lines []string
	told := map[string]bool{} // differences of an arm are the same for all of its seeds
	for _, c := range old.Cells() {
		name, arm := old.NameOf(c), old.Arms[c.Arm].Name
		spec, there := specs[name]
		switch diff := config.Diff(old.SpecOf(c), spec); {
		case !there && dropped:
			lines = append(lines, name+": is not in the file any more")
		case !there, len(diff) == 0:
		case told[arm]:
			lines = append(lines, name+": likewise")
		default:
			told[arm] = true
			for _, d := range diff {
				lines = append(lines, name+": "+d)
			}
		}
	}
	return lines
}
