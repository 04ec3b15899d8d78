package env

// Importer reads tasks that others published as text.
type Importer interface {
	Environment
	// Import makes a task of a published prompt, which is kept word for word. It
	// computes what a text does not say: the size, the group, the optimum under the
	// objective. It fails for a text that cannot be read and for a task without an
	// answer.
	Import(id, text, objective string) (Task, error)
}

// Subdivider knows the parts that its benchmarks are published in.
type Subdivider interface {
	Environment
	// Subsets names the published subset of every task of an order that Benchmark
	// gave, in the order of the tasks.
	Subsets(Order) []string
}
