package experiment

// Results is everything an experiment found, gathered from its artifacts. It is
// what a report is made of, and what report.json holds.
type Results struct {
	Name       string            `json:"name"`
	State      string            `json:"state"`
	Spec       Spec              `json:"spec"`
	Provenance Provenance        `json:"provenance"`
	Base       *Scorecard        `json:"base,omitempty"` // the untrained policy on the validation set
	Rounds     []RoundResult     `json:"rounds"`
	Benchmarks []BenchmarkResult `json:"benchmarks"`
	Tags       []string          `json:"tags,omitempty"`
	Diary      []DiaryEntry      `json:"diary,omitempty"` // in order of time
}

// DiaryEntry is something that people did to an experiment, or wrote about it.
type DiaryEntry struct {
	At   string `json:"at"` // UTC
	By   string `json:"by,omitempty"`
	Text string `json:"text"`
}

// RoundResult is one round, step by step. Steps not reached are nil.
type RoundResult struct {
	Round       int          `json:"round"`
	Curriculum  Curriculum   `json:"curriculum"`
	Conformance *Conformance `json:"conformance,omitempty"`
	Training    *Training    `json:"training,omitempty"`
	Scorecard   *Scorecard   `json:"scorecard,omitempty"`
	Transcript  *Transcript  `json:"transcript,omitempty"` // the design of the next round
	Steps       []StepRef    `json:"steps"`
}

// StepRef points from a result to the artifact that holds it.
type StepRef struct {
	Step    string  `json:"step"` // "generate", "train", "validate", "design"
	ID      StepID  `json:"id"`
	Seconds float64 `json:"seconds"`
}

// Training summarises one round of training.
type Training struct {
	Trainer   string          `json:"trainer"`
	Samples   int             `json:"samples"`
	Epochs    int             `json:"epochs"`
	Steps     int             `json:"steps"`     // optimizer steps
	Rollouts  int64           `json:"rollouts"`  // answers sampled
	Decisions int64           `json:"decisions"` // policy decisions: equal samples are not equal compute
	Curve     []TrainingPoint `json:"curve"`
	Job       *TrainingJob    `json:"job,omitempty"` // nil: trained in this program
}

// TrainingJob is where and how a training ran that was a job.
type TrainingJob struct {
	Backend         string  `json:"backend"`
	Device          string  `json:"device"` // as the trainer named it
	GPUs            int     `json:"gpus"`   // of each attempt
	Attempts        int     `json:"attempts"`
	GPUSeconds      float64 `json:"gpu_seconds"` // of all attempts, times GPUs
	PeakMemoryBytes int64   `json:"peak_memory_bytes,omitempty"`
	// TokensPerSecond are tokens sampled over the time of the steps that sampled
	// them; 0 where the trainer did not measure it.
	TokensPerSecond float64           `json:"tokens_per_second,omitempty"`
	Checkpoint      string            `json:"checkpoint"` // sha256 of its manifest
	Versions        map[string]string `json:"versions,omitempty"`
}

// TrainingPoint is one logged point of a training curve.
type TrainingPoint struct {
	Step      int     `json:"step"`
	Epoch     float64 `json:"epoch"`
	Reward    float64 `json:"reward"`     // mean over the batch
	ValidRate float64 `json:"valid_rate"` // of sampled answers
	Spread    float64 `json:"spread"`     // share of groups with unequal rewards, the ones that teach
	Entropy   float64 `json:"entropy"`    // mean per decision, nats
	GradNorm  float64 `json:"grad_norm"`  // before clipping
	WeightAcc float64 `json:"weight_acc"` // reward weight of accuracy in force
	WeightLen float64 `json:"weight_len"` // reward weight of length in force
}

// BenchmarkResult is one held-out set with more agents.
type BenchmarkResult struct {
	Agents  int        `json:"agents"`
	Base    *Scorecard `json:"base,omitempty"`
	Trained *Scorecard `json:"trained,omitempty"`
}

// Provenance says what made a run: enough to make it again.
type Provenance struct {
	Version     string   `json:"version"`
	Commit      string   `json:"commit"`
	Dirty       bool     `json:"dirty"`
	GoVersion   string   `json:"go_version"`
	Platform    string   `json:"platform"`
	Host        string   `json:"host"`
	CPUs        int      `json:"cpus"`
	Environment string   `json:"environment"` // name and version
	Modules     []string `json:"modules"`     // module@version of the dependencies that matter
	Started     string   `json:"started"`     // RFC 3339, UTC
	Finished    string   `json:"finished,omitempty"`
	WorkflowID  string   `json:"workflow_id"`
	RunID       string   `json:"run_id"`
	Origin      *Origin  `json:"origin,omitempty"` // of a fork
}

// Origin is where a fork comes from: it shares the rounds before Round.
type Origin struct {
	Experiment string `json:"experiment"`
	Round      int    `json:"round"`
}
