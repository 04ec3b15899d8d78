package envtest

import (
	"encoding/json"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"floe/internal/env"
	"floe/internal/experiment"
)

func deterministic(t *testing.T, e env.Environment) {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	var sets [2][]env.Task
	for i := range sets {
		runtime.GOMAXPROCS(i + 1)
		sets[i] = generate(t, e, order(e, env.SplitTrain, "determinism"))
	}
	if !reflect.DeepEqual(sets[0], sets[1]) {
		t.Error("one order gave two datasets")
	}
}

func seeded(t *testing.T, e env.Environment) {
	a := generate(t, e, order(e, env.SplitTrain, "a"))
	b := generate(t, e, order(e, env.SplitTrain, "b"))
	if reflect.DeepEqual(instances(a), instances(b)) {
		t.Error("two seeds gave the same instances")
	}
}

func instances(tasks []env.Task) map[string]int {
	counts := map[string]int{}
	for _, task := range tasks {
		counts[string(task.Instance)]++
	}
	return counts
}

func ordered(t *testing.T, e env.Environment) {
	o := order(e, env.SplitTrain, "count")
	done, total := 0, 0
	tasks, c, err := env.Tasks(t.Context(), e, o, func(d, of int) {
		if d < done {
			t.Errorf("progress went from %d back to %d", done, d)
		}
		done, total = d, of
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(tasks) != o.Samples || done != o.Samples || total != o.Samples {
		t.Errorf("%d tasks, progress %d of %d; want %d", len(tasks), done, total, o.Samples)
	}
	if got := len(instances(tasks)); got != o.Samples-c.Repeats {
		t.Errorf("%d different instances with %d repeats; want %d", got, c.Repeats, o.Samples-c.Repeats)
	}
	conforms(t, e, o, c)
	ids := map[string]bool{}
	for _, task := range tasks {
		if ids[task.ID] || !strings.HasPrefix(task.ID, o.IDPrefix) {
			t.Errorf("task ID %q comes twice or lacks its prefix %q", task.ID, o.IDPrefix)
		}
		ids[task.ID] = true
		if !slices.Contains(e.Groups(), task.Group) || task.Objective != o.Objective || task.Prompt == "" {
			t.Errorf("task %s: group %q, objective %q, prompt %.20q", task.ID, task.Group, task.Objective, task.Prompt)
		}
	}
}

// conforms checks the report about a dataset against its order.
func conforms(t *testing.T, e env.Environment, o env.Order, c experiment.Conformance) {
	t.Helper()
	if c.Requested != o.Samples || c.Realised != o.Samples || len(c.Rows) != len(o.Curriculum.Rows) {
		t.Fatalf("conformance %d of %d in %d rows; want %d in %d", c.Realised, c.Requested, len(c.Rows), o.Samples, len(o.Curriculum.Rows))
	}
	for _, row := range c.Rows {
		if row.Realised != samplesPerSize || row.Requested != samplesPerSize {
			t.Errorf("%s: %d of %d samples; want %d", row.Size, row.Realised, row.Requested, samplesPerSize)
		}
		if len(row.Knobs) != len(e.Space().Knobs) {
			t.Errorf("%s: %d knobs; want %d", row.Size, len(row.Knobs), len(e.Space().Knobs))
		}
	}
}

// disjoint draws many instances of the easiest size, where sets would meet first.
func disjoint(t *testing.T, e env.Environment) {
	owner := map[string]string{}
	for _, split := range []string{env.SplitTrain, env.SplitValidation, env.SplitBenchmark} {
		o := order(e, split, "disjoint")
		o.Samples = 300
		o.Curriculum.Rows = o.Curriculum.Rows[:1]
		o.Curriculum.Rows[0].DataRatio = 1
		for instance := range instances(generate(t, e, o)) {
			if other, taken := owner[instance]; taken {
				t.Fatalf("%s and %s share %s", other, split, instance)
			}
			owner[instance] = split
		}
	}
}

func benchmarks(t *testing.T, e env.Environment) {
	const agents, perSize = 3, 6
	orders := e.Benchmark(agents, perSize, "sum_of_costs")
	if len(orders) == 0 {
		t.Fatal("no orders")
	}
	ids, perSizeGot := map[string]bool{}, map[string]int{}
	for _, o := range orders {
		if o.Split != env.SplitBenchmark || o.Agents != agents {
			t.Errorf("order of split %q with %d agents; want %q with %d", o.Split, o.Agents, env.SplitBenchmark, agents)
		}
		for _, task := range generate(t, e, o) {
			if ids[task.ID] {
				t.Errorf("task ID %q comes twice in one benchmark", task.ID)
			}
			ids[task.ID] = true
			perSizeGot[task.Size]++
			open(t, e, task)
		}
	}
	for size, n := range perSizeGot {
		if n != perSize {
			t.Errorf("%s has %d instances; want %d", size, n, perSize)
		}
	}
}

func opens(t *testing.T, e env.Environment, tasks []env.Task) {
	for _, task := range tasks {
		body, err := json.Marshal(task)
		if err != nil {
			t.Fatal(err)
		}
		var stored env.Task
		if err := json.Unmarshal(body, &stored); err != nil {
			t.Fatal(err)
		}
		if got := open(t, e, stored).Task(); !reflect.DeepEqual(got, task) {
			t.Errorf("stored and opened: %+v; want %+v", got, task)
		}
	}
	broken := tasks[0]
	broken.Instance = json.RawMessage(`{"no": "instance"}`)
	if _, err := e.Open(broken); err == nil || !strings.Contains(err.Error(), broken.ID) {
		t.Errorf("opened a broken task: %v; want an error that names it", err)
	}
}
