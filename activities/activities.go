// Package activities does the work of an experiment. Each activity is thin:
// decode, find the step done or call one domain function, commit, answer with a
// reference.
package activities

import (
	"context"
	"fmt"
	"time"

	"floe/internal/artifact"
	"floe/internal/designer"
	"floe/internal/env"
	"floe/internal/experiment"
	"floe/internal/job"
	"floe/internal/serve/pool"
)

// Activities holds what the worker wires in.
type Activities struct {
	Steps artifact.Steps
	// Environment opens an environment by name.
	Environment func(name string) (env.Environment, error)
	// Designer makes the designer that a spec asks for.
	Designer func(experiment.DesignerSpec) (designer.Designer, error)
	// Jobs opens the back end that an experiment trains its language model with.
	Jobs func(experiment.Spec) (job.Backend, error)
	// Models makes language models answer, and Asker makes a designer of one that does.
	Models Models
	Asker  func(*pool.Use) (designer.Designer, error)
	// Folder is the worker's own, on a local disk: job directories and checkpoints
	// that are served. Host is the machine whose processes it can watch.
	Folder, Host string
	// Device names the trainings that hold this worker's device, if it has one that
	// is for one thing at a time; nil otherwise.
	Device func(context.Context) ([]string, error)
	// JobPoll is the time between two looks at a job; 0: 5 seconds.
	JobPoll time.Duration
	// Tell passes progress on to an experiment's workflow.
	Tell func(ctx context.Context, workflow string, p Progress) error
	// Build is the part of the provenance that is the same for all runs.
	Build experiment.Provenance
}

// playable opens the environment of a spec for a policy to act in.
func (a *Activities) playable(spec experiment.Spec) (env.Playable, error) {
	e, err := a.Environment(spec.Environment)
	if err != nil {
		return nil, badInput(err)
	}
	p, ok := e.(env.Playable)
	if !ok {
		return nil, badInput(fmt.Errorf("environment %s cannot be acted in step by step; the embedded trainer needs one that can", e.Name()))
	}
	return p, nil
}
