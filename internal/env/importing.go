package env

import "context"

// Importing is an environment that reads tasks which others published as text.
type Importing interface {
	Environment
	// Import makes a task of a published row. Its text is kept word for word as the
	// prompt; what it does not say is computed: the size, the group, the optimum
	// under the objective. It fails for a text that cannot be read or has another
	// number of agents than its row says, and for a task without an answer, and when
	// the context ends.
	Import(ctx context.Context, row Published, objective string) (Task, error)
}

// Published is a row of a published benchmark.
type Published struct {
	ID     string
	Agents int
	Text   string
}

// Subdividing is an environment that knows the parts its benchmarks are
// published in.
type Subdividing interface {
	Environment
	// Subsets names the published subset of every task of an order that Benchmark
	// gave, in the order of the tasks.
	Subsets(Order) []string
}
