package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"floe/activities"
	"floe/internal/artifact"
	"floe/internal/experiment"
	"floe/workflows"
)

func (a *app) artifactsVerifyCmd() *cobra.Command {
	var repair bool
	c := &cobra.Command{
		Use:   "verify [NAME]",
		Short: "Verify the sha256 of all artifacts",
		Long: `Reads everything that one experiment, or all of them, refer to and checks sizes and
sha256. Damaged and missing files are shown with what to do. Without NAME it also
reads the manifests of unreferenced steps: an unreadable one stops "starter gc".

--repair moves the manifest of a damaged step to quarantine/, so that the step runs
again when it is next needed. It deletes nothing: the files in the manifest stay
where they are.`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.names,
		RunE:              func(c *cobra.Command, args []string) error { return a.artifactsVerify(c.Context(), args, repair) },
	}
	c.Flags().BoolVar(&repair, "repair", false, "set damaged steps aside so that they run again")
	return c
}

// storeCheck is what a check found.
type storeCheck struct {
	Steps  int           `json:"steps"`
	Files  int           `json:"files"`
	Bytes  int64         `json:"bytes"`
	Faults []damagedStep `json:"faults"`
}

// damagedStep is a step that is not what its manifest says, or has none.
type damagedStep struct {
	Experiment string            `json:"experiment"` // the first that refers to it; empty if none does
	Path       string            `json:"path"`
	ID         experiment.StepID `json:"id"`
	Fault      string            `json:"fault"`
	Aside      string            `json:"aside,omitempty"` // where its manifest went
	Next       string            `json:"next"`            // what to do
}

func (d damagedStep) where() string {
	if d.Experiment == "" {
		return fmt.Sprintf("step %s, which no experiment refers to", d.ID)
	}
	return fmt.Sprintf("%s of %s (step %s)", d.Path, d.Experiment, d.ID)
}

func (a *app) artifactsVerify(ctx context.Context, names []string, repair bool) error {
	steps, err := a.store(ctx)
	if err != nil {
		return err
	}
	one := len(names) > 0
	if !one {
		if names, err = steps.ListExperiments(ctx); err != nil {
			return err
		}
	}
	v := storeCheck{Faults: []damagedStep{}}
	seen := map[experiment.StepID]bool{}
	for _, name := range names {
		refs, err := a.refs(ctx, name)
		all := stepsOf(refs)
		if one {
			all = append(all, a.damagedOf(ctx, name)...)
		}
		// An experiment that has not begun refers to nothing.
		if missing := codeOf(ctx, err) == exitNotFound; err != nil && (!missing || one && len(all) == len(stepsOf(activities.Refs{}))) {
			return err
		}
		for _, s := range all {
			if s.done.ID.Key == "" || seen[s.done.ID] {
				continue
			}
			seen[s.done.ID] = true
			if err := v.check(ctx, steps, name, s, repair); err != nil {
				return err
			}
		}
	}
	if !one {
		if err := v.checkOthers(ctx, steps, seen, repair); err != nil {
			return err
		}
	}
	return a.tellCheck(v, repair)
}

// damagedOf is the step that an experiment failed on because it is damaged. A round
// under way has no index yet that refers to it. Without the server, what was published
// is all that is known.
func (a *app) damagedOf(ctx context.Context, name string) []placed {
	c, err := a.client(ctx)
	if err != nil {
		return nil
	}
	s, err := query(ctx, c, c.GetWorkflow(ctx, workflows.ExperimentID(name), ""))
	if err != nil || s.Failure == nil || s.Failure.Damaged == nil {
		return nil
	}
	where := "start"
	if s.Failure.Round >= 0 && s.Failure.Round < s.Rounds {
		where = fmt.Sprintf("round-%d", s.Failure.Round)
	}
	return []placed{{path: where + "/" + s.Failure.Step, done: activities.Done{ID: *s.Failure.Damaged}}}
}

// check verifies one step. Trouble with the store is an error, damage is a finding.
func (v *storeCheck) check(ctx context.Context, steps *artifact.Steps, name string, s placed, repair bool) error {
	m, err := steps.Verify(ctx, s.done.ID)
	v.Steps++
	_, corrupt := errors.AsType[*artifact.CorruptError](err)
	switch {
	case err == nil:
		for _, f := range m.Files {
			v.Files++
			v.Bytes += f.Size
		}
		return nil
	case !corrupt && !isNotFound(err):
		return err
	}
	d := damagedStep{Experiment: name, Path: s.path, ID: s.done.ID, Fault: err.Error(), Next: "restore it from a copy, or: starter artifacts verify " + name + " --repair"}
	if corrupt && repair {
		if d.Aside, err = steps.Quarantine(ctx, s.done.ID); err != nil {
			return err
		}
	}
	if d.Aside != "" || !corrupt {
		d.Next = doAgain(name, s.path)
	}
	v.Faults = append(v.Faults, d)
	return nil
}

// checkOthers reads the manifests of the steps that nothing seen refers to. One that
// cannot be read is set aside without a loss: nothing waits for that step.
func (v *storeCheck) checkOthers(ctx context.Context, steps *artifact.Steps, seen map[experiment.StepID]bool, repair bool) error {
	unreadable, err := steps.Unreadable(ctx)
	if err != nil {
		return err
	}
	for _, id := range slices.SortedFunc(maps.Keys(unreadable), func(a, b experiment.StepID) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Key, b.Key))
	}) {
		if seen[id] {
			continue
		}
		v.Steps++
		d := damagedStep{ID: id, Fault: unreadable[id].Error(), Next: "restore it from a copy, or: starter artifacts verify --repair"}
		if repair {
			if d.Aside, err = steps.Quarantine(ctx, id); err != nil {
				return err
			}
			d.Next = "nothing: no experiment refers to it"
		}
		v.Faults = append(v.Faults, d)
	}
	return nil
}

// doAgain is the command that does a step again which has no manifest. What was
// made before the first round is made only by an experiment that begins anew.
func doAgain(name, path string) string {
	where, _, _ := strings.Cut(path, "/")
	if round, ok := strings.CutPrefix(where, "round-"); ok {
		return fmt.Sprintf("starter retry %s --round %s", name, round)
	}
	return fmt.Sprintf("starter retry %s (if it has not ended: starter cancel %s first)", name, name)
}

// missing counts the steps of some refs that are not done any more.
func (a *app) missing(ctx context.Context, refs activities.Refs) (int, error) {
	steps, err := a.store(ctx)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, s := range stepsOf(refs) {
		if s.done.ID.Key == "" {
			continue
		}
		_, done, err := steps.Find(ctx, s.done.ID)
		if err != nil {
			return n, err
		}
		if !done {
			n++
		}
	}
	return n, nil
}

func (a *app) tellCheck(v storeCheck, repair bool) error {
	err := a.emit(v, func(w io.Writer) error {
		for _, f := range v.Faults {
			fmt.Fprintf(w, "%s: %s\n", f.where(), f.Fault)
			if f.Aside != "" {
				fmt.Fprintf(w, "  set aside to %s\n", a.steps.Store.URL(f.Aside))
			}
			fmt.Fprintf(w, "  next: %s\n", f.Next)
		}
		_, err := fmt.Fprintf(w, "%d steps checked: %d files, %d bytes are what their manifests say; %d steps are not\n", v.Steps, v.Files, v.Bytes, len(v.Faults))
		return err
	})
	if err == nil && len(v.Faults) > 0 && !repair {
		err = fail(exitFailed, "%d of %d steps are damaged or missing", len(v.Faults), v.Steps)
	}
	return err
}
