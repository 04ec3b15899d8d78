package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"floe/internal/job"
	"floe/internal/job/record"
)

// callError is a command that failed.
type callError struct {
	what string
	code int
	said string
}

// Error implements error.
func (e *callError) Error() string {
	return fmt.Sprintf("%s command: exit code %d: %s", e.what, e.code, e.said)
}

const mostOutput = 1 << 20

// call runs a filled template and returns what it printed.
func (b *Backend) call(ctx context.Context, what string, argv []string, v placeholders) (string, error) {
	var out bytes.Buffer
	err := b.stream(ctx, what, argv, v, &limited{w: &out, left: mostOutput})
	return out.String(), err
}

func (b *Backend) stream(ctx context.Context, what string, argv []string, v placeholders, w io.Writer) error {
	within, cancel := context.WithTimeout(ctx, b.settings.Timeout)
	defer cancel()
	words := fill(argv, v)
	var said bytes.Buffer
	cmd := exec.CommandContext(within, words[0], words[1:]...) //nolint:gosec // it is what the user wants to run
	cmd.Env = append(os.Environ(), v.many["env"]...)           // for scripts that pass them on
	cmd.Stdout, cmd.Stderr = w, &limited{w: &said, left: mostOutput}
	cmd.WaitDelay = 10 * time.Second // what it leaves behind must not hold us by its output
	err := cmd.Run()
	if err == nil || errors.Is(err, exec.ErrWaitDelay) {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if within.Err() != nil {
		return fmt.Errorf("%s command: no answer within %s", what, b.settings.Timeout)
	}
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return &callError{what, failed.ExitCode(), brief(said.String())}
	}
	return fmt.Errorf("%s command: %w", what, err)
}

// logs writes the job's log from a byte on and returns how many it wrote.
func (b *Backend) logs(ctx context.Context, rec record.Record, r job.Request, from int64, w io.Writer) (int64, error) {
	var was submitted
	if _, err := rec.Read(fileSubmitted, &was); err != nil {
		return 0, err
	}
	v := values(r, was.ID)
	// A command that can begin later does; from others the beginning is cut off.
	skip := from
	if strings.Contains(strings.Join(b.settings.Logs, " "), "{from}") {
		v.single["from"], skip = strconv.FormatInt(from, 10), 0
	}
	t := &tail{w: w, skip: skip}
	err := b.stream(ctx, "logs", b.settings.Logs, v, t)
	if t.err != nil {
		err = t.err
	}
	return t.wrote, err
}

// read finds the state in what the status command printed.
func (b *Backend) read(out string, s *job.Status) error {
	m := b.form.FindStringSubmatch(out)
	if m == nil {
		return fmt.Errorf("status command: found no state in %q by %s", brief(out), b.form)
	}
	group := func(name string) string {
		if i := b.form.SubexpIndex(name); i >= 0 {
			return strings.TrimSpace(m[i])
		}
		return ""
	}
	state, ok := b.states[strings.ToLower(group("state"))]
	if !ok {
		return fmt.Errorf("status command: found the state %q in %q, which the table of states does not have", group("state"), brief(out))
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

func brief(text string) string {
	const most = 400
	text = strings.TrimSpace(text)
	if len(text) > most {
		text = "..." + text[len(text)-most:]
	}
	return text
}

// limited drops what goes beyond a limit.
type limited struct {
	w    io.Writer
	left int
}

// Write implements io.Writer.
func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	l.left -= n
	_, err := l.w.Write(p[:n])
	return len(p), err
}

// tail passes on what comes after a number of bytes, and keeps the trouble that
// the writer has.
type tail struct {
	w     io.Writer
	skip  int64
	wrote int64
	err   error
}

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	n := min(int64(len(p)), t.skip)
	t.skip -= n
	wrote, err := t.w.Write(p[n:])
	t.wrote += int64(wrote)
	if err != nil {
		t.err = err
	}
	return int(n) + wrote, err
}
