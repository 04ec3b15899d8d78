package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"floe/internal/job"
	"floe/internal/job/backend/internal/attempt"
	"floe/internal/job/backend/internal/cli"
	"floe/internal/outage"
)

// call is a filled template.
type call struct{ cli.Call }

func (b *Backend) call(what string, argv []string, v placeholders) call {
	return call{cli.Call{
		Name: what + " command", Argv: fill(argv, v), Within: b.settings.Timeout,
		Env: append(cli.Inherited(), v.many["env"]...), // for scripts that pass them on
	}}
}

// exitAway is the exit code of a command that cannot reach its system: EX_TEMPFAIL.
const exitAway = 75

// Output runs the command and returns what it printed.
func (c call) Output(ctx context.Context) (string, error) {
	out, err := c.Call.Output(ctx)
	failed, ok := errors.AsType[*cli.Error](err)
	if errors.Is(err, cli.ErrNoAnswer) || ok && failed.Code == exitAway {
		err = outage.Of("the system behind the "+c.Name, err)
	}
	return out, err
}

// logs writes the job's log from a byte on and returns how many it wrote.
func (b *Backend) logs(ctx context.Context, rec attempt.Folder, r job.Request, from int64, w io.Writer) (int64, error) {
	var was submitted
	if _, err := rec.Read(attempt.FileSubmitted, &was); err != nil {
		return 0, err
	}
	v := values(r, was.ID)
	// A command that can begin later does; from others the beginning is cut off.
	skip := from
	if strings.Contains(strings.Join(b.settings.Logs, " "), "{from}") {
		v.single["from"], skip = strconv.FormatInt(from, 10), 0
	}
	t := &attempt.Tail{W: w, Skip: skip}
	err := b.call("logs", b.settings.Logs, v).Run(ctx, t)
	if t.Err != nil {
		err = t.Err
	}
	return t.Wrote, err
}

// read finds the state in what the status command printed.
func (b *Backend) read(out string, s *job.Status) error {
	m := b.form.FindStringSubmatch(out)
	if m == nil {
		return fmt.Errorf("status command: found no state in %q by %s", cli.Brief(out), b.form)
	}
	group := func(name string) string {
		if i := b.form.SubexpIndex(name); i >= 0 {
			return strings.TrimSpace(m[i])
		}
		return ""
	}
	if found := group("name"); found != "" && found != s.Name {
		s.State, s.Reason = job.Lost, fmt.Sprintf("its id now belongs to the job %q", found)
		return nil
	}
	state, ok := b.states[strings.ToLower(group("state"))]
	if !ok {
		return fmt.Errorf("status command: found the state %q in %q, which the table of states does not have", group("state"), cli.Brief(out))
	}
	s.State, s.Reason = state, group("reason")
	if code, err := strconv.Atoi(group("exit")); err == nil && state == job.Ended {
		if code < 0 { // how Python tells of a signal
			code = 128 - code
		}
		s.ExitCode = &code
	}
	return nil
}

func lastLine(out string) string {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
