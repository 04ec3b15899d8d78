package experiment

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
}

// Section is one named part of a designer's context.
type Section struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Attempt is one model call inside a transcript.
type Attempt struct {
	Request          string `json:"request"`  // raw body as sent
	Response         string `json:"response"` // raw body as received
	Reply            string `json:"reply"`
	Reasoning        string `json:"reasoning,omitempty"`
	FinishReason     string `json:"finish_reason,omitempty"`
	Class            string `json:"class"` // how the reply was read
	Fault            string `json:"fault,omitempty"`
	PromptTokens     int    `json:"prompt_tokens"`
	CompletionTokens int    `json:"completion_tokens"`
	LatencyMS        int64  `json:"latency_ms"`
}
