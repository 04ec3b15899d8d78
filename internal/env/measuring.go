package env

import "context"

// Measuring is an environment that can say more about a set of tasks than their
// optima: figures of each task, and whether a set is what chance would have drawn.
type Measuring interface {
	Environment
	// Measures are the figures of a task, in the order of Measure.
	Measures() []Measure
	// Measure gives a task's figures. It fails on tasks that cannot be read.
	Measure(Task) ([]float64, error)
	// NewDriftCheck starts a drift check of a set.
	NewDriftCheck() DriftCheck
}

// DriftCheck compares the tasks of a set with tasks of the same kinds that were
// drawn one by one as they came, with no count to reach. It is for one goroutine.
type DriftCheck interface {
	// Add adds a task of the set, which is not kept. It fails on tasks that cannot
	// be read.
	Add(Task) error
	// Compare compares what was added. What it returns depends on the tasks and
	// their order alone. It reports progress from one goroutine at a time.
	Compare(ctx context.Context, progress func(done, total int)) ([]Drift, error)
}

// Measure is one figure of a task.
type Measure struct {
	Name string `json:"name"`
	Doc  string `json:"doc"`
	// Nature says why the figure may differ between the groups though nothing went
	// wrong; "" if it may not.
	Nature string `json:"nature,omitempty"`
}

// Verdicts of a drift check.
const (
	DriftNone    = "as by nature"
	DriftFound   = "drifted"
	DriftUnknown = "too few to tell"
)

// Drift compares the mean of one figure over a size and group with what is
// expected of it.
type Drift struct {
	Size     string  `json:"size"`
	Group    string  `json:"group"`
	Measure  string  `json:"measure"`
	N        int     `json:"n"`        // tasks of the set
	Mean     float64 `json:"mean"`     // over them
	Expected float64 `json:"expected"` // over tasks drawn as they came; 0 where they were too few
	Error    float64 `json:"error"`    // standard error of the difference
	Drawn    int     `json:"drawn"`    // tasks that Expected rests on
	Verdict  string  `json:"verdict"`
}
