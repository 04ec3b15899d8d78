package experiment

// Verdicts of a person on a proposal.
const (
	VerdictApproved = "approved" // the proposal is used as it is
	VerdictEdited   = "edited"   // the person's curriculum is used in its place
	VerdictRejected = "rejected" // the last curriculum stays
)

// Decision is what a person decided about a proposal, and what the proposal was.
// The transcript that holds it tells what is used; this tells what would have
// been used without it.
type Decision struct {
	Verdict string `json:"verdict"` // "approved", "edited", "rejected"
	By      string `json:"by"`      // as the person names themselves; nobody checks it
	At      string `json:"at"`      // RFC 3339, UTC
	Note    string `json:"note,omitempty"`
	// Reason says why a person was waited for.
	Reason string `json:"reason"`

	Proposal  StepID     `json:"proposal"`  // the designer's call, as its own artifact
	Proposed  Curriculum `json:"proposed"`  // what the designer's call would have had used
	Outcome   string     `json:"outcome"`   // of the designer's call
	Rationale string     `json:"rationale"` // the designer's

	// Asked is what the person wrote, before it was brought into the legal
	// space; nil unless edited.
	Asked   *Curriculum `json:"asked,omitempty"`
	Repairs []string    `json:"repairs,omitempty"` // how it was brought there
	Changes []Change    `json:"changes"`           // what is used against Proposed
}
