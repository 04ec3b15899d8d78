package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"floe/internal/env"
	"floe/internal/experiment"
	planning "floe/internal/plan"
)

// trainings is what experiments that train language models still have to do: each
// different training and evaluation once, however many experiments want it.
type trainings struct {
	Places   []site `json:"places"`
	Rollouts int64  `json:"rollouts"` // answers to be sampled in training
	Asked    int64  `json:"asked"`    // answers to be asked of served models, outside training
	// GPUHours are by job.hours; null unless all trainings to do have it.
	GPUHours *float64 `json:"gpu_hours"`
	Saved    saved    `json:"saved"`
}

// site is a way to run trainings, and how many run so.
type site struct {
	way
	Jobs     int      `json:"jobs"`
	GPUHours *float64 `json:"gpu_hours"` // of all of them; null without job_hours
}

type way struct {
	Recipe   string  `json:"recipe"`
	Backend  string  `json:"backend"`
	GPUs     int     `json:"gpus"`      // of one training
	JobHours float64 `json:"job_hours"` // expected of one training, job.hours; 0: not said
}

// saved is what need not be done because another experiment of these does it, or
// because it is done.
type saved struct {
	Jobs     int      `json:"jobs"`
	Rollouts int64    `json:"rollouts"`
	Asked    int64    `json:"asked"`
	GPUHours *float64 `json:"gpu_hours"` // null unless all of these trainings have job.hours
}

// tally adds experiments up, in the order in which they are planned.
type tally struct {
	seen         map[experiment.StepID]bool
	held         map[[2]int]int64 // tasks of held-out sets, by agents and instances
	t            trainings
	known, saves bool // whether job.hours is known of all that is to do, that is saved
}

func newTally() *tally {
	return &tally{seen: map[experiment.StepID]bool{}, held: map[[2]int]int64{}, known: true, saves: true}
}

// add counts the steps of one experiment.
func (y *tally) add(spec experiment.Spec, e env.Environment, steps []planning.Step) {
	if !spec.Trainer.TrainsModel() || spec.Job == nil {
		return
	}
	for _, s := range steps {
		free := s.Done || y.seen[s.ID]
		y.seen[s.ID] = true
		switch s.ID.Kind {
		case planning.KindTrain:
			y.train(spec, free)
		case planning.KindEvaluate:
			n := y.tasks(spec, e, s.Path)
			if free {
				y.t.Saved.Asked += n
			} else {
				y.t.Asked += n
			}
		}
	}
}

func (y *tally) train(spec experiment.Spec, free bool) {
	rollouts := int64(optimizerSteps(spec)) * int64(spec.Trainer.Batch) * int64(spec.Trainer.Rollouts)
	w := wayOf(spec)
	if free {
		y.t.Saved.Jobs++
		y.t.Saved.Rollouts += rollouts
		y.saves = add(&y.t.Saved.GPUHours, w) && y.saves
		return
	}
	y.t.Rollouts += rollouts
	y.known = add(&y.t.GPUHours, w) && y.known
	p := y.siteOf(w)
	p.Jobs++
	if !add(&p.GPUHours, w) {
		p.GPUHours = nil
	}
}

// add adds one training's GPU-hours, and says whether they are known.
func add(sum **float64, w way) bool {
	if w.JobHours == 0 && w.GPUs > 0 {
		return false
	}
	if *sum == nil {
		*sum = new(float64)
	}
	**sum += w.JobHours * float64(w.GPUs)
	return true
}

func (y *tally) siteOf(w way) *site {
	for i := range y.t.Places {
		if y.t.Places[i].way == w {
			return &y.t.Places[i]
		}
	}
	y.t.Places = append(y.t.Places, site{way: w})
	return &y.t.Places[len(y.t.Places)-1]
}

// tasks is how many an evaluation asks.
func (y *tally) tasks(spec experiment.Spec, e env.Environment, path string) int64 {
	text, held := strings.CutPrefix(path, "benchmark-")
	if !held {
		return int64(spec.Validation.Instances) * int64(len(spec.Validation.Sizes))
	}
	text, _, _ = strings.Cut(text, "/")
	agents, _ := strconv.Atoi(text) // 0 for what is no number: such a set has no tasks
	key := [2]int{agents, spec.Benchmarks.Instances}
	if _, ok := y.held[key]; !ok {
		for _, o := range e.Benchmark(agents, spec.Benchmarks.Instances, spec.Objective) {
			y.held[key] += int64(o.Samples)
		}
	}
	return y.held[key]
}

// sum is what was added; nil where no language model is trained.
func (y *tally) sum() *trainings {
	if len(y.t.Places) == 0 && y.t.Saved.Jobs == 0 {
		return nil
	}
	if !y.known {
		y.t.GPUHours = nil
	} else if y.t.GPUHours == nil {
		y.t.GPUHours = new(float64) // nothing is to do
	}
	if !y.saves {
		y.t.Saved.GPUHours = nil
	} else if y.t.Saved.GPUHours == nil {
		y.t.Saved.GPUHours = new(float64)
	}
	return &y.t
}

func wayOf(spec experiment.Spec) way {
	w := way{Recipe: spec.Trainer.Kind, Backend: spec.Job.Backend, GPUs: spec.Job.GPUs, JobHours: spec.Job.Hours}
	if v := spec.Trainer.Recipe.Verl; v != nil {
		w.GPUs = v.Nodes * v.GPUsPerNode
	}
	return w
}

// optimizerSteps is how many optimizer steps one round's training has. The last is filled
// up, so that each has all its tasks.
func optimizerSteps(spec experiment.Spec) int {
	return (spec.Epochs*spec.Samples + spec.Trainer.Batch - 1) / spec.Trainer.Batch
}

// lines says it to people.
func (t *trainings) lines(w io.Writer) error {
	jobs := 0
	var where []string
	for _, p := range t.Places {
		jobs += p.Jobs
		where = append(where, fmt.Sprintf("%d %s", p.Jobs, p))
	}
	said := ""
	if jobs > 0 {
		said = ": " + strings.Join(where, "; ")
	}
	_, err := fmt.Fprintf(w, "%d trainings to do%s; %d answers to sample in them, %d to ask of what they leave\n%s\n",
		jobs, said, t.Rollouts, t.Asked, t.hours())
	return err
}

// String says where trainings run: "by slurm, 1 GPU each".
func (p site) String() string {
	unit := "GPUs"
	if p.GPUs == 1 {
		unit = "GPU"
	}
	return fmt.Sprintf("by %s, %d %s each", p.Backend, p.GPUs, unit)
}

func (t *trainings) hours() string {
	saved := fmt.Sprintf("%d trainings, %d sampled and %d asked answers saved", t.Saved.Jobs, t.Saved.Rollouts, t.Saved.Asked)
	if t.GPUHours == nil {
		return "GPU-hours: not known, job.hours (what one training takes) would tell; " + saved
	}
	if t.Saved.GPUHours == nil {
		return fmt.Sprintf("GPU-hours: %.4g by job.hours; %s", *t.GPUHours, saved)
	}
	return fmt.Sprintf("GPU-hours: %.4g by job.hours, %.4g saved; %s", *t.GPUHours, *t.Saved.GPUHours, saved)
}
