package slurm

import (
	"context"
	"strings"

	"floe/internal/job"
	"floe/internal/job/cli"
)

// call runs a command of Slurm and returns what it printed.
func (b *Backend) call(ctx context.Context, input, name string, args ...string) (string, error) {
	env := environ()
	if name != "sbatch" { // whose job inherits it
		env = append(env, "SLURM_TIME_FORMAT=%s")
	}
	return cli.Call{Name: name, Argv: append([]string{name}, args...), Env: env, Input: input, Within: b.settings.Timeout}.Output(ctx)
}

// environ is the worker's environment, without what says that the worker itself
// runs in a job of Slurm: sbatch would take it for options.
func environ() []string {
	var env []string
	for _, pair := range job.Inherited() {
		name, _, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(name, "SLURM_") && name != "SLURM_CONF" && name != "SLURM_CLUSTERS" {
			continue
		}
		env = append(env, pair)
	}
	return env
}
