package experiment

import (
	"cmp"
	"slices"
)

// Transcript is all of one designer call: what it was shown, what it said, what
// was understood, and what was used.
type Transcript struct {
	Round     int       `json:"round"` // the round whose evidence was read
	Designer  string    `json:"designer"`
	Model     string    `json:"model,omitempty"`
	Context   string    `json:"context"`            // "V1".."V6" or a custom name
	Sections  []Section `json:"sections"`           // what the context showed, in order
	Prompt    string    `json:"prompt,omitempty"`   // the user message sent to a model; empty for rules
	Attempts  []Attempt `json:"attempts,omitempty"` // model calls, repairs included
	Outcome   string    `json:"outcome"`            // "ok", "normalised", "projected", "fallback"
	Rationale string    `json:"rationale"`
	// Asked is the proposal as understood; Used is what the next round trains on.
	Asked   Curriculum `json:"asked"`
	Used    Curriculum `json:"used"`
	Repairs []string   `json:"repairs,omitempty"` // how Asked was brought into the legal space
	Changes []Change   `json:"changes"`           // Used against the curriculum of this round
	// Warning says in a sentence what is doubtful about Used, such as that all its
	// samples are on sizes that are mastered already; empty when nothing is.
	Warning string `json:"warning,omitempty"`
	// NeedsApproval says why a person must decide before Used may be used; empty
	// when nobody must.
	NeedsApproval string `json:"needs_approval,omitempty"`
	// Measures describe the designer's behaviour; nil after a fallback.
	Measures *Measures `json:"measures,omitempty"`
	// By is the person who approved or edited the proposal; empty when nobody did.
	By string `json:"by,omitempty"`
	// Decision is what a person decided about the proposal; nil when nobody did.
	Decision *Decision `json:"decision,omitempty"`
}

// Measures describe in plain numbers how a designer behaved: Asked against what
// came before and what validation found. The formulas stand in package
// internal/designer/behaviour; they are ours, after the behaviours that the paper
// describes in words.
type Measures struct {
	SizesChanged float64        `json:"sizes_changed"` // share of the sizes with any setting changed, in [0, 1]
	FromLast     float64        `json:"from_last"`     // L1 distance to the curriculum of the round just finished
	FromFirst    float64        `json:"from_first"`    // L1 distance to round 0's curriculum
	Fields       []FieldMeasure `json:"fields"`        // data_ratio, then the knobs in the environment's order
	// Frontier is the share of the samples at sizes whose valid rate is 0.2 to 0.8;
	// FrontierBefore is the same share under the last curriculum.
	Frontier       float64 `json:"frontier"`
	FrontierBefore float64 `json:"frontier_before"`
	// Contradicted counts the moves of the last design after which the size's valid
	// rate fell, Reversed those of them that this proposal takes back; Upheld and
	// Undone count the same of all other moves. All 0 after round 0.
	Contradicted int `json:"contradicted"`
	Reversed     int `json:"reversed"`
	Upheld       int `json:"upheld"`
	Undone       int `json:"undone"`
}

// FieldMeasure is the part of Measures that one setting has.
type FieldMeasure struct {
	Field     string  `json:"field"`      // "data_ratio" or a knob
	Changed   float64 `json:"changed"`    // share of the sizes on which it changed
	FromLast  float64 `json:"from_last"`  // its part of Measures.FromLast
	FromFirst float64 `json:"from_first"` // its part of Measures.FromFirst
	// Trend is Kendall's tau-b between the size's place on the ladder and the
	// setting: 1 when it only rises with the size, -1 when it only falls; nil when
	// it is the same on all sizes.
	Trend *float64 `json:"trend,omitempty"`
}

// ClassCount is how often replies were read in one way.
type ClassCount struct {
	Class string `json:"class"`
	Count int    `json:"count"`
}

// CountClasses counts the classes of all model calls in transcripts, the most
// frequent first, of equal ones in alphabetical order.
func CountClasses(transcripts ...Transcript) []ClassCount {
	counts := map[string]int{}
	for _, t := range transcripts {
		for _, a := range t.Attempts {
			counts[a.Class]++
		}
	}
	out := make([]ClassCount, 0, len(counts))
	for class, n := range counts {
		out = append(out, ClassCount{class, n})
	}
	slices.SortFunc(out, func(a, b ClassCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Class, b.Class))
	})
	return out
}

// Section is one named part of a designer's context.
type Section struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Attempt is one model call inside a transcript.
type Attempt struct {
	Request      string `json:"request"`  // raw body as sent
	Response     string `json:"response"` // raw body as received
	Reply        string `json:"reply"`
	Reasoning    string `json:"reasoning,omitempty"`
	FinishReason string `json:"finish_reason,omitempty"`
	Class        string `json:"class"` // how the reply was read
	Fault        string `json:"fault,omitempty"`
	// Trace tells in order what the reader found in the reply and decided.
	Trace            []string `json:"trace,omitempty"`
	PromptTokens     int      `json:"prompt_tokens"`
	CompletionTokens int      `json:"completion_tokens"`
	Cost             float64  `json:"cost,omitempty"` // money, in the currency of the endpoint's prices; 0 without prices
	LatencyMS        int64    `json:"latency_ms"`
	Server           string   `json:"server,omitempty"` // what answered, as it named itself
	At               string   `json:"at,omitempty"`     // when the call was made, RFC 3339 in UTC
}
