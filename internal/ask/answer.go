package ask

import (
	"errors"
	"fmt"
	"strings"

	"floe/internal/ending"
	"floe/internal/endpoint"
)

// Answer is what came of one item, as it came: it is kept so that it can be judged
// again for ever without asking again.
type Answer struct {
	ID               string `json:"id"`
	Answer           string `json:"answer"` // as the model wrote it, or its refusal
	Reasoning        string `json:"reasoning,omitempty"`
	FinishReason     string `json:"finish_reason,omitempty"` // as the endpoint says
	PromptTokens     int    `json:"prompt_tokens,omitempty"`
	CompletionTokens int    `json:"completion_tokens,omitempty"` // reasoning included
	// SpentTokens are all that the item has cost, calls that broke off included.
	SpentTokens int64 `json:"spent_tokens,omitempty"`
	Seed        int   `json:"seed,omitempty"` // as it was sent
	LatencyMS   int64 `json:"latency_ms,omitempty"`
	// Unsent are settings that were asked for and that the endpoint does not take, such
	// as "temperature 0.7".
	Unsent []string `json:"unsent,omitempty"`
}

// take is the answer with what a reply says.
func (a *Answer) take(r endpoint.Reply) {
	a.Answer, a.Reasoning, a.FinishReason = r.Text, r.Reasoning, r.FinishReason
	a.PromptTokens, a.CompletionTokens, a.Unsent = r.PromptTokens, r.CompletionTokens, r.Unsent
}

// Class is how an answer ended. Only ok answers ended because the model had
// nothing more to say.
type Class string

// Classes. A truncated answer is a wrong one, but for another reason than others:
// a longer limit could mend it.
const (
	ClassOK        Class = "ok"
	ClassTruncated Class = "truncated" // ran into the token limit
	ClassRefused   Class = "refused"   // by the model, or by a filter before or after it
	ClassEmpty     Class = "empty"     // ended in order, with nothing in it
	ClassTooLong   Class = "too_long"  // there is none: the prompt is longer than the model takes
	ClassBroken    Class = "broken"    // broken off by the endpoint; kept by earlier versions, asked again by this one
)

// Class is the answer's class.
func (a Answer) Class() Class {
	switch ending.Of(a.FinishReason) {
	case ending.Truncated:
		return ClassTruncated
	case ending.Refused:
		return ClassRefused
	case ending.TooLong:
		return ClassTooLong
	case ending.Broken:
		return ClassBroken
	case ending.Whole:
	}
	if strings.TrimSpace(a.Answer) == "" {
		return ClassEmpty
	}
	return ClassOK
}

// spent is what the answer has cost, in tokens.
func (a Answer) spent() int64 {
	return max(a.SpentTokens, int64(a.PromptTokens)+int64(a.CompletionTokens))
}

// Tally counts answers by class, and what they have cost.
type Tally struct {
	Answered         int   `json:"answered"`
	OK               int   `json:"ok"`
	Truncated        int   `json:"truncated"`
	Refused          int   `json:"refused"`
	Empty            int   `json:"empty"`
	TooLong          int   `json:"too_long,omitempty"`
	Broken           int   `json:"broken,omitempty"`
	Unsent           int   `json:"unsent,omitempty"` // answers of any class that were asked without all settings
	PromptTokens     int64 `json:"prompt_tokens"`
	CompletionTokens int64 `json:"completion_tokens"`
	SpentTokens      int64 `json:"spent_tokens"`   // all, calls that broke off included
	Cost             Money `json:"cost,omitempty"` // 0 where prices are not known
}

// Money is an amount in the currency of the prices.
type Money float64

// Count adds an answer. Price says what tokens cost; it may be nil.
func (t *Tally) Count(a Answer, price Price) {
	t.Answered++
	switch a.Class() {
	case ClassTruncated:
		t.Truncated++
	case ClassRefused:
		t.Refused++
	case ClassEmpty:
		t.Empty++
	case ClassTooLong:
		t.TooLong++
	case ClassBroken:
		t.Broken++
	case ClassOK:
		t.OK++
	}
	if len(a.Unsent) > 0 {
		t.Unsent++
	}
	t.PromptTokens += int64(a.PromptTokens)
	t.CompletionTokens += int64(a.CompletionTokens)
	t.SpentTokens += a.spent()
	t.Cost += price.of(a)
}

// String is a tally as a person reads it.
func (t Tally) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%d answered: %d ok", t.Answered, t.OK)
	for _, c := range []struct {
		n    int
		what Class
	}{{t.Truncated, ClassTruncated}, {t.Refused, ClassRefused}, {t.Empty, ClassEmpty}, {t.TooLong, ClassTooLong}, {t.Broken, ClassBroken}} {
		if c.n > 0 {
			fmt.Fprintf(&text, ", %d %s", c.n, c.what)
		}
	}
	if t.Unsent > 0 {
		fmt.Fprintf(&text, ", %d asked without all settings", t.Unsent)
	}
	fmt.Fprintf(&text, "; %d tokens", t.SpentTokens)
	if t.Cost > 0 {
		fmt.Fprintf(&text, ", %.4f money", t.Cost)
	}
	return text.String()
}

// Price is the money for tokens of a prompt and of its completion; nil where it is
// not known.
type Price func(promptTokens, completionTokens int) float64

// of is what an answer has cost. What broke off is charged as a prompt: nobody
// knows how much of it was one.
func (p Price) of(a Answer) Money {
	if p == nil {
		return 0
	}
	broken := a.spent() - int64(a.PromptTokens) - int64(a.CompletionTokens)
	return Money(p(a.PromptTokens+int(broken), a.CompletionTokens))
}

// index numbers items by ID, and refuses what is no set of items.
func index(items []Item) (map[string]int, error) {
	var errs []error
	at := make(map[string]int, len(items))
	for i, item := range items {
		first, twice := at[item.ID]
		switch {
		case item.ID == "":
			errs = append(errs, fmt.Errorf("item %d has no ID", i+1))
		case twice:
			errs = append(errs, fmt.Errorf("items %d and %d are both called %q", first+1, i+1, item.ID))
		case item.Prompt == "":
			errs = append(errs, fmt.Errorf("item %q has no prompt", item.ID))
		}
		at[item.ID] = i
	}
	return at, errors.Join(errs...)
}
