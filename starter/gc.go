package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"floe/activities"
	"floe/internal/artifact"
	"floe/internal/designer/replay"
	"floe/internal/env/all"
	"floe/internal/experiment"
	planning "floe/internal/plan"
)

// leastGrace keeps attempts at work out of reach: their leases are renewed every
// few seconds.
const leastGrace = time.Minute

func (a *app) gcCmd() *cobra.Command {
	var o artifact.SweepOptions
	var unreferenced bool
	c := &cobra.Command{
		Use:   "gc",
		Short: "Delete unreferenced objects from the artifact store",
		Long: `Deletes what crashes leave behind: objects that no manifest names, leases and
checkpoints of completed steps, and unfinished uploads. gc keeps anything younger
than --older and every step that an attempt is working on. It never deletes
experiment documents or steps set aside by "artifacts verify --repair".

Objects of a step move to quarantine/ first; the first gc after --quarantine has
passed deletes them. Until then "gc restore" brings them back. --quarantine 0
deletes at once and empties the quarantine. A full store has no room for copies,
so there gc deletes at once and says so.

gc deletes nothing if two complete listings of the store disagree or a manifest
cannot be read; it reports which.

--unreferenced also deletes steps that no experiment refers to and checkpoints of
steps that never finished, as left by older versions and changed settings. It is
refused while an experiment runs.`,
		Example: "  starter gc --dry-run\n  starter gc --unreferenced --older 72h\n  starter gc restore",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return a.gc(c.Context(), o, unreferenced) },
	}
	c.Flags().BoolVar(&o.DryRun, "dry-run", false, "show what would be deleted; delete nothing")
	c.Flags().DurationVar(&o.Older, "older", 24*time.Hour, "grace `TIME`: keep anything younger")
	c.Flags().DurationVar(&o.Keep, "quarantine", 7*24*time.Hour, "`TIME` that objects stay in quarantine; 0 deletes at once")
	c.Flags().BoolVar(&unreferenced, "unreferenced", false, "also delete steps that no experiment refers to")
	c.AddCommand(a.gcRestoreCmd())
	return c
}

func (a *app) gc(ctx context.Context, o artifact.SweepOptions, unreferenced bool) error {
	if o.Older < leastGrace {
		return fail(exitUsage, "--older is %s; want at least %s, so that running attempts lose nothing", o.Older, leastGrace)
	}
	if o.Keep < 0 {
		return fail(exitUsage, "--quarantine is %s; want a time, or 0 to delete at once", o.Keep)
	}
	steps, err := a.store(ctx)
	if err != nil {
		return err
	}
	if unreferenced {
		if o.Referenced, err = a.referenced(ctx, steps); err != nil {
			return err
		}
	}
	swept, err := steps.Sweep(ctx, o)
	if err != nil {
		return err
	}
	return a.emit(swept, func(w io.Writer) error { return a.sweptTable(w, swept) })
}

func (a *app) sweptTable(w io.Writer, s artifact.Swept) error {
	var lines [][]string
	for _, r := range s.Reasons {
		lines = append(lines, []string{r.Reason, fmt.Sprint(r.Objects), fmt.Sprint(r.Bytes)})
	}
	if len(lines) > 0 {
		if err := rows(w, []string{"REASON", "OBJECTS", "BYTES"}, lines); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	for _, step := range s.Incomplete {
		fmt.Fprintf(w, "kept, because files in its manifest are missing: %s\n", step)
	}
	for _, step := range s.Held {
		fmt.Fprintf(w, "left for the next gc, because the store was too full to lock the step: %s\n", step)
	}
	would := ""
	if s.DryRun {
		would = "would have "
	}
	if s.Full {
		fmt.Fprintln(w, "the store is full: objects were deleted at once instead of quarantined")
	}
	if s.Purged.Objects > 0 {
		fmt.Fprintf(w, "%sdeleted from quarantine, swept before: %d objects, %d bytes\n", would, s.Purged.Objects, s.Purged.Bytes)
	}
	if s.Aside != "" {
		fmt.Fprintf(w, "%squarantined until %s; to restore: %s\n", would,
			s.Until.Local().Format(time.RFC3339), a.command("gc restore "+s.Aside))
	}
	verb := "swept"
	if s.DryRun {
		verb = "would sweep"
	}
	_, err := fmt.Fprintf(w, "%s %d objects, %d bytes, written before %s\n", verb, s.Objects, s.Bytes, s.Before.Local().Format(time.RFC3339))
	return err
}

// referenced is every step that an experiment points to, or would find done if
// it were started again. What runs may point to more than it has published.
func (a *app) referenced(ctx context.Context, steps *artifact.Steps) (map[experiment.StepID]bool, error) {
	running, err := a.find(ctx, "ExecutionStatus = 'Running' AND WorkflowType = 'Experiment'", 5, nil)
	if err != nil {
		return nil, err
	}
	if len(running) > 0 {
		var names []string
		for _, l := range running {
			names = append(names, l.Name)
		}
		return nil, fail(exitFailed, "--unreferenced is refused while experiments run: %s", strings.Join(names, ", "))
	}
	docs, err := steps.AllDocs(ctx)
	if err != nil {
		return nil, err
	}
	all := map[experiment.StepID]bool{}
	planner := planning.New(steps)
	for _, name := range slices.Sorted(maps.Keys(docs)) {
		if err := a.refer(ctx, planner, name, docs[name], all); err != nil {
			return nil, fmt.Errorf("nothing was deleted: cannot read what experiment %s refers to: %w", name, err)
		}
	}
	return all, nil
}

// refer adds what one experiment refers to: its index, its documents, and its plan.
func (a *app) refer(ctx context.Context, planner *planning.Planner, name string, docs []string, to map[experiment.StepID]bool) error {
	k, err := a.keptOf(ctx, name)
	if err != nil {
		return err
	}
	for _, s := range stepsOf(k.refs) {
		to[s.done.ID] = true
	}
	if err := a.referInDocs(ctx, name, docs, to); err != nil {
		return err
	}
	spec, err := a.storedSpec(ctx, name)
	if err != nil || spec == nil {
		return err
	}
	e, err := all.Open(spec.Environment)
	if err != nil {
		return err
	}
	var given []planning.Round
	if k.fork != nil {
		for _, s := range stepsOf(k.fork.Refs) {
			to[s.done.ID] = true
		}
		given = activities.Rounds(k.fork.Refs)
	}
	plan, err := planner.Plan(ctx, *spec, e, given...)
	for _, s := range plan {
		to[s.ID] = true
	}
	return err
}

// referInDocs adds the steps that only documents point to: decisions about rounds
// that are not published yet, and answers of replays.
func (a *app) referInDocs(ctx context.Context, name string, docs []string, to map[experiment.StepID]bool) error {
	for _, doc := range docs {
		switch {
		case strings.HasPrefix(doc, "decision-round-"):
			decision, proposal, err := planning.Decided(a.steps.GetDoc(ctx, name, doc))
			if err != nil {
				return err
			}
			to[decision], to[proposal] = true, true
		case strings.HasPrefix(doc, "replay-"):
			var r replay.Result
			if err := a.readDoc(ctx, name, doc, &r); err != nil {
				return err
			}
			for _, c := range r.Cells {
				for _, d := range c.Draws {
					to[d.Step] = true
				}
			}
		}
	}
	return nil
}
