package slurm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// callError is a command of Slurm that failed.
type callError struct {
	name string
	said string
}

// Error implements error.
func (e *callError) Error() string { return e.name + ": " + e.said }

// call runs a command of Slurm and returns what it printed.
func (b *Backend) call(ctx context.Context, input, name string, args ...string) (string, error) {
	within, cancel := context.WithTimeout(ctx, b.settings.Timeout)
	defer cancel()
	cmd := exec.CommandContext(within, name, args...) //nolint:gosec // a command of Slurm
	cmd.Env = append(environ(), "SLURM_TIME_FORMAT=%s")
	if name == "sbatch" {
		cmd.Env = environ() // the job inherits it
	}
	cmd.Stdin = strings.NewReader(input)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	switch {
	case err == nil:
		return out.String(), nil
	case ctx.Err() != nil:
		return "", ctx.Err()
	case within.Err() != nil:
		return "", fmt.Errorf("%s: no answer within %s", name, b.settings.Timeout)
	}
	if _, ok := errors.AsType[*exec.ExitError](err); ok {
		return "", &callError{name, brief(said.String() + out.String())}
	}
	return "", err
}

// environ is the worker's environment, without what says that the worker itself
// runs in a job of Slurm: sbatch would take it for options.
func environ() []string {
	var env []string
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(name, "SLURM_") && name != "SLURM_CONF" && name != "SLURM_CLUSTERS" {
			continue
		}
		env = append(env, pair)
	}
	return env
}

func brief(text string) string {
	const most = 400
	text = strings.TrimSpace(text)
	if len(text) > most {
		text = text[:most] + "..."
	}
	return text
}
