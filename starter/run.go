package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"gopkg.in/yaml.v3"

	"floe/activities"
	"floe/internal/config"
	"floe/internal/connect"
	"floe/internal/env/all"
	"floe/internal/experiment"
	"floe/workflows"
)

func (a *app) runCmd() *cobra.Command {
	var sets []string
	var p ports
	var dev, keep, detach, alone bool
	var name string
	c := &cobra.Command{
		Use:   "run SPEC",
		Short: "Start an experiment and follow it",
		Long: `Starts the experiment in a file and follows it to its end. The name in the file is
its identity: running the same name again re-attaches to it, shows its result if it
is done, and resumes it if it failed or was cancelled. Completed steps are always
reused. Ctrl-C stops following, not the experiment.`,
		Example: `  starter run examples/demo.yaml
  starter run examples/demo.yaml --name my-run --set seed=7 --set trainer.rollouts=16
  starter run examples/demo.yaml --dev      # with services of its own on this machine`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: yamlFiles,
		RunE: func(c *cobra.Command, args []string) error {
			if name != "" {
				sets = append(sets, "name="+name)
			}
			if alone {
				sets = append(sets, "share=false")
			}
			spec, err := loadSpec(args[0], sets)
			if err != nil {
				return err
			}
			a.sayIdle(args[0], sets, spec)
			again := a.command("run "+quoted(args[0]), repeatFlags(name, sets)...)
			if dev || keep {
				again += " --dev"
			}
			f := func(ctx context.Context) error { return a.runSpec(ctx, spec, detach, again) }
			if dev || keep {
				return a.withServices(c.Context(), p, keep, f)
			}
			return f(c.Context())
		},
	}
	c.Flags().StringArrayVar(&sets, "set", nil, "override a field, such as `trainer.rollouts=16`; can be repeated")
	c.Flags().StringVar(&name, "name", "", "override the name")
	c.Flags().BoolVar(&dev, "dev", false, "start services on this machine for as long as this runs")
	c.Flags().BoolVar(&keep, "keep", false, "like --dev, but leave the services running")
	c.Flags().BoolVar(&detach, "detach", false, "start without following")
	c.Flags().BoolVar(&alone, "no-share", false, "run every step: neither reuse steps of other experiments nor share this one's (share=false)")
	p.register(c.Flags())
	return c
}

func yamlFiles(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
}

// command is a command line of this program as the person would type it here. It
// leads to the servers that this one was given.
func (a *app) command(rest string, flags ...string) string {
	return strings.Join(append(append([]string{os.Args[0], rest}, flags...), a.given...), " ")
}

// givenFlags are the connection flags of a command line, to be repeated.
func givenFlags(fs *pflag.FlagSet) []string {
	var given []string
	var connection pflag.FlagSet
	(&connect.Flags{}).Register(&connection)
	fs.Visit(func(f *pflag.Flag) {
		if connection.Lookup(f.Name) != nil {
			given = append(given, "--"+f.Name+" "+quoted(f.Value.String()))
		}
	})
	return given
}

var bareWord = regexp.MustCompile(`^[A-Za-z0-9_./:=,@%+-]+$`)

// quoted is a word as a shell reads it back.
func quoted(word string) string {
	if bareWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// repeatFlags are the flags that start the same experiment again.
func repeatFlags(name string, sets []string) []string {
	var flags []string
	if name != "" {
		flags = append(flags, "--name "+quoted(name))
	}
	for _, s := range sets {
		if !strings.HasPrefix(s, "name=") || name == "" {
			flags = append(flags, "--set "+quoted(s))
		}
	}
	return flags
}

// loadSpec reads an experiment file strictly.
func loadSpec(file string, sets []string) (experiment.Spec, error) {
	src, err := readText(file)
	if err != nil {
		return experiment.Spec{}, err
	}
	if kindOf(src) == sweepFile {
		return experiment.Spec{}, fail(exitUsage, "%s is a sweep file; use: starter sweep plan %s", file, quoted(file))
	}
	return config.Load(file, src, sets, all.Open)
}

// Kinds of files, by what only they have.
const (
	experimentFile = "experiment"
	sweepFile      = "sweep"
)

// kindOf tells an experiment file from a sweep file; empty where it could be either.
func kindOf(src []byte) string {
	var keys map[string]yaml.Node
	if yaml.Unmarshal(src, &keys) != nil {
		return ""
	}
	has := func(names ...string) bool {
		return slices.ContainsFunc(names, func(n string) bool { _, ok := keys[n]; return ok })
	}
	switch {
	case has("arms", "base", "seeds", "baseline"):
		return sweepFile
	case has("rounds", "samples", "designer", "trainer", "curriculum"):
		return experimentFile
	}
	return ""
}

// sayIdle names the overrides of a file that do nothing.
func (a *app) sayIdle(file string, sets []string, spec experiment.Spec) {
	if len(sets) == 0 {
		return
	}
	plain, err := loadSpec(file, nil)
	if err != nil {
		return // it is sound only with its overrides
	}
	for _, line := range config.Idle(plain, spec) {
		a.say("%s", line)
	}
}

// runSpec starts or re-attaches, follows, and shows the result.
func (a *app) runSpec(ctx context.Context, spec experiment.Spec, detach bool, again string) error {
	c, err := a.client(ctx)
	if err != nil {
		return err
	}
	if _, err := a.workStore(ctx); err != nil {
		return err
	}
	run, err := a.start(ctx, c, spec)
	if err != nil {
		return err
	}
	return a.attend(ctx, c, spec.Name, run, detach, again)
}

// attend follows a started experiment to its end and shows the result. Again is
// the command that comes back to it.
func (a *app) attend(ctx context.Context, c client.Client, name string, run client.WorkflowRun, detach bool, again string) error {
	if url := a.uiURL(run); url != "" {
		a.say("Temporal UI: %s", url)
	}
	if detach {
		a.say("follow it with: %s", a.command("watch "+name))
		return a.emitResult(result{Name: name, Text: name + " is started"})
	}
	err := a.follow(ctx, c, run)
	if ctx.Err() != nil && errors.Is(context.Cause(ctx), context.Canceled) {
		a.say("no longer following; the experiment continues. To follow it again:\n  %s", again)
		return &codedError{exitInterrupted, context.Canceled}
	}
	if err != nil {
		return err
	}
	return a.conclude(ctx, name, run)
}

// start starts the experiment, or attaches to the one of this name. A name that
// belongs to another spec is refused with the difference.
func (a *app) start(ctx context.Context, c client.Client, spec experiment.Spec) (client.WorkflowRun, error) {
	old, status, err := a.registered(ctx, c, spec.Name)
	if err != nil {
		return nil, err
	}
	if old != nil {
		if diff := config.Diff(*old, spec); len(diff) > 0 {
			return nil, fail(exitUsage, "the name %s belongs to an experiment with another spec:\n  %s\nchoose another name (--name)",
				spec.Name, strings.Join(diff, "\n  "))
		}
	}
	state := stateWord(status)
	switch status {
	case enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING:
		a.say("experiment %s is running; following it", spec.Name)
		return c.GetWorkflow(ctx, workflows.ExperimentID(spec.Name), ""), nil
	case enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED:
		if state, err = a.stateOf(ctx, c, spec.Name); err != nil {
			return nil, err
		}
		if state != workflows.StateStopped {
			a.say("experiment %s is done already", spec.Name)
			return c.GetWorkflow(ctx, workflows.ExperimentID(spec.Name), ""), nil
		}
	default: // ended early, or lost with its server
	}
	in := workflows.ExperimentInput{Spec: spec}
	if old != nil {
		a.say("experiment %s ended early (%s); restarting it: completed steps are reused", spec.Name, state)
		k, err := a.keptOf(ctx, spec.Name)
		if err != nil {
			return nil, err
		}
		in = k.input(spec)
	} else {
		a.say("starting experiment %s", spec.Name)
	}
	return a.launch(ctx, c, in, state)
}

// launch starts the workflow of an experiment; after says how an earlier one of
// the name ended. One may run again after a good end if it was stopped, or if steps
// of it were set aside since.
func (a *app) launch(ctx context.Context, c client.Client, in workflows.ExperimentInput, after string) (client.WorkflowRun, error) {
	tags, err := a.tagsOf(ctx, in.Spec.Name)
	if err != nil {
		return nil, err
	}
	opts := startOptions(in, tags)
	if after == workflows.StateStopped || workflows.Finished(after) {
		opts.WorkflowIDReusePolicy = enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE
	}
	return c.ExecuteWorkflow(ctx, opts, workflows.Experiment, in)
}

func startOptions(in workflows.ExperimentInput, tags []string) client.StartWorkflowOptions {
	spec := in.Spec
	attrs := []temporal.SearchAttributeUpdate{
		workflows.AttrExperiment.ValueSet(spec.Name),
		workflows.AttrVariant.ValueSet(spec.Designer.Context),
		workflows.AttrDesigner.ValueSet(spec.Designer.Kind),
		workflows.AttrState.ValueSet(workflows.StatePreparing),
	}
	if in.Sweep != "" {
		attrs = append(attrs, workflows.AttrSweep.ValueSet(in.Sweep), workflows.AttrArm.ValueSet(in.Arm))
	}
	if len(tags) > 0 {
		attrs = append(attrs, workflows.AttrTags.ValueSet(tags))
	}
	return client.StartWorkflowOptions{
		ID:                       workflows.ExperimentID(spec.Name),
		TaskQueue:                workflows.QueueWork,
		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		StaticSummary:            fmt.Sprintf("%s: %d rounds, designer %s", spec.Name, spec.Rounds, designerText(spec.Designer)),
		StaticDetails:            fmt.Sprintf("%d samples and %d epochs per round, seed %d, objective %s", spec.Samples, spec.Epochs, spec.Seed, spec.Objective),
		Memo:                     map[string]any{workflows.MemoSpec: spec},
		TypedSearchAttributes:    temporal.NewSearchAttributes(attrs...),
	}
}

// registered finds what is known of a name: from the workflow if Temporal has
// it, else from the artifacts, which outlive a server.
func (a *app) registered(ctx context.Context, c client.Client, name string) (*experiment.Spec, enumspb.WorkflowExecutionStatus, error) {
	d, err := describe(ctx, c, workflows.ExperimentID(name))
	if _, ok := errors.AsType[*serviceerror.NotFound](err); ok {
		spec, err := a.storedSpec(ctx, name)
		return spec, enumspb.WORKFLOW_EXECUTION_STATUS_UNSPECIFIED, err
	}
	if err != nil {
		return nil, 0, err
	}
	spec, err := memoOf(d)
	return spec, d.WorkflowExecutionInfo.Status, err
}

func memoOf(d *workflowservice.DescribeWorkflowExecutionResponse) (*experiment.Spec, error) {
	spec, err := specOf(d.WorkflowExecutionInfo.GetMemo())
	if err != nil {
		return nil, fmt.Errorf("workflow %s: %w", d.WorkflowExecutionInfo.Execution.WorkflowId, err)
	}
	return spec, nil
}

// specOf reads the spec in a workflow's memo.
func specOf(memo *commonpb.Memo) (*experiment.Spec, error) {
	field, ok := memo.GetFields()[workflows.MemoSpec]
	if !ok {
		return nil, errors.New("it has no spec; it was not started by floe")
	}
	var spec experiment.Spec
	if err := converter.GetDefaultDataConverter().FromPayload(field, &spec); err != nil {
		return nil, fmt.Errorf("read its spec: %w", err)
	}
	return &spec, nil
}

func (a *app) storedSpec(ctx context.Context, name string) (*experiment.Spec, error) {
	steps, err := a.store(ctx)
	if err != nil {
		return nil, err
	}
	src, err := steps.GetDoc(ctx, name, activities.DocSpec)
	if isNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	spec, err := config.Load(activities.DocSpec+" of "+name, src, nil, all.Open)
	return &spec, err
}

// stateWord is a workflow status in one lower-case word.
func stateWord(s enumspb.WorkflowExecutionStatus) string {
	if s == enumspb.WORKFLOW_EXECUTION_STATUS_UNSPECIFIED {
		return "lost"
	}
	return strings.ToLower(strings.TrimPrefix(s.String(), "WORKFLOW_EXECUTION_STATUS_"))
}

// uiURL is the page of a run in the Temporal UI; empty if no UI is known.
func (a *app) uiURL(run client.WorkflowRun) string {
	s := a.settings // settled by whoever got the run
	if s == nil || s.UI == "" {
		return ""
	}
	url := strings.TrimRight(s.UI, "/") + "/namespaces/" + s.Namespace() + "/workflows/" + run.GetID()
	if run.GetRunID() != "" {
		url += "/" + run.GetRunID()
	}
	return url
}
