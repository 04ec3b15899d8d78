// Package all is the one list of back ends: from the job section of an experiment
// file to a back end, and to what a request takes from it.
package all

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"floe/internal/experiment"
	"floe/internal/job"
	"floe/internal/job/backend/command"
	"floe/internal/job/backend/kubernetes"
	"floe/internal/job/backend/process"
	"floe/internal/job/backend/ray"
	"floe/internal/job/backend/slurm"
)

// opening makes a back end of a job section. The folder is the worker's own.
type opening func(j experiment.JobSpec, trainer, folder string) (job.Backend, error)

// backends by their names in an experiment file.
var backends = map[string]opening{
	"process":    openProcess,
	"slurm":      openSlurm,
	"ray":        openRay,
	"kubernetes": openKubernetes,
	"command":    openCommand,
}

// Open makes the back end that a job section asks for. The trainer's kind is
// that of the experiment (trl or verl); the folder is the worker's own, where
// back ends of one machine keep their records. Errors name the setting at fault.
// Whether the back end can be used is another question, which its Check answers.
func Open(j experiment.JobSpec, trainerKind, folder string) (job.Backend, error) {
	open, ok := backends[j.Backend]
	if !ok {
		return nil, fmt.Errorf("job.backend: found %q; want process, slurm, ray, kubernetes or command", j.Backend)
	}
	return open(j, trainerKind, folder)
}

// ProcessRoot is where the process back end of a worker keeps its records.
func ProcessRoot(folder string) string { return filepath.Join(folder, "process") }

func openProcess(_ experiment.JobSpec, _, folder string) (job.Backend, error) {
	if folder == "" {
		return nil, errors.New("job.backend: found process, and the worker has no folder for its records; want one (--folder)")
	}
	return named(process.New(process.Settings{Root: ProcessRoot(folder)}))("job.backend")
}

// records are where a back end keeps what all workers of it must see.
func records(j experiment.JobSpec, folder string) (string, error) {
	root := cmp.Or(j.Folder, folder)
	if root == "" {
		return "", errors.New("job.folder: found nothing; want a folder that all workers of the back end see, for its records")
	}
	return filepath.Join(root, "records"), nil
}

func openSlurm(j experiment.JobSpec, _, folder string) (job.Backend, error) {
	root, err := records(j, folder)
	if err != nil {
		return nil, err
	}
	s := slurm.Settings{Root: root}
	if own := j.Slurm; own != nil {
		s.Partition, s.Account, s.QOS, s.Options, s.Setup = own.Partition, own.Account, own.QOS, own.Options, own.Setup
	}
	return named(slurm.New(s))("job.folder") // what a folder may be called is all that is checked there
}

// envRayToken is the variable that Ray's own tools take the token from.
const envRayToken = "RAY_AUTH_TOKEN" //nolint:gosec // the name, not the token

func openRay(j experiment.JobSpec, trainer, _ string) (job.Backend, error) {
	if j.Ray == nil {
		return nil, errors.New("job.ray: found nothing; want the cluster's address, such as {address: http://head:8265}")
	}
	s := ray.Settings{
		Address: j.Ray.Address, Token: os.Getenv(envRayToken), EntrypointGPUs: j.Ray.EntrypointGPUs, WorkingDir: j.Ray.WorkingDir,
	}
	if s.EntrypointGPUs == nil && trainer == experiment.TrainerVerl {
		s.EntrypointGPUs = new(int) // its workers reserve the GPUs; reserved twice, it waits forever
	}
	var err error
	if s.Resources, err = amounts(j.Ray.Resources); err != nil {
		return nil, err
	}
	return named(ray.New(s))("job.ray")
}

func amounts(pairs []string) (map[string]float64, error) {
	all := map[string]float64{}
	var errs []error
	for i, text := range pairs {
		name, value, ok := strings.Cut(text, "=")
		n, err := strconv.ParseFloat(value, 64)
		_, again := all[name]
		if !ok || name == "" || err != nil || !(n > 0) || math.IsInf(n, 0) || again {
			errs = append(errs, fmt.Errorf("job.ray.resources[%d]: found %q; want NAME=number, such as H100=1, each name once", i, text))
			continue
		}
		all[name] = n
	}
	return all, errors.Join(errs...)
}

func openCommand(j experiment.JobSpec, _, folder string) (job.Backend, error) {
	c := j.Commands
	if c == nil {
		return nil, errors.New("job.commands: found nothing; want submit, status, stop and states (docs/backends.md)")
	}
	root, err := records(j, folder)
	states, wrong := meanings(c.States)
	if err := errors.Join(err, wrong); err != nil {
		return nil, err
	}
	return named(command.New(command.Settings{
		Root: root, Submit: c.Submit, Status: c.Status, Logs: c.Logs, Stop: c.Stop, Ask: c.Ask, Find: c.Find,
		StateForm: c.StateForm, States: states, GoneExit: c.GoneExit, Timeout: time.Duration(c.Timeout) * time.Second,
	}))("job.commands")
}

// meanings reads what states mean; case does not count in them.
func meanings(pairs []string) (map[string]job.State, error) {
	all := map[string]job.State{}
	var errs []error
	for i, text := range pairs {
		at := strings.LastIndexByte(text, '=') // a state may hold one
		if at <= 0 {
			errs = append(errs, fmt.Errorf("job.commands.states[%d]: found %q; want STATE=meaning, such as QUEUED=pending", i, text))
			continue
		}
		state := strings.ToLower(text[:at])
		if _, again := all[state]; again {
			errs = append(errs, fmt.Errorf("job.commands.states[%d]: found %q a second time; want each state once, whatever its case", i, text[:at]))
		}
		all[state] = job.State(text[at+1:])
	}
	return all, errors.Join(errs...)
}

func openKubernetes(j experiment.JobSpec, _, _ string) (job.Backend, error) {
	var own experiment.KubernetesSpec
	if j.Kubernetes != nil {
		own = *j.Kubernetes
	}
	pod, err := template(own)
	if err != nil {
		return nil, err
	}
	return named(kubernetes.New(kubernetes.Settings{
		Context: own.Context, Namespace: own.Namespace, Template: pod, Queue: own.Queue, Priority: own.Priority, GPUResource: own.GPUResource,
	}))("job.kubernetes")
}

// named names the setting that a back end could not be made with. A nil of its
// type would not be a nil Backend.
func named[B job.Backend](b B, err error) func(setting string) (job.Backend, error) {
	return func(setting string) (job.Backend, error) {
		if err != nil {
			return nil, fmt.Errorf("%s: %w", setting, err)
		}
		return b, nil
	}
}
