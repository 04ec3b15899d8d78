package job

// Exit codes of the contract.
const (
	ExitDone     = 0
	ExitBadData  = 65 // the data, or a loss or gradient that is not finite
	ExitBusy     = 69 // another program holds the job directory
	ExitInternal = 70
	ExitStopped  = 75 // stopped or preempted, with a checkpoint if a step was made
	ExitBadSpec  = 78 // the spec, the environment, or a directory of another spec
	ExitKilled   = 137
	ExitTerm     = 143
)

// Outcome says what can be done after an attempt.
type Outcome string

// Outcomes.
const (
	Success     Outcome = "success"     // the policy is there and whole
	Interrupted Outcome = "interrupted" // not a failure: the next attempt goes on from the latest whole checkpoint
	Failed      Outcome = "failed"      // may pass: a bounded number of attempts
	Hopeless    Outcome = "hopeless"    // the same fails again: change spec, data or settings
	Busy        Outcome = "busy"        // another program holds the directory: find out which before the next attempt
)

// outcomeOf is what an exit code says by itself, with what it means.
func outcomeOf(code int) (Outcome, string) {
	switch code {
	case ExitDone:
		return Success, "done"
	case ExitStopped:
		return Interrupted, "stopped or preempted; the next attempt goes on"
	case ExitBadSpec:
		return Hopeless, "bad spec, bad environment, or a directory of another spec"
	case ExitBadData:
		return Hopeless, "bad data, or a loss or gradient that is not finite"
	case ExitBusy:
		return Busy, "another program holds the job directory"
	case ExitKilled, ExitTerm:
		return Interrupted, "killed; the next attempt goes on from the latest whole checkpoint"
	case ExitInternal:
		return Failed, "internal error of the trainer"
	default:
		return Failed, "unforeseen exit of the trainer"
	}
}
