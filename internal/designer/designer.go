// Package designer turns evidence into the next round's curriculum.
//
// Evidence is everything that artifacts know. A context (V1 to V6) names the
// sections of it that are shown; Compose picks exactly those and renders them
// into a prompt. A Designer, a model or a rule, sees no more than that and
// proposes. Read understands what a model wrote. Design does all of it once and
// returns the transcript, in which nothing is lost: what was shown, what was said,
// what was understood, and what is used.
//
// The package is pure. Package rule holds the designers that need no model,
// package openai the one that asks a model over the network.
package designer

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"floe/internal/env"
	"floe/internal/experiment"
)

// Version changes whenever the same evidence would give another prompt, or the
// same reply another curriculum; it is part of a design's key.
const Version = "3"

// Designer proposes the next curriculum. It may be asked again after an error
// that is no *FinalError, and stops early when ctx ends.
type Designer interface {
	Propose(ctx context.Context, in Request) (Proposal, error)
}

// Request is what a designer is asked.
type Request struct {
	Spec   experiment.DesignerSpec
	Space  env.Space
	Shown  Shown  // what the context shows; a rule reads this
	Prompt string // the same as text; a model reads this
	Reader Reader // understands a reply to the prompt
	// Seed names this design's stream of draws (see experiment.Seed).
	Seed string
	// Calls, Tokens and Cost are what model calls may still use; a Cost of nil is
	// no bound.
	Calls, Tokens int
	Cost          *float64
	Served        Served // calls of the experiment before this design
	// Record keeps a model call that was served as soon as it was made, so that what it
	// cost counts whatever becomes of this design. Never nil.
	Record func(experiment.Attempt) error
	// Beat says that the designer is alive and what it does. Never nil.
	Beat func(note string)
}

// Proposal is a designer's answer. Sizes and knobs that Asked does not mention
// keep their present settings.
type Proposal struct {
	Model     string // who answered, if a model did
	Asked     experiment.Curriculum
	Rationale string
	// Normalised says that Asked was brought into form while being read.
	Normalised bool
	Notes      []string // what was done to bring it into form
	Attempts   []experiment.Attempt
	// Fallback says why nothing usable came, in a sentence; the last curriculum
	// stays. Empty for a proposal.
	Fallback string
}

// FinalError is trouble that asking again cannot mend: a key, a model name or an
// endpoint must change first.
type FinalError struct {
	Reason string // a sentence that says what to change; holds no secret
}

func (e *FinalError) Error() string { return e.Reason }

// UnavailableError is trouble that may pass: asking again later can succeed.
type UnavailableError struct {
	Reason     string        // who could not be reached and why; holds no secret
	RetryAfter time.Duration // how long the endpoint asks to wait; 0 if it did not say
}

func (e *UnavailableError) Error() string { return e.Reason }

// Limits bound one design and name its draws.
type Limits struct {
	Seed   string // of the experiment and this design
	Calls  int    // model calls left to the experiment, repairs included
	Tokens int    // tokens left to the experiment, prompt and reply
	// Cost is the money left to the experiment, in the currency of the endpoint's
	// prices; nil is no bound.
	Cost *float64
	// Served are the experiment's calls so far, for the sentence that a limit is reached.
	Served Served
	// Record keeps each model call that was served as soon as it was made; its error
	// ends the design. May be nil.
	Record func(experiment.Attempt) error
	// Feasible says why no task can be drawn from a row, which a legal curriculum
	// may hold too (see curriculum.Feasible); nil if that cannot happen.
	Feasible func(experiment.Row) error
	// Beat is called while a model is being waited for; may be nil.
	Beat func(note string)
}

// Served counts model calls that were served: what limits are counted in. A call that
// an endpoint refused, or that never reached it, is none.
type Served struct {
	Calls, Tokens int
	Cost          float64
}

// Add counts a call, unless it was not served.
func (s *Served) Add(a experiment.Attempt) {
	if WasServed(a) {
		s.Calls++
		s.Tokens += a.PromptTokens + a.CompletionTokens
		s.Cost += a.Cost
	}
}

// String is for people.
func (s Served) String() string {
	text := fmt.Sprintf("%d calls were served, with %d tokens", s.Calls, s.Tokens)
	if s.Cost > 0 {
		text += fmt.Sprintf(", for %.4g", s.Cost)
	}
	return text
}

// WasServed says whether a model call was served, or may have been: one that brought
// no reply and used no tokens was not.
func WasServed(a experiment.Attempt) bool {
	return a.Class != string(ClassUnavailable) || a.PromptTokens+a.CompletionTokens > 0
}

// Outcomes of a design, as in Transcript.Outcome.
const (
	OutcomeOK         = "ok"         // used as asked
	OutcomeNormalised = "normalised" // the form was mended, such as shares that summed to 0.99
	OutcomeProjected  = "projected"  // the values were brought back into the legal space
	OutcomeFallback   = "fallback"   // nothing usable came; the last curriculum stays
)

// Design asks d for the curriculum that follows the last round of the evidence.
// A reply that cannot be used is an outcome, not an error; errors are evidence
// that contradicts itself, unknown contexts, and trouble in reaching the model.
func Design(ctx context.Context, d Designer, spec experiment.DesignerSpec, e Evidence, l Limits) (experiment.Transcript, error) {
	req, sections, err := newRequest(spec, e, l)
	if err != nil {
		return experiment.Transcript{}, fmt.Errorf("design after round %d: %w", e.Round, err)
	}
	p, err := d.Propose(ctx, req)
	if err != nil {
		return experiment.Transcript{}, fmt.Errorf("design after round %d: %w", e.Round, err)
	}
	t := experiment.Transcript{
		Round: e.Round, Designer: spec.Kind, Model: p.Model, Context: spec.Context,
		Sections: sections, Attempts: p.Attempts, Rationale: p.Rationale,
	}
	if len(p.Attempts) > 0 {
		t.Prompt = req.Prompt
	}
	settled := Settling{e.Space, e.current().Curriculum, spec.MinShare, l.Feasible}.Settle(p)
	settled.enter(&t)
	t.Measures = e.measures(settled)
	e.guard(spec.Trivial, &t)
	return t, nil
}

func newRequest(spec experiment.DesignerSpec, e Evidence, l Limits) (Request, []experiment.Section, error) {
	context, err := ContextOf(spec)
	if err != nil {
		return Request{}, nil, err
	}
	sections, prompt, err := Compose(e, context)
	if err != nil {
		return Request{}, nil, err
	}
	shown, err := Show(e, context)
	if err != nil {
		return Request{}, nil, err
	}
	return Request{
		Spec: spec, Space: e.Space, Shown: shown, Prompt: prompt,
		Reader: NewReader(e.Space, e.current().Curriculum, spec.Missing),
		Seed:   l.Seed + "/round " + strconv.Itoa(e.Round),
		Calls:  l.Calls, Tokens: l.Tokens, Cost: l.Cost, Served: l.Served, Record: l.record(), Beat: l.beat(),
	}, sections, nil
}

func (l Limits) record() func(experiment.Attempt) error {
	if l.Record == nil {
		return func(experiment.Attempt) error { return nil }
	}
	return l.Record
}

func (l Limits) beat() func(string) {
	if l.Beat == nil {
		return func(string) {}
	}
	return l.Beat
}
