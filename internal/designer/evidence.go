package designer

import (
	"errors"
	"fmt"

	"floe/internal/designer/behaviour"
	"floe/internal/env"
	"floe/internal/experiment"
)

// Evidence is all that is known after a round, from artifacts. No context shows
// all of it.
type Evidence struct {
	Space   env.Space   `json:"space"`
	Checks  []env.Check `json:"checks"`
	Groups  []string    `json:"groups"`
	Round   int         `json:"round"`   // the round just finished, from 0
	Rounds  int         `json:"rounds"`  // of the experiment
	Epochs  int         `json:"epochs"`  // per round
	Samples int         `json:"samples"` // per round

	Trainer experiment.TrainerSpec `json:"trainer"`
	Reward  experiment.RewardSpec  `json:"reward"`

	// Base is the untrained policy on the validation set, if it was measured.
	Base *experiment.Scorecard `json:"base,omitempty"`
	// History holds rounds 0 to Round, in order.
	History []RoundEvidence `json:"history"`
}

// RoundEvidence is one finished round.
type RoundEvidence struct {
	Round      int                   `json:"round"`
	Curriculum experiment.Curriculum `json:"curriculum"` // what it trained on
	Scorecard  experiment.Scorecard  `json:"scorecard"`  // on the validation set
	Training   experiment.Training   `json:"training"`
	// Rationale is what the designer wrote after this round; empty for the round
	// whose design is being asked for.
	Rationale string `json:"rationale,omitempty"`
}

func (e Evidence) current() RoundEvidence { return e.History[len(e.History)-1] }

// lastRationale is what the designer wrote when it made the current curriculum;
// empty in round 0, whose curriculum nobody designed.
func (e Evidence) lastRationale() string {
	if len(e.History) < 2 {
		return ""
	}
	return e.History[len(e.History)-2].Rationale
}

// validate says everything that makes the evidence useless, or nil.
func (e Evidence) validate() error {
	var errs []error
	if len(e.Space.Sizes) == 0 {
		errs = append(errs, errors.New("the environment's space has no sizes"))
	}
	if len(e.History) != e.Round+1 || e.Round < 0 {
		errs = append(errs, fmt.Errorf("history of %d rounds after round %d; want rounds 0 to %d", len(e.History), e.Round, e.Round))
	}
	for i, r := range e.History {
		if r.Round != i {
			errs = append(errs, fmt.Errorf("history has round %d in place %d", r.Round, i))
		}
		if len(r.Scorecard.Cells) == 0 {
			errs = append(errs, fmt.Errorf("round %d has an empty scorecard", r.Round))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("evidence: %w", err)
	}
	return nil
}

// measures describe how the designer behaved; nil after a fallback, when it
// proposed nothing.
func (e Evidence) measures(s Settled) *experiment.Measures {
	if s.Outcome == OutcomeFallback {
		return nil
	}
	rounds := make([]behaviour.Round, len(e.History))
	for i, r := range e.History {
		rounds[i] = behaviour.Round{Curriculum: complete(r.Curriculum, r.Curriculum, e.Space), Scorecard: r.Scorecard}
	}
	m := behaviour.Measure(s.Asked, rounds, e.Space)
	return &m
}
