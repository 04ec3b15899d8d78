// Package command is the back end for whatever has a command line: SkyPilot,
// dstack, ssh, a script of a computing centre. Four templates say how to submit,
// to ask, to read logs and to stop; a table says what the answers mean.
//
// Templates are argument vectors, never lines of shell, and placeholders stand
// in them:
//
//	{name} {id} {spec} {dir} {output} {attempt} {sha256} {gpus} {cpus} {memory_bytes} {wall_seconds} {grace_seconds} {from}
//	{command}        the trainer's argument vector as a line for a POSIX shell
//	{env}            NAME=value pairs, likewise, of the variables of the contract
//	{command...}     as a whole argument: the argument vector itself
//	{env...}         as a whole argument: NAME=value, one argument each
//
// {id} is what submit printed, {{ and }} are braces. What is submitted is kept
// in a folder that all workers of the back end share, so a job is found again
// after a crash, and never submitted twice under one name.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"floe/internal/job"
	"floe/internal/job/backend/internal/attempt"
	"floe/internal/job/backend/internal/cli"
	"floe/internal/pause"
)

// Settings of the back end.
type Settings struct {
	Root string // folder of the records

	// Submit prints an id on its last line, or nothing. Its exit code is 0 only
	// if the job was submitted.
	Submit []string
	Status []string // prints a state, found by StateForm
	Logs   []string // prints all that the job printed; empty: no logs
	Stop   []string // ends the job; it may return before the job is gone
	// Ask asks the job to save and end. Empty: the job is given the grace to
	// follow stop.requested, before Stop.
	Ask []string
	// Find prints the id of a job by its name, or nothing: for systems where a
	// crash between submitting and hearing the id could lose it. Empty: there is
	// none, and after such a crash a person must look.
	Find []string

	// StateForm finds the state in what Status prints: its group named "state",
	// and if there are any, "exit", "reason" and "name". A job of another name than the
	// attempt's is another job, that got its id: ours is lost. Empty: the first word, and the
	// second, if it is a number, as the exit code.
	StateForm string
	// States say what a state means. The key is matched whole, case does not
	// count. What is not listed is an error, never a guess.
	States map[string]job.State
	// GoneExit is the exit code of Status that says "no such job", beside the
	// state that States maps to lost; 0: there is none.
	GoneExit int
	// Timeout bounds one call; 0: two minutes.
	Timeout time.Duration
}

const (
	defaultTimeout = 2 * time.Minute
	goneWithin     = 5 * time.Minute // after Stop has returned
	defaultForm    = `\A\s*(?P<state>\S+)(?:\s+(?P<exit>-?\d+)\b)?(?:\s+(?P<reason>\S.*))?`
)

// New checks settings and returns the back end; the error has every fault.
func New(s Settings) (*Backend, error) {
	b := &Backend{settings: s}
	if b.settings.Timeout <= 0 {
		b.settings.Timeout = defaultTimeout
	}
	form := s.StateForm
	if form == "" {
		form = defaultForm
	}
	var errs []error
	var err error
	if b.form, err = regexp.Compile(form); err != nil {
		errs = append(errs, fmt.Errorf("state_form: %w", err))
	} else if b.form.SubexpIndex("state") < 0 {
		errs = append(errs, fmt.Errorf("state_form %q; want a group (?P<state>...)", form))
	}
	if s.Root == "" {
		errs = append(errs, errors.New("root: no folder for the records"))
	} else if b.settings.Root, err = filepath.Abs(s.Root); err != nil {
		errs = append(errs, err)
	}
	for _, t := range b.templates() {
		if len(t.argv) == 0 && t.needed {
			errs = append(errs, fmt.Errorf("%s: no command", t.name))
		}
		for _, word := range t.argv {
			if err := checkWord(word); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", t.name, err))
			}
		}
	}
	errs = append(errs, b.readStates())
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("command back end: %w", err)
	}
	return b, nil
}

type template struct {
	name   string
	argv   []string
	needed bool
}

func (b *Backend) templates() []template {
	s := b.settings
	return []template{
		{"submit", s.Submit, true},
		{"status", s.Status, true},
		{"stop", s.Stop, true},
		{"logs", s.Logs, false},
		{"ask", s.Ask, false},
		{"find", s.Find, false},
	}
}

func (b *Backend) readStates() error {
	var errs []error
	b.states = map[string]job.State{}
	for found, means := range b.settings.States {
		switch means {
		case job.Pending, job.Running, job.Ended, job.Preempted, job.Lost:
			b.states[strings.ToLower(found)] = means
		default:
			errs = append(errs, fmt.Errorf("states: %s: found %q; want pending, running, ended, preempted or lost", found, means))
		}
	}
	if len(b.states) == 0 {
		errs = append(errs, errors.New("states: no table; want what the states that status prints mean"))
	}
	return errors.Join(errs...)
}

// Backend implements job.Backend.
type Backend struct {
	settings Settings
	form     *regexp.Regexp
	states   map[string]job.State
}

var _ job.Backend = (*Backend)(nil)

// Check implements job.Backend: the programs must be there.
func (b *Backend) Check(context.Context) error {
	var errs []error
	for _, t := range b.templates() {
		if len(t.argv) == 0 {
			continue
		}
		if _, err := exec.LookPath(t.argv[0]); err != nil {
			errs = append(errs, fmt.Errorf("command back end: %s: %w", t.name, err))
		}
	}
	return errors.Join(errs...)
}

// submitted is what is known of an attempt that was handed over.
type submitted struct {
	ID   string    `json:"id"`
	Time time.Time `json:"time"`
}

// Submit implements job.Backend. An attempt that may have been submitted by a
// worker that crashed is looked for, never submitted again on a guess.
func (b *Backend) Submit(ctx context.Context, r job.Request) (job.Status, error) {
	err := attempt.Submit(b.settings.Root, r, b.isKnown(ctx), func(rec attempt.Folder) error { return b.hand(ctx, rec, r) })
	if err != nil {
		return job.Status{}, err
	}
	return b.Status(ctx, r.Name())
}

func (b *Backend) isKnown(ctx context.Context) func(attempt.Folder) (bool, error) {
	return func(rec attempt.Folder) (bool, error) {
		_, ok, err := b.known(ctx, rec)
		return ok, err
	}
}

const fileSubmitting = "submitting.json"

// known reads what was submitted. A submission that was begun and not noted is
// looked for by name.
func (b *Backend) known(ctx context.Context, rec attempt.Folder) (submitted, bool, error) {
	var s submitted
	if ok, err := rec.Read(attempt.FileSubmitted, &s); ok || err != nil {
		return s, ok, err
	}
	var began submitted
	if was, err := rec.Read(fileSubmitting, &began); err != nil || !was {
		return s, false, err
	}
	if len(b.settings.Find) == 0 {
		return s, false, fmt.Errorf("%s may have been submitted at %s by a worker that crashed, and no find command is set; see whether it runs, then write its id to %s as {\"id\":\"...\"} or remove %s",
			rec.Name, began.Time.Format(time.RFC3339), rec.Path(attempt.FileSubmitted), rec.Path(fileSubmitting))
	}
	r, err := rec.Request()
	if err != nil {
		return s, false, err
	}
	out, err := b.call("find", b.settings.Find, values(r, "")).Output(ctx)
	if err != nil {
		return s, false, err
	}
	if s.ID = lastLine(out); s.ID == "" {
		return s, false, nil
	}
	s.Time = began.Time
	return s, true, rec.Write(attempt.FileSubmitted, s)
}

// hand runs the submit command and keeps the id.
func (b *Backend) hand(ctx context.Context, rec attempt.Folder, r job.Request) error {
	s := submitted{Time: time.Now().UTC()}
	if err := rec.Write(fileSubmitting, s); err != nil {
		return err
	}
	out, err := b.call("submit", b.settings.Submit, values(r, "")).Output(ctx)
	if _, refused := errors.AsType[*cli.Error](err); refused && len(b.settings.Find) == 0 {
		return errors.Join(err, rec.Remove(fileSubmitting)) // it said so itself: nothing was submitted
	}
	if err != nil {
		return err // whether it was submitted is found out at the next call
	}
	s.ID = lastLine(out)
	return rec.Write(attempt.FileSubmitted, s)
}

// Status implements job.Backend. The end of an attempt is kept, for systems
// forget.
func (b *Backend) Status(ctx context.Context, name string) (job.Status, error) {
	rec, err := attempt.Open(b.settings.Root, name)
	if err != nil {
		return job.Status{}, err
	}
	return rec.Status(func() (job.Status, error) {
		was, ok, err := b.known(ctx, rec)
		if err != nil || !ok {
			return rec.Claimed(), err
		}
		return b.ask(ctx, rec, was)
	})
}

// ask runs the status command and reads its answer.
func (b *Backend) ask(ctx context.Context, rec attempt.Folder, was submitted) (job.Status, error) {
	r, err := rec.Request()
	if err != nil {
		return job.Status{}, err
	}
	s := job.Status{Name: rec.Name, Where: strings.TrimSpace("job " + was.ID), Started: was.Time}
	out, err := b.call("status", b.settings.Status, values(r, was.ID)).Output(ctx)
	if failed, ok := errors.AsType[*cli.Error](err); ok && b.settings.GoneExit != 0 && failed.Code == b.settings.GoneExit {
		s.State, s.Reason, s.Ended = job.Lost, "no such job: "+failed.Said, time.Now().UTC()
		return s, nil
	}
	if err != nil {
		return s, err
	}
	if err := b.read(out, &s); err != nil {
		return s, err
	}
	if s.State.Final() {
		s.Ended = time.Now().UTC()
	}
	return s, nil
}

// Logs implements job.Backend.
func (b *Backend) Logs(ctx context.Context, name string, o job.LogOptions, w io.Writer) error {
	rec, err := attempt.Open(b.settings.Root, name)
	if err != nil {
		return err
	}
	r, err := rec.Request()
	if err != nil || len(b.settings.Logs) == 0 {
		return err
	}
	for at := o.From; ; {
		s, err := b.Status(ctx, name)
		if err != nil {
			return err
		}
		if s.State != job.Pending {
			n, err := b.logs(ctx, rec, r, at, w)
			if at += n; err != nil {
				return err
			}
		}
		if !o.Follow || s.State.Final() {
			return nil
		}
		if err := pause.For(ctx, followEvery); err != nil {
			return err
		}
	}
}

const followEvery = 2 * time.Second
