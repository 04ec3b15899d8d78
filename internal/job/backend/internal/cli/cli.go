// Package cli is how back ends run commands: calls that have their time to answer and
// whose failures say what the command said, words quoted for a shell, and the
// environment that programs inherit.
package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// Call is one call of a command.
type Call struct {
	Name   string // in errors
	Argv   []string
	Env    []string // all of it; nil: that of this process
	Input  string
	Within time.Duration // for an answer
}

// Error is a command that failed.
type Error struct {
	Name string
	Code int
	Said string // the last of what it printed
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%s: exit code %d: %s", e.Name, e.Code, e.Said) }

// ErrNoAnswer is a command that did not end in its time.
var ErrNoAnswer = errors.New("no answer")

const mostOutput = 1 << 20

// Output runs the command and returns what it printed, at most a MiB of it.
func (c Call) Output(ctx context.Context) (string, error) {
	var out bytes.Buffer
	err := c.Run(ctx, &limited{w: &out, left: mostOutput})
	if failed, ok := errors.AsType[*Error](err); ok && failed.Said == "" {
		failed.Said = Brief(out.String()) // some complain there
	}
	return out.String(), err
}

// Run runs the command and writes what it prints.
func (c Call) Run(ctx context.Context, w io.Writer) error {
	within, cancel := context.WithTimeout(ctx, c.Within)
	defer cancel()
	var said bytes.Buffer
	cmd := exec.CommandContext(within, c.Argv[0], c.Argv[1:]...) //nolint:gosec // it is what the user wants to run
	cmd.Env = c.Env
	if c.Input != "" {
		cmd.Stdin = strings.NewReader(c.Input)
	}
	cmd.Stdout, cmd.Stderr = w, &limited{w: &said, left: mostOutput}
	cmd.WaitDelay = 10 * time.Second // what it leaves behind must not hold us by its output
	err := cmd.Run()
	switch {
	case err == nil || errors.Is(err, exec.ErrWaitDelay):
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case within.Err() != nil:
		return fmt.Errorf("%s: %w within %s", c.Name, ErrNoAnswer, c.Within)
	}
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return &Error{c.Name, failed.ExitCode(), Brief(said.String())}
	}
	return fmt.Errorf("%s: %w", c.Name, err)
}

// Brief is the end of a text, which says most of what went wrong.
func Brief(text string) string {
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
