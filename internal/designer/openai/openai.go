// Package openai is the designer that asks a language model, behind any endpoint
// that speaks OpenAI's chat completions: OpenAI, vLLM, SGLang, llama.cpp, Ollama
// and the like.
//
// What goes over the wire is kept byte for byte in the transcript; keys travel in
// headers only and are cut out of whatever an endpoint echoes. A reply that cannot
// be used goes back to the model with its exact fault, a few times; then the last
// curriculum stays. Every call that was served is recorded as soon as it was made, also
// one that brought nothing; a call that was not served counts for nothing. Trouble that
// may pass is waited out for a short while and then handed to the caller, marked as an
// outage if the endpoint did not serve the call; trouble that will not pass is a
// *designer.FinalError.
package openai

import (
	"context"
	"fmt"
	"sync"
	"time"

	"floe/internal/designer"
	"floe/internal/endpoint"
	"floe/internal/experiment"
	"floe/internal/pause"
)

// Settings say whom to ask.
type Settings struct {
	Endpoint endpoint.Endpoint
	Model    string
	Prices   *endpoint.Prices // nil: not known, and no bound on money can be kept
}

// Designer asks one model. It is safe for concurrent use.
type Designer struct {
	model    string
	endpoint endpoint.Endpoint
	prices   *endpoint.Prices
	beat     time.Duration // between signs of life
}

const beatEvery = 5 * time.Second

// New checks the settings. It makes no call.
func New(s Settings) (*Designer, error) {
	if s.Model == "" {
		return nil, &designer.FinalError{Reason: "designer.model is empty; name the model to ask"}
	}
	// Beyond the endpoint's two minutes of patience the caller's retries are the
	// better place to wait: they survive this process.
	return &Designer{model: s.Model, endpoint: s.Endpoint, prices: s.Prices, beat: beatEvery}, nil
}

// Propose asks until a reply can be used, the repairs are used up, or the budget
// is.
func (d *Designer) Propose(ctx context.Context, in designer.Request) (designer.Proposal, error) {
	if in.Cost != nil && d.prices == nil {
		return designer.Proposal{}, &designer.FinalError{Reason: fmt.Sprintf("limits.model_cost bounds the money, and what %s costs at %s is not known; "+
			"give the endpoint prompt_price and reply_price in the worker's endpoints file, or set limits.model_cost to 0", d.model, d.endpoint.Host())}
	}
	c := conversation{Designer: d, in: in, messages: say(nil, endpoint.RoleUser, in.Prompt)}
	defer c.keepTelling()()
	p, err := c.run(ctx)
	if err != nil {
		return designer.Proposal{}, fmt.Errorf("ask %s: %w", d.model, err)
	}
	p.Model, p.Attempts = d.model, c.attempts
	return p, nil
}

// Reach makes one cheap request, so that an endpoint that is away shows before any
// design is asked for.
func (d *Designer) Reach(ctx context.Context) error {
	if err := inDesignersWords(d.endpoint.Reach(ctx, d.model)); err != nil {
		return fmt.Errorf("ask %s: %w", d.model, err)
	}
	return nil
}

// conversation is one Propose under way.
type conversation struct {
	*Designer
	in       designer.Request
	messages []endpoint.Message
	attempts []experiment.Attempt

	beating sync.Mutex // held while the caller is told
	note    string     // what it is told
}

func (c *conversation) run(ctx context.Context) (designer.Proposal, error) {
	var fault string
	for turn := 0; turn <= c.in.Spec.Repairs; turn++ {
		spent, err := c.ask(ctx)
		if err != nil {
			return designer.Proposal{}, err
		}
		if spent != "" {
			return designer.Proposal{Fallback: spent}, nil
		}
		r, err := c.read()
		if err != nil {
			return designer.Proposal{}, err
		}
		if r.Class.Usable() {
			return designer.Proposal{Asked: r.Asked, Rationale: r.Rationale, Notes: r.Notes, Normalised: r.Class == designer.ClassNormalised}, nil
		}
		fault = fmt.Sprintf("%s: %s", r.Class, r.Fault)
		if err := c.answerBack(r); err != nil {
			return designer.Proposal{}, err
		}
	}
	return designer.Proposal{Fallback: fmt.Sprintf("none of %d replies of %s could be used; the last one: %s", c.in.Spec.Repairs+1, c.model, fault)}, nil
}

// read understands the newest reply, notes in its attempt how, and records it.
func (c *conversation) read() (designer.Reading, error) {
	a := &c.attempts[len(c.attempts)-1]
	r := c.in.Reader.Read(a.Reply, a.FinishReason)
	a.Class, a.Fault, a.Trace = string(r.Class), r.Fault, append(a.Trace, r.Trace...)
	return r, c.in.Record(*a)
}

// answerBack quotes the fault to the model. What it said stands before, without
// its thinking and not at any length; a model that said nothing is asked anew.
func (c *conversation) answerBack(r designer.Reading) error {
	repair, err := designer.RepairPrompt(r)
	if err != nil {
		return err
	}
	said := designer.AfterThinking(c.attempts[len(c.attempts)-1].Reply)
	c.messages = say(c.messages, endpoint.RoleAssistant, endpoint.Head(said, 8000))
	c.messages = say(c.messages, endpoint.RoleUser, repair)
	return nil
}

// say adds a message. Empty ones are left out and equal roles joined: servers
// refuse both.
func say(messages []endpoint.Message, role, text string) []endpoint.Message {
	last := len(messages) - 1
	switch {
	case text == "":
		return messages
	case last >= 0 && messages[last].Role == role:
		messages[last].Content += "\n\n" + text
		return messages
	}
	return append(messages, endpoint.Message{Role: role, Content: text})
}

// keepTelling tells the caller at intervals what is being waited for, until stopped.
func (c *conversation) keepTelling() (stop func()) {
	c.tell("asking " + c.model + " at " + c.endpoint.Host())
	return pause.Every(c.beat, func(time.Time) { c.tell("") })
}

// tell sets the note, if there is a new one, and passes it on.
func (c *conversation) tell(note string) {
	c.beating.Lock()
	defer c.beating.Unlock()
	if note != "" {
		c.note = note
	}
	c.in.Beat(c.note)
}
