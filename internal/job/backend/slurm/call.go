package slurm

import (
	"context"
	"errors"
	"slices"
	"strings"

	"floe/internal/job/backend/internal/cli"
	"floe/internal/outage"
)

// call runs a command of Slurm and returns what it printed.
func (b *Backend) call(ctx context.Context, input, name string, args ...string) (string, error) {
	env := environ()
	if name != "sbatch" { // whose job inherits it
		env = append(env, "SLURM_TIME_FORMAT=%s")
	}
	out, err := cli.Call{Name: name, Argv: append([]string{name}, args...), Env: env, Input: input, Within: b.settings.Timeout}.Output(ctx)
	if away(err) {
		err = outage.Of("Slurm", err)
	}
	return out, err
}

// away reports whether a command failed because the controller, its database or the
// authentication daemon did not serve it.
func away(err error) bool {
	if errors.Is(err, cli.ErrNoAnswer) {
		return true
	}
	failed, ok := errors.AsType[*cli.Error](err)
	said := ""
	if ok {
		said = strings.ToLower(failed.Said)
	}
	return slices.ContainsFunc(unreachable, func(words string) bool { return strings.Contains(said, words) })
}

// unreachable is what commands of Slurm say then.
var unreachable = []string{
	"unable to contact slurm controller", "connect failure", "connection refused", "connection timed out", "no route to host",
	"network is unreachable", "transport endpoint is not connected", "socket timed out", "zero bytes were transmitted",
	"backup controller in standby", "could not establish a configuration source", "temporarily unable to accept job",
	"resource temporarily unavailable", "name resolution", "failed to access \"", "munged",
}

// environ is the worker's environment, without what says that the worker itself
// runs in a job of Slurm: sbatch would take it for options.
func environ() []string {
	var env []string
	for _, pair := range cli.Inherited() {
		name, _, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(name, "SLURM_") && name != "SLURM_CONF" && name != "SLURM_CLUSTERS" {
			continue
		}
		env = append(env, pair)
	}
	return env
}
