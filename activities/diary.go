package activities

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"floe/internal/artifact"
	"floe/internal/experiment"
)

// Prefixes of the documents that hold tags and notes: one each, so that two
// people can write at the same time.
const (
	DocTag  = "tag-"
	DocNote = "note-"
)

// Line says in words what was done, without the time.
func (e Event) Line(rounds int) string {
	line := e.Verb
	switch {
	case e.Round < 0:
		line += ", preparing"
	case e.Round >= rounds:
		line += ", benchmarks"
	default:
		line += fmt.Sprintf(", round %d", e.Round)
	}
	if e.Step != "" {
		line += ", " + e.Step
	}
	if e.Reason != "" {
		line += ": " + e.Reason
	}
	if len(e.Set) > 0 {
		line += " (" + strings.Join(e.Set, "; ") + ")"
	}
	return line
}

// Annotate adds tags, notes and events to an experiment's results.
func Annotate(ctx context.Context, steps artifact.Steps, r *experiment.Results, events []Event) error {
	docs, err := steps.ListDocs(ctx, r.Name)
	if err != nil {
		return err
	}
	r.Tags, r.Diary = nil, nil
	for _, e := range events {
		r.Diary = append(r.Diary, experiment.DiaryEntry{At: e.At, Text: e.Line(r.Spec.Rounds)})
	}
	for _, d := range docs {
		if tag, ok := strings.CutPrefix(d, DocTag); ok {
			r.Tags = append(r.Tags, tag)
		}
		if !strings.HasPrefix(d, DocNote) {
			continue
		}
		var note experiment.DiaryEntry
		body, err := steps.GetDoc(ctx, r.Name, d)
		if err == nil {
			err = json.Unmarshal(body, &note)
		}
		if err != nil {
			return fmt.Errorf("read %s of %s: %w", d, r.Name, err)
		}
		r.Diary = append(r.Diary, note)
	}
	slices.SortStableFunc(r.Diary, func(x, y experiment.DiaryEntry) int { return cmp.Compare(x.At, y.At) })
	return nil
}
