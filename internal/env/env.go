// Package env is what floe asks of an environment: a family of tasks with a
// generator, an optimal solver and a referee.
//
// A task is a value that goes into a dataset; a Problem is a task opened for
// work: prompted, answered, judged. Environments are pure: the same order gives
// the same bytes on any machine, for any number of workers. Package envtest
// holds the laws every environment obeys, package all the one list of them.
package env

import (
	"context"
	"encoding/json"

	"floe/internal/experiment"
)

// Environment generates tasks and opens them. Implementations are stateless and
// safe for concurrent use.
type Environment interface {
	// Name is the word used in experiment files.
	Name() string
	// Version changes whenever the same order or the same answer would give
	// another result than before; it is part of every step's key.
	Version() string
	// Space is what a curriculum for this environment may say.
	Space() Space
	// Checks are the referee's checks in order; Verdict.Failed uses their names.
	Checks() []Check
	// Groups are the classes that a scorecard tells apart inside a size, in order.
	Groups() []string
	// Validate says everything that makes an order impossible, or nil.
	Validate(Order) error
	// Generate draws the tasks of an order and gives them to take one by one, in
	// their order and from one goroutine. It keeps none of them: what it holds is
	// little more than what tells instances apart. An error of take ends it and
	// comes back. It reports progress often, from one goroutine at a time, and stops
	// early when ctx ends. All but ctx must be set.
	Generate(ctx context.Context, o Order, take func(Task) error, progress func(done, total int)) (experiment.Conformance, error)
	// Benchmark is the order list of the held-out set with this many agents, to be
	// generated one by one and joined; sizes that cannot hold the agents are left out.
	Benchmark(agents, instancesPerSize int, objective string) []Order
	// Open decodes a task. It fails on tasks that this version cannot read.
	Open(Task) (Problem, error)
}

// Space is the legal space of curricula: sizes, and knobs with their ranges.
type Space struct {
	Sizes []string `json:"sizes"` // easy to hard
	Knobs []Knob   `json:"knobs"`
}

// Knob is one setting of the generator. Easy and Hard are values that classical
// curricula move between; Default is used for validation sets.
type Knob struct {
	Name    string  `json:"name"`
	Doc     string  `json:"doc"`
	Min     float64 `json:"min"`
	Max     float64 `json:"max"`
	Default float64 `json:"default"`
	Easy    float64 `json:"easy"`
	Hard    float64 `json:"hard"`
	// Tests names the rate that this knob mainly strains, "valid" or "optimal":
	// a rule turns the knob up once that rate is good.
	Tests string `json:"tests"`
}

// Check is one thing the referee looks for.
type Check struct {
	Name string `json:"name"` // "vertex_collision"
	Doc  string `json:"doc"`
}

// Splits keep sets apart: an instance belongs to exactly one split, by its own
// content, so that no set can leak into another.
const (
	SplitTrain      = "train"
	SplitValidation = "validation"
	SplitBenchmark  = "benchmark"
)

// Order is a request for tasks. Seed is a name (see experiment.Seed); two orders
// with the same fields give the same tasks.
type Order struct {
	Split      string                `json:"split"`
	Seed       string                `json:"seed"`
	IDPrefix   string                `json:"id_prefix"` // task IDs are IDPrefix, size and a running number
	Agents     int                   `json:"agents"`
	Objective  string                `json:"objective"` // "sum_of_costs" or "makespan"
	Samples    int                   `json:"samples"`
	Curriculum experiment.Curriculum `json:"curriculum"`
}

// Task is one row of a dataset.
type Task struct {
	ID        string          `json:"id"`
	Size      string          `json:"size"`
	Group     string          `json:"group"`
	Objective string          `json:"objective"`
	Optimum   int             `json:"optimum"` // cost of an optimal answer under Objective
	Prompt    string          `json:"prompt"`
	Instance  json.RawMessage `json:"instance"` // the environment's own form
}

// Problem is an opened task.
type Problem interface {
	Task() Task
	// Judge referees an answer text. It never fails: a text that cannot be read
	// is a verdict too.
	Judge(answer string) Verdict
	// Episode starts acting in the task step by step, as a small policy does.
	Episode() Episode
	// Demonstration is the action sequence of one optimal answer, in the order in
	// which Episode asks for decisions.
	Demonstration() ([]int, error)
}

// Episode is a task being acted in. The observation is a set of active binary
// features, as indices below Playable.Features.
type Episode interface {
	// Observe appends the active features of the next decision to dst.
	Observe(dst []int32) []int32
	// Act takes an action below Playable.Actions for the next decision.
	Act(action int)
	// Done says that no decision is left.
	Done() bool
	// Answer renders what was done as the answer text that a language model
	// would give.
	Answer() string
}

// Playable is an environment that a small policy can act in.
type Playable interface {
	Environment
	// Features is the number of binary features, Actions the number of actions.
	Features() int
	Actions() int
}

// Verdict is what the referee found.
type Verdict struct {
	Valid     bool     `json:"valid"`   // all checks passed
	Optimal   bool     `json:"optimal"` // valid, at the optimal cost
	Truncated bool     `json:"truncated"`
	Failed    []string `json:"failed,omitempty"` // names of failed checks, in order
	Faults    []string `json:"faults,omitempty"` // one sentence per fault, for people
	Cost      int      `json:"cost"`             // under the task's objective; 0 unless valid
	Optimum   int      `json:"optimum"`
	Tokens    int      `json:"tokens"` // length of the answer, estimated unless the caller knows it
}
