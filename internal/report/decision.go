package report

import (
	"fmt"
	"strings"

	"floe/internal/experiment"
)

// decisionData is what a person decided about a design.
type decisionData struct {
	Title, Note, Why string
	Changes          []fieldChanges // against what was proposed
	Repairs          []string
	Rationale        string // the designer's, where another one is used
}

func newDecision(d *experiment.Decision, before experiment.Curriculum) *decisionData {
	if d == nil {
		return nil
	}
	data := &decisionData{
		Title:   strings.ToUpper(d.Verdict[:min(1, len(d.Verdict))]) + d.Verdict[min(1, len(d.Verdict)):] + " by " + d.By,
		Note:    strings.TrimSpace(d.Note),
		Why:     fmt.Sprintf("%s · asked because %s · the proposal was %s", d.At, d.Reason, outcomeName(d.Outcome)),
		Repairs: d.Repairs,
		Changes: groupChanges(d.Changes, fields(before, d.Proposed)),
	}
	if d.Verdict != experiment.VerdictApproved {
		data.Rationale = strings.TrimSpace(d.Rationale)
	}
	return data
}
