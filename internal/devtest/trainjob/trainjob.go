// Package trainjob is a trainer for tests. It keeps the whole contract of
// docs/jobs.md, as trainer/ does, but what it trains is a number: a model of
// package skill. It samples answers, has the referee score them, and the skill
// grows with the share of groups that teach something. So what a job leaves
// depends on its spec alone, and trainings that were killed, stopped and gone on
// with can be compared byte by byte with undisturbed ones.
//
// Faults are asked for by variables of its environment (see Faults).
package trainjob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"floe/internal/devtest/skill"
	"floe/internal/env"
	"floe/internal/job"
)

// endError is an end with another exit code than 0.
type endError struct {
	code int
	why  string
}

func (e *endError) Error() string { return e.why }

func ends(code int, format string, args ...any) error {
	return &endError{code, fmt.Sprintf(format, args...)}
}

// attempt is one start of a job.
type attempt struct {
	directory

	spec     job.Spec
	digest   string // of the spec
	settings settings
	faults   faults
	stop     chan os.Signal
	until    time.Time // zero: no limit
	looked   time.Time // for a request to stop, in the store

	tasks    []env.Task
	order    []int // all steps' tasks, one step after the other
	dataset  string
	parent   *string // digest of the manifest gone on from
	skill    skill.Skill
	state    job.RewardState
	done     int // steps made
	saved    int // steps in the newest whole checkpoint
	manifest string
	seconds  *float64
	data     map[string]*float64
	started  time.Time
}

// Run is one attempt, from the environment's variables to the exit code.
func Run(ctx context.Context, stdout io.Writer) int {
	a := &attempt{started: time.Now().UTC(), stop: make(chan os.Signal, 8)}
	signal.Notify(a.stop, syscall.SIGTERM, syscall.SIGINT)
	err := a.told()
	if err == nil {
		err = a.hold(ctx, stdout)
	}
	if err != nil { // the directory is not ours
		fmt.Fprintln(stdout, "trainjob:", err)
		return codeOf(err)
	}
	err = a.run(ctx)
	code := codeOf(err)
	if err != nil {
		err = a.fail(ctx, code, err)
	}
	if diary := a.note(skill.Entry{Event: skill.EventEnd, Exit: code}); err != nil || diary != nil {
		a.say("%v", errors.Join(err, diary))
	}
	return code
}

func codeOf(err error) int {
	if err == nil {
		return job.ExitDone
	}
	if end, ok := errors.AsType[*endError](err); ok {
		return end.code
	}
	return job.ExitInternal
}

// told reads the contract's variables.
func (a *attempt) told() error {
	var faults []error
	for _, v := range []string{"FLOE_JOB_SPEC", "FLOE_JOB_DIR", "FLOE_JOB_ID"} {
		if os.Getenv(v) == "" {
			faults = append(faults, fmt.Errorf("%s is not set", v))
		}
	}
	number := os.Getenv("FLOE_ATTEMPT")
	if number == "" {
		number = "1"
	}
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 {
		faults = append(faults, fmt.Errorf("FLOE_ATTEMPT is %q; want a number from 1", number))
	}
	a.output = os.Getenv("FLOE_OUTPUT_URI")
	if a.output != "" && !remote(a.output) {
		faults = append(faults, fmt.Errorf("FLOE_OUTPUT_URI is %q; want s3://bucket/prefix/", a.output))
	}
	if a.faults, err = readFaults(os.Getenv(EnvFaults), n); err != nil {
		faults = append(faults, err)
	}
	if a.path, err = filepath.Abs(os.Getenv("FLOE_JOB_DIR")); err != nil {
		faults = append(faults, err)
	}
	a.id, a.number = os.Getenv("FLOE_JOB_ID"), n
	if err := errors.Join(faults...); err != nil {
		return ends(job.ExitBadSpec, "%v", err)
	}
	return nil
}

func (a *attempt) run(ctx context.Context) error {
	a.say("job %s, attempt %d, process %d", a.id, a.number, os.Getpid())
	if err := a.note(skill.Entry{Event: skill.EventStart}); err != nil {
		return err
	}
	if a.faults.empty() {
		return nil
	}
	if err := a.readSpec(ctx); err != nil {
		return err
	}
	if err := a.progress(ctx, job.PhaseStarting); err != nil {
		return err
	}
	if err := skill.TakeDevice(); err != nil {
		return err
	}
	if err := a.prepare(ctx); err != nil {
		return err
	}
	if a.done < a.spec.ExpectedSteps {
		if err := a.train(ctx); err != nil {
			return err
		}
	}
	if err := a.conclude(ctx); err != nil {
		return err
	}
	return a.progress(ctx, job.PhaseDone)
}

// fail leaves the reason of an end that is none of success.
func (a *attempt) fail(ctx context.Context, code int, why error) error {
	phase := job.PhaseFailed
	if code == job.ExitStopped {
		phase = job.PhaseStopped
	}
	line := strings.Join(strings.Fields(why.Error()), " ")
	return errors.Join(why, a.progress(ctx, phase), a.put(ctx, fileFailure, []byte(line+"\n")), a.putLines(ctx))
}

// note keeps an entry of the tests' diary.
func (a *attempt) note(e skill.Entry) error {
	e.Job, e.Attempt, e.Skill = a.path, a.number, float64(a.skill)
	return skill.Write(e)
}
