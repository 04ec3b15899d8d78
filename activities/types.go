package activities

import (
	"floe/internal/experiment"
	"floe/internal/retry"
)

// Where says for which experiment and round an activity works: progress is told
// to that experiment's workflow. Round is -1 before the first round, and Rounds
// after the last.
type Where struct {
	Workflow string `json:"workflow"`
	Name     string `json:"name"`
	Round    int    `json:"round"`
	// Again has a step done although it is done already: it counts how often that
	// was asked for. Usually it is 0.
	Again int `json:"again,omitempty"`
}

// Progress is how far a step is. It travels as heartbeat detail and, now and
// then, as a signal to the experiment's workflow.
type Progress struct {
	Round int    `json:"round"`
	Step  string `json:"step"`
	Done  int    `json:"done"`
	Total int    `json:"total"`
	Note  string `json:"note,omitempty"`
	// Attempt and Worker say who is at work; a Recorder fills them in.
	Attempt int    `json:"attempt,omitempty"`
	Worker  string `json:"worker,omitempty"`
	// Tally is what the attempts have come to; Retries fills it in and reads it back.
	Tally *retry.Tally `json:"tally,omitempty"`
	// Outage is a service that the step waits for.
	Outage *retry.Outage `json:"outage,omitempty"`
}

// Done points to what a step wrote.
type Done struct {
	ID      experiment.StepID `json:"id"`
	Seconds float64           `json:"seconds"` // of the attempt that wrote it, whenever that was
	Reused  bool              `json:"reused"`  // the work was found done
}

// RoundRefs are the artifacts of one round.
type RoundRefs struct {
	Round      int  `json:"round"`
	Curriculum Done `json:"curriculum"` // what the round trained on
	Dataset    Done `json:"dataset"`
	Policy     Done `json:"policy"`
	Scorecard  Done `json:"scorecard"`
	Design     Done `json:"design"` // what the next round uses: the proposal, or the decision about it
	// Proposal is the designer's call where a person decided about it.
	Proposal Done `json:"proposal,omitzero"`
}

// BenchmarkRefs are the artifacts of one held-out set.
type BenchmarkRefs struct {
	Agents  int  `json:"agents"`
	Set     Done `json:"set"`
	Base    Done `json:"base"`
	Trained Done `json:"trained"`
}

// Refs are the artifacts of an experiment, as far as it has come.
type Refs struct {
	Curriculum Done            `json:"curriculum"` // round 0's
	Policy     Done            `json:"policy"`     // untrained
	Validation Done            `json:"validation"` // the set
	Base       Done            `json:"base"`       // the untrained policy's scorecard
	Rounds     []RoundRefs     `json:"rounds"`
	Benchmarks []BenchmarkRefs `json:"benchmarks"`
}

// Fork says that an experiment shares the first rounds of another.
type Fork struct {
	Experiment string `json:"experiment"` // whose rounds they are
	Round      int    `json:"round"`      // the first round that the new experiment does itself
	Refs       Refs   `json:"refs"`       // of the rounds before, and of what the first began with
	// Figures are what the rounds before found, as a status shows it.
	Figures []ForkFigures `json:"figures"`
}

// ForkFigures is one shared round's headline.
type ForkFigures struct {
	Rates   experiment.Rates `json:"rates"`
	Outcome string           `json:"outcome"` // of the design
}

// PrepareInput registers an experiment.
type PrepareInput struct {
	Where Where           `json:"where"`
	Spec  experiment.Spec `json:"spec"`
	RunID string          `json:"run_id"`
	Fork  *Fork           `json:"fork,omitempty"` // nil unless the experiment is one
}

// WarmStartInput makes the untrained policy.
type WarmStartInput struct {
	Where Where           `json:"where"`
	Spec  experiment.Spec `json:"spec"`
}

// GenerateInput draws a round's training set.
type GenerateInput struct {
	Where      Where             `json:"where"`
	Spec       experiment.Spec   `json:"spec"`
	Curriculum experiment.StepID `json:"curriculum"`
}

// ValidationInput draws the validation set.
type ValidationInput struct {
	Where Where           `json:"where"`
	Spec  experiment.Spec `json:"spec"`
}

// BenchmarkInput draws the held-out set with this many agents.
type BenchmarkInput struct {
	Where  Where           `json:"where"`
	Spec   experiment.Spec `json:"spec"`
	Agents int             `json:"agents"`
}

// Dataset is a generated set.
type Dataset struct {
	Done
	Samples int `json:"samples"`
	Repeats int `json:"repeats"`
}

// TrainInput trains one round.
type TrainInput struct {
	Where   Where             `json:"where"`
	Spec    experiment.Spec   `json:"spec"`
	Dataset experiment.StepID `json:"dataset"`
	Init    experiment.StepID `json:"init"` // the policy to start from
}

// Trained is a trained policy.
type Trained struct {
	Done
	Steps     int   `json:"steps"`
	Rollouts  int64 `json:"rollouts"`
	Decisions int64 `json:"decisions"`
	// Elsewhere is the machine on which the job is at work and can be watched alone;
	// the training is not done then. Empty otherwise.
	Elsewhere string `json:"elsewhere,omitempty"`
}

// Stopped says what became of a job that was to be stopped: it is gone, unless one
// of the fields says otherwise.
type Stopped struct {
	Elsewhere string `json:"elsewhere,omitempty"` // the machine that alone can stop it
	Left      string `json:"left,omitempty"`      // why it goes on
}

// EvaluateInput scores a policy on a set.
type EvaluateInput struct {
	Where   Where             `json:"where"`
	Spec    experiment.Spec   `json:"spec"`
	Policy  experiment.StepID `json:"policy"`
	Dataset experiment.StepID `json:"dataset"`
	Label   string            `json:"label"` // of the policy: "base", "round 1"
	Set     string            `json:"set"`   // "validation", "benchmark-3"
}

// Scored is a scorecard with its headline.
type Scored struct {
	Done
	Rates experiment.Rates `json:"rates"`
}

// DesignInput asks for the next curriculum.
type DesignInput struct {
	Where Where           `json:"where"`
	Spec  experiment.Spec `json:"spec"`
	Refs  Refs            `json:"refs"`  // rounds before this one
	Round RoundRefs       `json:"round"` // this one, design still open
	// Skip is the reason why nobody designs: the curriculum stays as it is.
	Skip string `json:"skip,omitempty"`
}

// StateFallback is the name by which a design is found of which nothing could be
// used, in histories, logs and reports.
const StateFallback = "design_fallback"

// Designed is a proposal and what it cost.
type Designed struct {
	Done
	Outcome string `json:"outcome"`
	// State is StateFallback if nothing could be used, for who reads the history.
	State       string `json:"state,omitempty"`
	Rationale   string `json:"rationale"`
	Changes     int    `json:"changes"`
	ModelCalls  int    `json:"model_calls"`
	ModelTokens int    `json:"model_tokens"`
	// NeedsApproval says why a person must decide before the proposal is used;
	// empty if none must.
	NeedsApproval string `json:"needs_approval,omitempty"`
	// Decided is the decision, if an earlier run of the experiment has one.
	Decided *Decided `json:"decided,omitempty"`
}

// PublishInput writes the report.
type PublishInput struct {
	Where Where           `json:"where"`
	Spec  experiment.Spec `json:"spec"`
	RunID string          `json:"run_id"`
	State string          `json:"state"`
	Refs  Refs            `json:"refs"`
	// Operations are kept as a document, so that they outlive the server.
	Operations *Operations `json:"operations,omitempty"`
}

// Operations is what an experiment needs to go on as the same one when its
// workflow is gone, beside its spec and its artifacts.
type Operations struct {
	Sweep  string  `json:"sweep,omitempty"`
	Arm    string  `json:"arm,omitempty"`
	Events []Event `json:"events,omitempty"` // what people did
	Redo   []Redo  `json:"redo,omitempty"`
}

// Redo asks for a step to be made anew although it is done.
type Redo struct {
	Round int    `json:"round"`
	Step  string `json:"step"`
}

// Event is something that a person did to a running experiment, or that befell it.
type Event struct {
	At     string   `json:"at"` // UTC
	Verb   string   `json:"verb"`
	Reason string   `json:"reason,omitempty"`
	Round  int      `json:"round"`
	Step   string   `json:"step,omitempty"`
	Set    []string `json:"set,omitempty"` // what a retry changed in the spec: "trainer.kl: 0 -> 0.1"
}

// Published says where the report is.
type Published struct {
	Report string `json:"report"` // file name among the experiment's documents
	URL    string `json:"url"`
}

// CellState is what an experiment that is a cell of a sweep tells the sweep, on
// each change of its state and after each round.
type CellState struct {
	Name  string `json:"name"`            // of the experiment
	State string `json:"state"`           // one of the workflows' states
	Cause string `json:"cause,omitempty"` // why it needs attention, failed or was ended
	Round int    `json:"round"`           // -1 before the first
	// ValidRate is the last validation's, the untrained policy's before round 0 is
	// done; null before there is one.
	ValidRate *float64 `json:"valid_rate,omitempty"`
	// Start is the untrained policy's, once it is known; Validated is how many
	// rounds have been validated.
	Start     *float64 `json:"start,omitempty"`
	Validated int      `json:"validated,omitempty"`
}
