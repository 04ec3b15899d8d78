package job

import (
	"errors"
	"fmt"
	"io/fs"
)

// Verdict says how an attempt ended.
type Verdict struct {
	Outcome  Outcome
	Reason   string    // one sentence for people
	Result   *Result   // of a success
	Manifest *Manifest // of its final checkpoint
}

// Judge says how an attempt ended: success only if exit code, result, steps and
// every file's digest agree; anything else is not, whatever the exit code. The
// digest is that of spec.json as it was given. The attempt must have ended; an
// error means that its files could not be read, not that it failed.
func Judge(s Status, spec Spec, digest string, files fs.FS, progress func(done, total int64)) (Verdict, error) {
	switch {
	case !s.State.Final():
		return Verdict{}, fmt.Errorf("judge %s: it has not ended", s)
	case s.State == Preempted:
		return Verdict{Outcome: Interrupted, Reason: reason("its machine was reassigned", s, files)}, nil
	case s.ExitCode != nil && *s.ExitCode != ExitDone:
		outcome, what := outcomeOf(*s.ExitCode)
		return Verdict{Outcome: outcome, Reason: reason(fmt.Sprintf("exit code %d: %s", *s.ExitCode, what), s, files)}, nil
	}
	r, m, err := check(spec, digest, files, progress)
	var wrong *wrongError
	switch {
	case err == nil:
		return Verdict{Outcome: Success, Reason: fmt.Sprintf("%d steps, and every file is whole", r.StepsDone), Result: &r, Manifest: &m}, nil
	case !errors.As(err, &wrong):
		return Verdict{}, fmt.Errorf("judge %s: %w", s.Name, err)
	case s.ExitCode == nil:
		return Verdict{Outcome: Interrupted, Reason: reason("how it ended is not known, and "+wrong.Error(), s, files)}, nil
	default:
		return Verdict{Outcome: Failed, Reason: reason("exit code 0, but "+wrong.Error(), s, files)}, nil
	}
}

// wrongError is what speaks against a success, unlike trouble in finding out.
type wrongError struct{ error }

// Unwrap implements the interface that errors.Is looks for.
func (e *wrongError) Unwrap() error { return e.error }

// check reads what a finished job left, as far as it is sound.
func check(spec Spec, digest string, files fs.FS, progress func(done, total int64)) (Result, Manifest, error) {
	r, err := ReadResult(files)
	if err == nil {
		err = r.against(spec, digest)
	}
	if err != nil {
		return Result{}, Manifest{}, wrong(err)
	}
	m, sum, err := ReadManifest(files, r.FinalCheckpoint)
	if err != nil {
		return Result{}, Manifest{}, wrong(err)
	}
	f := faults{name: r.FinalCheckpoint + "/" + fileManifest}
	f.want(sum == r.ManifestSHA256, "", sum, "the sha256 "+r.ManifestSHA256+" of result.json")
	f.want(m.Step == r.StepsDone, "step", m.Step, fmt.Sprintf("steps_done = %d", r.StepsDone))
	f.want(m.SpecSHA256 == digest, "spec_sha256", m.SpecSHA256, digest)
	f.want(m.RewardState == r.RewardState, "reward_state", m.RewardState, fmt.Sprintf("%+v as in result.json", r.RewardState))
	if err := f.err(); err != nil {
		return Result{}, Manifest{}, wrong(err)
	}
	if err := VerifyFiles(files, r.FinalCheckpoint, m, progress); err != nil {
		return Result{}, Manifest{}, wrong(err)
	}
	return r, m, nil
}

// wrong marks an error as speaking against the job, unless the files could not
// be read for a reason that may pass: a store that is away says nothing about
// the job.
func wrong(err error) error {
	var trouble *fs.PathError
	if errors.As(err, &trouble) && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return &wrongError{err}
}

// reason adds what back end and trainer say themselves.
func reason(what string, s Status, files fs.FS) string {
	if s.Reason != "" {
		what += " (" + s.Reason + ")"
	}
	if said := Failure(files); said != "" {
		what += ": " + said
	}
	return what
}
