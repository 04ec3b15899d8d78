package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"floe/internal/config/strict"
	"floe/internal/experiment"
	"floe/internal/sweep"
)

// checkLimits refuses bounds of a sweep under which nothing could ever start or
// stop, and those that bound nothing.
func (r *sweepReader) checkLimits(s experiment.Sweep) {
	r.checkBounds(s)
	r.checkStop(s)
	if l := s.Limits; l.Deadline != "" && r.sound("limits.deadline") {
		if _, err := time.Parse(time.RFC3339, l.Deadline); err != nil {
			r.Add(r.at("limits.deadline"), "limits.deadline", "found %q, which no calendar or clock has; want a time such as \"2026-12-31T18:00:00Z\", in quotes", l.Deadline)
		}
	}
}

// checkBounds looks for the least that any cell needs at most: below it no cell is
// ever started.
func (r *sweepReader) checkBounds(s experiment.Sweep) {
	l := s.Limits
	if l.Cost > 0 && l.PriceJob == 0 && l.PriceCall == 0 {
		r.Add(r.at("limits.cost"), "limits.cost", "found a bound without prices, which bounds nothing; want price_job or price_call with it")
	}
	if len(s.Arms) == 0 {
		return
	}
	var jobs, calls, cost []float64
	for _, a := range s.Arms {
		need := sweep.NeedOf(a.Spec)
		jobs, calls, cost = append(jobs, float64(need.Jobs)), append(calls, float64(need.Calls)), append(cost, need.Cost(l))
	}
	for _, c := range []struct {
		path, what string
		limit      float64
		least      float64
	}{
		{"limits.jobs", "trainings", float64(l.Jobs), slices.Min(jobs)},
		{"limits.model_calls", "designer calls", float64(l.ModelCalls), slices.Min(calls)},
		{"limits.cost", "in money", l.Cost, slices.Min(cost)},
	} {
		if c.limit > 0 && c.limit < c.least && r.sound(c.path) {
			r.Add(r.at(c.path), c.path, "found %v; want at least %v, the most that one cell can need (%s): else no cell is ever started", c.limit, c.least, c.what)
		}
	}
}

// checkStop refuses a rule that is off but set up, and one that can never fire.
func (r *sweepReader) checkStop(s experiment.Sweep) {
	rule := s.Stop
	if !rule.BelowStart {
		for _, key := range []string{"margin", "after_round", "cells"} {
			if at := strict.Join("stop", key); r.given[at].Value != nil && !r.usual(at, rule) && r.sound(at) {
				r.Add(r.at(at), at, "found a setting of a rule that is off; want below_start: true with it")
			}
		}
		return
	}
	rounds, seeds := 0, 0
	for _, a := range s.Arms {
		rounds, seeds = max(rounds, a.Spec.Rounds), max(seeds, len(a.Seeds))
	}
	if rounds > 0 && rule.AfterRound >= rounds && r.sound("stop.after_round") {
		r.Add(r.at("stop.after_round"), "stop.after_round", "found %d; want at most %d, the last round of any arm, counted from 0", rule.AfterRound, rounds-1)
	}
	if seeds > 0 && rule.Cells > seeds && r.sound("stop.cells") {
		r.Add(r.at("stop.cells"), "stop.cells", "found %d; want at most %d, the cells of an arm", rule.Cells, seeds)
	}
}

// usual says whether a setting of a rule has its default.
func (r *sweepReader) usual(path string, rule experiment.SweepStop) bool {
	switch path {
	case "stop.margin":
		return rule.Margin == 0
	case "stop.after_round":
		return rule.AfterRound == 0
	default:
		return rule.Cells == 1
	}
}

// longestAhead bounds a deadline: what is farther off is a slip of the pen.
const longestAhead = 10 // years

// CheckDeadline refuses a sweep whose deadline is not ahead, or is years away. It
// is no part of LoadSweep: a sweep that runs may be looked at after its deadline.
// The error is a *Faults.
func CheckDeadline(file string, src []byte, now time.Time) error {
	s := source{file: file}
	root, _ := s.parse(src)
	if root == nil || root.Kind != yaml.MappingNode {
		return nil // LoadSweep has said so
	}
	limits := find(root, "limits")
	if limits == nil || limits.Kind != yaml.MappingNode {
		return nil
	}
	at := find(limits, "deadline")
	if at == nil {
		return nil
	}
	deadline, err := time.Parse(time.RFC3339, at.Value)
	switch {
	case err != nil:
		return nil // likewise
	case !deadline.After(now):
		return s.faults([]strict.Fault{{
			Line: at.Line, Column: at.Column, Path: "limits.deadline",
			Message: fmt.Sprintf("found %s, which is past: it is %s, and no cell would be started; want a later time, or none", at.Value, now.UTC().Format(time.RFC3339)),
		}})
	case deadline.After(now.AddDate(longestAhead, 0, 0)):
		return s.faults([]strict.Fault{{
			Line: at.Line, Column: at.Column, Path: "limits.deadline",
			Message: fmt.Sprintf("found %s, which is more than %d years ahead; want an earlier time, or none", strings.TrimSpace(at.Value), longestAhead),
		}})
	}
	return nil
}
