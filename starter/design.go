package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"

	"floe/activities"
	"floe/internal/experiment"
	"floe/internal/report"
	"floe/workflows"
)

func (a *app) designCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "design",
		Short: "Review proposals for the next curriculum",
		Long: `A designer proposes the curriculum of the next round. Where a person must agree
(designer.approve, designer.kind human, designer.trivial stop) the experiment
waits, at no cost, for approve, edit or reject.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.designShowCmd(), a.designApproveCmd(), a.designEditCmd(), a.designRejectCmd(), a.designReplayCmd(), a.designParseCmd())
	return c
}

func (a *app) designShowCmd() *cobra.Command {
	var round roundFlag
	c := &cobra.Command{
		Use:   "show NAME",
		Short: "Compare a proposal with the current curriculum, with reasons and warnings",
		Long: `Shows the proposal that awaits a decision, or else the last design: its changes, the
designer's reason, repairs, warnings and measures. For the designer's full context
and replies, use: starter transcript show NAME`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.names,
		RunE: func(c *cobra.Command, args []string) error {
			d, err := a.design(c.Context(), args[0], round)
			if err != nil {
				return err
			}
			return a.emitStyled(d, func(w io.Writer) error {
				return report.Proposal(w, a.designText(d), report.Options{Width: width(a.out, textWidth), Color: a.color(a.out)})
			})
		},
	}
	round.register(c)
	return c
}

// roundFlag is --round; -1 is the newest design.
type roundFlag struct {
	n   int
	cmd *cobra.Command
}

func (r *roundFlag) register(c *cobra.Command) {
	r.cmd = c
	c.Flags().IntVar(&r.n, "round", 0, "`ROUND` that the design followed, from 0 (default: the pending one, or the last)")
}

// wanted is the round asked for, or -1.
func (r roundFlag) wanted() int {
	if !r.cmd.Flags().Changed("round") {
		return -1
	}
	return r.n
}

// design is one design of an experiment, as its artifacts have it.
type design struct {
	Name       string                `json:"name"`
	Round      int                   `json:"round"`
	Waiting    *workflows.Waiting    `json:"waiting,omitempty"` // while a person must decide
	Present    experiment.Curriculum `json:"present"`           // in force when the design was asked for
	Transcript experiment.Transcript `json:"transcript"`
}

// design reads the design after a round: of the round that waits, or of one in
// the index.
func (a *app) design(ctx context.Context, name string, round roundFlag) (design, error) {
	want := round.wanted()
	if round.cmd.Flags().Changed("round") && want < 0 {
		return design{}, fail(exitUsage, "--round is %d; want a round, from 0", want)
	}
	waiting, err := a.waiting(ctx, name)
	if err != nil {
		return design{}, err
	}
	if waiting != nil && (want < 0 || want == waiting.Round) {
		return a.readDesign(ctx, design{Name: name, Round: waiting.Round, Waiting: waiting}, waiting.Curriculum, waiting.Proposal)
	}
	refs, err := a.refs(ctx, name)
	if err != nil {
		return design{}, err
	}
	if want < 0 {
		want = len(refs.Rounds) - 1
	}
	i := slices.IndexFunc(refs.Rounds, func(r activities.RoundRefs) bool { return r.Round == want })
	switch {
	case want < 0:
		return design{}, fail(exitNotFound, "nothing has been designed in %s yet", name)
	case i < 0:
		return design{}, fail(exitNotFound, "%s has no design after round %d yet", name, want)
	}
	return a.readDesign(ctx, design{Name: name, Round: want}, refs.Rounds[i].Curriculum, refs.Rounds[i].Design)
}

func (a *app) readDesign(ctx context.Context, d design, present, designed activities.Done) (design, error) {
	return d, errors.Join(
		a.readStep(ctx, present.ID, activities.FileCurriculum, &d.Present),
		a.readStep(ctx, designed.ID, activities.FileTranscript, &d.Transcript))
}

// readStep reads one JSON file of a step that must be done.
func (a *app) readStep(ctx context.Context, id experiment.StepID, file string, into any) error {
	steps, err := a.store(ctx)
	if err != nil {
		return err
	}
	m, ok, err := steps.Find(ctx, id)
	if err == nil && !ok {
		err = fmt.Errorf("step %s has no manifest in the store", id)
	}
	if err != nil {
		return err
	}
	return steps.ReadJSON(ctx, m, file, into)
}

// waiting is the proposal of an experiment that waits for a person; nil if none
// does. An experiment that neither the server nor the store knows is exit code 3.
func (a *app) waiting(ctx context.Context, name string) (*workflows.Waiting, error) {
	c, err := a.client(ctx)
	if err != nil {
		return nil, err
	}
	id := workflows.ExperimentID(name)
	d, err := describe(ctx, c, id)
	if _, ok := errors.AsType[*serviceerror.NotFound](err); ok {
		_, err := a.doc(ctx, name, activities.DocSpec) // results outlive the server
		if codeOf(ctx, err) == exitNotFound {
			err = fail(exitNotFound, "experiment %s not found; see `starter list`", name)
		}
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	info := d.WorkflowExecutionInfo
	if info.Status != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING || listedOf(info).State != workflows.StateWaiting {
		return nil, nil
	}
	s, err := query(ctx, c, c.GetWorkflow(ctx, id, ""))
	if err != nil {
		return nil, fail(exitUnreachable, "%s waits for a decision, but no worker says about what: %w", name, err)
	}
	if !s.Waits() {
		return nil, nil
	}
	return s.Waiting, nil
}

// designText is a design for reading in a terminal.
func (a *app) designText(d design) report.Design {
	out := report.Design{Present: d.Present, Transcript: d.Transcript}
	if d.Waiting == nil {
		return out
	}
	out.State = fmt.Sprintf("%s since %s: %s", workflows.StateWaiting, local(d.Waiting.Since), d.Waiting.Reason)
	out.Next = append([]string{a.command("transcript show "+d.Name) + "   # the evidence"}, a.decideWith(d.Name)...)
	return out
}

// decideWith says what to type to decide.
func (a *app) decideWith(name string) []string {
	return []string{
		a.command("design approve " + name),
		a.command("design edit " + name),
		a.command("design reject " + name + ` --reason "..."`),
	}
}

// specOf is the spec that an experiment runs with.
func (a *app) specOf(ctx context.Context, name string) (experiment.Spec, error) {
	spec, err := a.storedSpec(ctx, name)
	if err == nil && spec == nil {
		err = fail(exitNotFound, "experiment %s has no %s; see `starter list`", name, activities.DocSpec)
	}
	if err != nil {
		return experiment.Spec{}, err
	}
	return *spec, nil
}

// nothingWaits says that there is nothing to decide, and who decided last.
func (a *app) nothingWaits(ctx context.Context, name string) error {
	last := ""
	if refs, err := a.refs(ctx, name); err == nil {
		for _, r := range slices.Backward(refs.Rounds) {
			if d, ok := a.decision(ctx, name, r.Round); ok {
				last = fmt.Sprintf("; the proposal after round %d was %s by %s at %s", r.Round, d.Verdict, d.By, d.At)
				break
			}
		}
	}
	return fail(exitNotFound, "nothing waits for a decision in %s%s", name, last)
}

// decision is what was decided after a round, if a person did.
func (a *app) decision(ctx context.Context, name string, round int) (activities.Decided, bool) {
	body, err := a.doc(ctx, name, activities.DocDecision(round))
	if err != nil {
		return activities.Decided{}, false
	}
	var found struct {
		Decided activities.Decided `json:"decided"`
	}
	return found.Decided, json.Unmarshal(body, &found) == nil && found.Decided.Verdict != ""
}
