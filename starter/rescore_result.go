package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"floe/internal/ask"
	"floe/internal/env"
)

// rescoreResult is what judging again has changed.
type rescoreResult struct {
	Answers int           `json:"answers"`
	Changed int           `json:"changed"`
	Sets    []rescoredSet `json:"sets"`
}

// rescoredSet is one set of stored answers.
type rescoredSet struct {
	Set      string           `json:"set"`
	JudgedBy string           `json:"judged_by,omitempty"` // version of the environment that had judged
	Referee  string           `json:"referee"`             // version that judges now
	Answers  int              `json:"answers"`
	Unjudged int              `json:"unjudged"` // answers that had no verdict
	Changed  int              `json:"changed"`
	Before   rescoredCounts   `json:"before"`  // of the answers that had a verdict
	After    rescoredCounts   `json:"after"`   // of the same answers
	Now      rescoredCounts   `json:"now"`     // of all answers
	Classes  ask.Tally        `json:"classes"` // how the answers ended, and what they cost
	Changes  []rescoredAnswer `json:"changes"`
}

// rescoredCounts are the figures that people compare.
type rescoredCounts struct {
	Valid     int `json:"valid"`
	Optimal   int `json:"optimal"`
	Truncated int `json:"truncated"`
}

func (c *rescoredCounts) add(v env.Verdict) {
	c.Valid += asCount(v.Valid)
	c.Optimal += asCount(v.Optimal)
	c.Truncated += asCount(v.Truncated)
}

// rescoredAnswer is an answer with another verdict than before.
type rescoredAnswer struct {
	ID     string      `json:"id"`
	Fields []string    `json:"fields"` // of the verdict, that changed
	Before env.Verdict `json:"before"`
	After  env.Verdict `json:"after"`
}

func (s storedSet) rescore(ctx context.Context) (rescoredSet, error) {
	r := rescoredSet{Set: s.name, JudgedBy: s.by, Referee: s.env.Version(), Changes: []rescoredAnswer{}}
	err := s.read(ctx, func(p env.Problem, a storedAnswer) { r.add(a, ask.Verdict(p, a.Answer)) })
	if err != nil {
		return r, fmt.Errorf("rescore %s: %w", s.name, err)
	}
	return r, nil
}

func (s *rescoredSet) add(a storedAnswer, now env.Verdict) {
	s.Answers++
	s.Now.add(now)
	s.Classes.Count(a.Answer, nil)
	if a.Verdict == nil {
		s.Unjudged++
		return
	}
	s.Before.add(*a.Verdict)
	s.After.add(now)
	if fields := ask.Changed(*a.Verdict, now); len(fields) > 0 {
		s.Changed++
		s.Changes = append(s.Changes, rescoredAnswer{a.ID, fields, *a.Verdict, now})
	}
}

// shownChanges bounds how many changed answers of a set the table names.
const shownChanges = 10

func (r rescoreResult) table(w io.Writer) error {
	var lines [][]string
	for _, s := range r.Sets {
		lines = append(lines, []string{
			s.Set, fmt.Sprint(s.Answers), fmt.Sprint(s.Changed),
			s.step(func(c rescoredCounts) int { return c.Valid }),
			s.step(func(c rescoredCounts) int { return c.Optimal }),
			s.step(func(c rescoredCounts) int { return c.Truncated }),
			s.referee(),
		})
	}
	if err := rows(w, []string{"SET", "ANSWERS", "CHANGED", "VALID", "OPTIMAL", "TRUNCATED", "REFEREE"}, lines); err != nil {
		return err
	}
	for _, s := range r.Sets {
		for i, c := range s.Changes {
			if i == shownChanges {
				fmt.Fprintf(w, "  %s: and %d more; -o json has all\n", s.Set, s.Changed-i)
				break
			}
			fmt.Fprintf(w, "  %s %s: %s; was %s, is %s\n", s.Set, c.ID, strings.Join(c.Fields, ", "), inWords(c.Before), inWords(c.After))
		}
	}
	return nil
}

// step is a figure before and after, once where they are the same.
func (s rescoredSet) step(of func(rescoredCounts) int) string {
	if s.Unjudged == s.Answers {
		return fmt.Sprint(of(s.Now))
	}
	before, after := of(s.Before), of(s.After)
	if before == after {
		return fmt.Sprint(after)
	}
	return fmt.Sprintf("%d -> %d", before, after)
}

func (s rescoredSet) referee() string {
	if s.JudgedBy == "" || s.JudgedBy == s.Referee {
		return s.Referee
	}
	return s.JudgedBy + " -> " + s.Referee
}

// inWords is a verdict as a person reads it.
func inWords(v env.Verdict) string {
	switch {
	case v.Optimal:
		return fmt.Sprintf("optimal (%d)", v.Cost)
	case v.Valid:
		return fmt.Sprintf("valid (%d, optimum %d)", v.Cost, v.Optimum)
	case v.Truncated:
		return "truncated"
	}
	return "invalid (" + strings.Join(v.Failed, ", ") + ")"
}

func asCount(is bool) int {
	if is {
		return 1
	}
	return 0
}
