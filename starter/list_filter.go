package main

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"floe/workflows"
)

// states are those that a list can be filtered by, in the order of a life.
var states = []string{
	workflows.StatePreparing, workflows.StateRunning, workflows.StateBenchmarking, workflows.StateWaiting, workflows.StateAttention, workflows.StatePaused,
	workflows.StateCancelling, workflows.StateOutage, workflows.StateDone, workflows.StateUndesigned, workflows.StateStopped, workflows.StateFailed, workflows.StateCancelled,
}

// ended are the states that only the server knows of.
var ended = map[string]string{"terminated": "Terminated", "timed_out": "TimedOut"}

// filter says which experiments to list.
type filter struct {
	state, variant, arm, sweep, tag, since, name string
}

func (f *filter) register(c *cobra.Command) {
	fs := c.Flags()
	fs.StringVar(&f.state, "state", "", "only experiments in this `STATE`: "+strings.Join(states, ", ")+", terminated, timed_out")
	fs.StringVar(&f.variant, "variant", "", "only with this `CONTEXT` of the designer, such as V3")
	fs.StringVar(&f.arm, "arm", "", "only of this `ARM` of a sweep")
	fs.StringVar(&f.sweep, "sweep", "", "only of this `SWEEP`")
	fs.StringVar(&f.tag, "tag", "", "only with this `TAG`")
	fs.StringVar(&f.since, "since", "", "only started since `TIME`: an age such as 36h or 7d, a date, or a time in UTC such as 2026-01-31T08:00:00Z")
	fs.StringVar(&f.name, "name", "", "only names that match this `GLOB`, such as 'demo-*'")
	must(c.RegisterFlagCompletionFunc("state", cobra.FixedCompletions(states, cobra.ShellCompDirectiveNoFileComp)))
}

// query is the filter in the words of Temporal's visibility. All faults are told
// at once.
func (f *filter) query(now time.Time) (string, error) {
	var faults []string
	parts := []string{"WorkflowType = 'Experiment'"}
	is := func(attr, value string) {
		if value == "" {
			return
		}
		if strings.ContainsAny(value, `'"\`) {
			faults = append(faults, fmt.Sprintf("found %q; want it without quotes and backslashes", value))
			return
		}
		parts = append(parts, fmt.Sprintf("%s = '%s'", attr, value))
	}
	if f.state == "waiting" { // for short
		f.state = workflows.StateWaiting
	}
	switch status, ok := ended[f.state]; {
	case ok:
		is("ExecutionStatus", status)
	case f.state == "" || slices.Contains(states, f.state):
		is("FloeState", f.state)
	default:
		faults = append(faults, fmt.Sprintf("--state is %q; want %s, terminated or timed_out", f.state, strings.Join(states, ", ")))
	}
	is("FloeVariant", f.variant)
	is("FloeArm", f.arm)
	is("FloeSweep", f.sweep)
	if f.name != "" {
		if _, err := path.Match(f.name, ""); err != nil {
			faults = append(faults, fmt.Sprintf("--name is %q; want a pattern with *, ? and [a-z]", f.name))
		} else if fixed := f.name[:strings.IndexAny(f.name+"*", "*?[\\")]; fixed != "" && !strings.ContainsAny(fixed, `'"`) {
			parts = append(parts, fmt.Sprintf("FloeExperiment STARTS_WITH '%s'", fixed)) // the rest of the pattern is for matches
		}
	}
	if f.since != "" {
		t, err := sinceTime(f.since, now)
		if err != nil {
			faults = append(faults, err.Error())
		}
		parts = append(parts, fmt.Sprintf("StartTime >= '%s'", utc(t)))
	}
	if len(faults) > 0 {
		return "", fail(exitUsage, "%s", strings.Join(faults, "\n"))
	}
	return strings.Join(parts, " AND "), nil
}

// sinceTime reads an age or a time.
func sinceTime(s string, now time.Time) (time.Time, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		var n int
		if _, err := fmt.Sscanf(days+".", "%d.", &n); err == nil && n >= 0 {
			return now.AddDate(0, 0, -n), nil
		}
	}
	if d, err := time.ParseDuration(s); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04", "2006-01-02"} {
		if t, err := time.ParseInLocation(layout, s, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("--since is %q; want an age such as 36h or 7d, a date such as 2026-01-31, or a time such as 2026-01-31T08:00:00Z", s)
}

// matches does what visibility cannot: patterns, and tags that were given to an
// experiment after its end.
func (f *filter) matches(l listed, tagged map[string]bool) bool {
	if f.name != "" {
		if ok, err := path.Match(f.name, l.Name); err != nil || !ok {
			return false
		}
	}
	if f.variant != "" && l.Variant != f.variant {
		return false // its designer reads no context
	}
	return f.tag == "" || slices.Contains(l.Tags, f.tag) || tagged[l.Name]
}
