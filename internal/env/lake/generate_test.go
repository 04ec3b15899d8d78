package lake

import (
	"encoding/json"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"floe/internal/env"
	"floe/internal/experiment"
)

// row is a row of a curriculum.
func row(n int, share, holes, waits float64) experiment.Row {
	return experiment.Row{Size: sizeName(n), DataRatio: share, Knobs: []experiment.Knob{{Name: knobHoles, Value: holes}, {Name: knobWaits, Value: waits}}}
}

// trainOrder asks for two agents on maps of some rows.
func trainOrder(samples int, rows ...experiment.Row) env.Order {
	return env.Order{
		Split: env.SplitTrain, Seed: "test", IDPrefix: "exp-r0-", Agents: 2, Objective: objectiveSum,
		Samples: samples, Curriculum: experiment.Curriculum{Rows: rows},
	}
}

func generated(t testing.TB, o env.Order) ([]env.Task, experiment.Conformance) {
	t.Helper()
	tasks, c, err := env.Tasks(t.Context(), Lake{}, o, func(int, int) {})
	if err != nil {
		t.Fatal(err)
	}
	return tasks, c
}

func instanceIn(t testing.TB, task env.Task) Instance {
	t.Helper()
	in, err := decodeInstance(task.Instance)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// distinct counts tasks by instance.
func distinct(tasks []env.Task) map[string]int {
	counts := map[string]int{}
	for _, task := range tasks {
		counts[string(task.Instance)]++
	}
	return counts
}

func TestADatasetIsExactlyWhatWasOrdered(t *testing.T) {
	for _, objective := range []string{objectiveSum, objectiveMakespan} {
		o := trainOrder(100, row(4, 0.3, 0.2, 0.5), row(7, 0.3, 0.25, 0.05), row(10, 0.4, 0.29, 0.275))
		o.Objective = objective
		tasks, c := generated(t, o)
		holes := map[string]int{"4x4": 3, "7x7": 12, "10x10": 29}
		waits := map[string]int{"4x4": 15, "7x7": 2, "10x10": 11} // of 30, 30 and 40: 15, 1.5 and 11
		count := map[string]int{}
		for _, task := range tasks {
			in := instanceIn(t, task)
			proveTask(t, task, in)
			if in.Holes() != holes[task.Size] {
				t.Errorf("%s has %d holes; want %d", task.ID, in.Holes(), holes[task.Size])
			}
			count[task.Size]++
			if task.Group == groupWait {
				waits[task.Size]--
			}
		}
		if want := map[string]int{"4x4": 30, "7x7": 30, "10x10": 40}; !reflect.DeepEqual(count, want) {
			t.Errorf("%v tasks; want %v", count, want)
		}
		for size, missing := range waits {
			if missing != 0 {
				t.Errorf("%s: %d instances that need a wait are missing", size, missing)
			}
		}
		if got := c.Rows[1]; c.Repeats != 0 || got.Knobs[0] != (experiment.Realised{Name: knobHoles, Requested: 0.25, Realised: 12.0 / 49}) ||
			got.Knobs[1] != (experiment.Realised{Name: knobWaits, Requested: 0.05, Realised: 2.0 / 30}) {
			t.Errorf("%d repeats, row %+v; want none, and what was drawn beside what was ordered", c.Repeats, got)
		}
	}
}

// proveTask checks a task against a new solver.
func proveTask(t *testing.T, task env.Task, in Instance) {
	t.Helper()
	cells := append(slices.Clone(in.Starts), in.Goals...)
	for i, c := range cells {
		if slices.Contains(cells[:i], c) {
			t.Errorf("%s: %v is a start or goal twice", task.ID, c)
		}
	}
	s := solved(t, NewSolver(), in, task.Objective)
	optimum := map[string]int{objectiveSum: s.SumOfCosts, objectiveMakespan: s.Makespan}[task.Objective]
	if !s.Solvable || s.NeedsWait != (task.Group == groupWait) || optimum != task.Optimum {
		t.Errorf("%s says group %s, optimum %d; the solver says %+v", task.ID, task.Group, task.Optimum, s)
	}
	if task.Size != in.SizeName() || task.Prompt != renderPrompt(in) {
		t.Errorf("%s is no task of its instance", task.ID)
	}
}

func TestTheNumberOfProcessorsChangesNothing(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	var first []env.Task
	for _, processors := range []int{1, 2, 5} {
		runtime.GOMAXPROCS(processors)
		tasks, _ := generated(t, trainOrder(60, row(3, 0.5, 0, 0.5), row(6, 0.5, 0.3, 0.5)))
		if first == nil {
			first = tasks
		}
		if !reflect.DeepEqual(tasks, first) {
			t.Errorf("%d processors draw other tasks than one", processors)
		}
	}
}

func TestRowsDoNotInfluenceEachOther(t *testing.T) {
	alone, _ := generated(t, trainOrder(30, row(5, 1, 0.2, 0.4)))
	both, _ := generated(t, trainOrder(60, row(5, 0.5, 0.2, 0.4), row(6, 0.5, 0.2, 0.4)))
	both = slices.DeleteFunc(both, func(task env.Task) bool { return task.Size != "5x5" })
	if !reflect.DeepEqual(distinct(alone), distinct(both)) {
		t.Error("5x5 instances change with those of 6x6")
	}
}

func TestIDsNumberTheTasksOfASize(t *testing.T) {
	tasks, _ := generated(t, trainOrder(24, row(3, 0.5, 0.2, 0.5), row(4, 0.5, 0.2, 0.5)))
	ids := map[string]bool{}
	for _, task := range tasks {
		ids[task.ID] = true
	}
	for _, size := range []string{"3x3", "4x4"} {
		for i := range 12 {
			if id := fmt.Sprintf("exp-r0-%s-%04d", size, i); !ids[id] {
				t.Errorf("no task %s", id)
			}
		}
	}
	if slices.IsSortedFunc(tasks, func(a, b env.Task) int { return strings.Compare(a.Size, b.Size) }) {
		t.Error("training tasks come size by size; want them mixed")
	}
}

// all3x3 counts the instances of two agents on 3x3 maps without holes that need
// a wait, by split.
func all3x3(t *testing.T) map[string]int {
	counts := map[string]int{}
	solver := NewSolver()
	cells := []Cell{{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}, {2, 0}, {2, 1}, {2, 2}}
	for i, a := range cells {
		for _, b := range cells[:i] { // agents have no names
			for _, c := range cells {
				for _, d := range cells {
					in := Instance{N: 3, Grid: []string{"FFF", "FFF", "FFF"}, Starts: []Cell{a, b}, Goals: []Cell{c, d}}
					if c == d || c == a || c == b || d == a || d == b || !solved(t, solver, in, objectiveSum).NeedsWait {
						continue
					}
					counts[puzzleOf(in).digest().split()]++
				}
			}
		}
	}
	return counts
}

func TestSmallClassesAreUsedUpAndThenRepeatEvenly(t *testing.T) {
	for split, want := range all3x3(t) {
		o := trainOrder(100, row(3, 1, 0, 1))
		if o.Split = split; split == env.SplitBenchmark {
			continue // there the other class stands in
		}
		tasks, c := generated(t, o)
		counts := distinct(tasks)
		if len(counts) != want || c.Repeats != 100-want {
			t.Errorf("%s: %d different instances and %d repeats; want %d and %d", split, len(counts), c.Repeats, want, 100-want)
		}
		for instance, n := range counts {
			if n < 100/want || n > 100/want+1 {
				t.Errorf("%s: %s comes %d times; want %d or one more", split, instance, n, 100/want)
			}
		}
	}
}

func TestInBenchmarksTheOtherClassStandsIn(t *testing.T) {
	o := trainOrder(60, row(3, 1, 0, 1))
	o.Split = env.SplitBenchmark
	tasks, c := generated(t, o)
	want := all3x3(t)[env.SplitBenchmark]
	waits := 0
	for _, task := range tasks {
		if task.Group == groupWait {
			waits++
		}
	}
	if waits != want || c.Repeats != 0 || c.Rows[0].Knobs[1].Realised != float64(want)/60 {
		t.Errorf("%d of %d need a wait, conformance %+v; want all %d there are, and no repeats", waits, len(tasks), c, want)
	}
}

func TestAClassWithoutInstancesIsAnErrorThatNamesTheNearest(t *testing.T) {
	q := quotas(trainOrder(10, row(3, 1, 0.2, 1)))[0]
	for seen, want := range map[[2]int]string{
		{7, 0}: "size 3x3, 2 agents, train, hole_ratio = 0.2 (1 holes), wait_ratio = 1: found none that needs a wait; want wait_ratio = 0, or another hole_ratio",
		{0, 0}: "want a smaller hole_ratio",
	} {
		f := filling{quota: q, seen: seen}
		if err := f.missing(trainOrder(10)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("seen %v: %v; want %q", seen, err, want)
		}
	}
}

func TestSplitsGoByContentWhateverTheAgentsAreCalled(t *testing.T) {
	sample(5, func(in Instance) {
		renamed := mapped(in, func(c Cell) Cell { return c })
		slices.Reverse(renamed.Starts)
		slices.Reverse(renamed.Goals)
		if puzzleOf(in).digest() != puzzleOf(renamed).digest() {
			t.Errorf("%+v: another digest with renamed agents", in)
		}
		if got := puzzleOf(in).instance(); !reflect.DeepEqual(got, in) {
			t.Errorf("%+v came back as %+v", in, got)
		}
	})
}

func TestNumbersGiveEveryInstanceOnce(t *testing.T) {
	for _, kind := range [][3]int{{3, 4, 2}, {3, 1, 2}, {3, 3, 3}} {
		o := trainOrder(1)
		o.Agents = kind[2]
		s := newSource(o, quota{n: kind[0], holes: kind[1]})
		seen := map[digest]bool{}
		for chunk := 0; !s.ends(chunk); chunk++ {
			s.chunk(chunk, func(p *puzzle) {
				if err := p.instance().check(); err != nil || p.instance().Holes() != kind[1] {
					t.Fatalf("%+v: %v, %d holes", p.instance(), err, p.instance().Holes())
				}
				seen[p.digest()] = true
			})
		}
		if want := int(s.instances()); len(seen) != want {
			t.Errorf("%v: %d different instances; want %d", kind, len(seen), want)
		}
	}
}

func TestHolesAndWaitsAreCountedOnTheDecimalsThatWereWritten(t *testing.T) {
	for _, c := range []struct {
		ratio float64
		n     int
		want  int
	}{{0.29, 10, 29}, {0.1, 3, 0}, {0.1, 10, 10}, {0.5, 3, 4}, {0.57, 10, 57}, {0, 5, 0}, {1e-300, 10, 0}} {
		if got := holeCount(c.ratio, c.n); got != c.want {
			t.Errorf("holeCount(%v, %d) = %d; want %d", c.ratio, c.n, got, c.want)
		}
	}
	for _, c := range []struct {
		ratio float64
		count int
		want  int
	}{{0.25, 50, 13}, {0.05, 30, 2}, {0.29, 50, 15}, {1, 7, 7}, {0, 7, 0}, {1.0 / 3, 3, 1}, {2.0 / 3, 3, 2}} {
		if got := waitCount(c.ratio, c.count); got != c.want {
			t.Errorf("waitCount(%v, %d) = %d; want %d", c.ratio, c.count, got, c.want)
		}
	}
}

func TestAllFaultsOfAnOrderAreNamed(t *testing.T) {
	bad := trainOrder(-1, row(4, 0.5, 0.6, 0.2), row(4, 0.2, 0.2, 0.2), experiment.Row{Size: "11x11", DataRatio: 2})
	bad.Split, bad.Agents, bad.Objective = "test", 6, "time"
	small := trainOrder(1, row(3, 1, 0.5, 0.5))
	small.Agents = 3
	tiny := trainOrder(1, row(3, 1, 0, 0.5))
	tiny.Agents = 5
	for name, c := range map[string]struct {
		order env.Order
		want  []string
	}{
		"everything": {bad, []string{
			`split "test"`, "6 agents; want 2 to 5", `objective "time"`, "-1 samples", "size 4x4 comes twice", "size 4x4: hole_ratio = 0.6; want 0 to 0.5",
			"size 11x11: no such size; want 3x3 to 10x10", "size 11x11: data_ratio = 2; want 0 to 1", "size 11x11: no wait_ratio; want 0 to 1", "sums to 2.7",
		}},
		"no room":        {small, []string{"size 3x3: hole_ratio = 0.5 leaves 5 cells, 3 agents need 6 for starts and goals; want at most 0.44"}},
		"never any room": {tiny, []string{"size 3x3: 5 agents need 10 cells for starts and goals, the map has 9"}},
	} {
		err := checkOrder(c.order)
		if err == nil {
			t.Fatalf("%s: accepted", name)
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v; want %q", name, err, want)
			}
		}
	}
	small.Curriculum.Rows[0].Knobs[0].Value = 0.44
	if err := checkOrder(small); err != nil {
		t.Errorf("what was recommended is refused: %v", err)
	}
}

func TestConformanceCountsTheOptima(t *testing.T) {
	tasks, c := generated(t, trainOrder(50, row(4, 1, 0.2, 0.5)))
	want := map[int]int{}
	for _, task := range tasks {
		want[task.Optimum]++
	}
	got, last := map[int]int{}, 0
	for _, o := range c.Rows[0].Optima {
		if o.Cost <= last {
			t.Errorf("optima %v do not ascend", c.Rows[0].Optima)
		}
		got[o.Cost], last = o.Count, o.Cost
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("optima %v; want %v", got, want)
	}
}

func TestTasksAreTheSameBytesEveryTime(t *testing.T) {
	o := trainOrder(40, row(3, 0.5, 0.2, 0.5), row(8, 0.5, 0.2, 0.5))
	a, _ := generated(t, o)
	b, _ := generated(t, o)
	first, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := json.Marshal(b); err != nil || string(first) != string(second) {
		t.Errorf("two datasets of one order differ: %v", err)
	}
}

func BenchmarkGeneratePaperRound(b *testing.B) { // 4000 samples over all sizes
	var rows []experiment.Row
	for n := MinSize; n <= MaxSize; n++ {
		rows = append(rows, row(n, 0.125, 0.25, 0.5))
	}
	for b.Loop() {
		generated(b, trainOrder(4000, rows...))
	}
}
