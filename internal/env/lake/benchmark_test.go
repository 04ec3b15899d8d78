package lake

import (
	"fmt"
	"testing"

	"floe/internal/env"
)

func TestBenchmarksHaveThePublishedForm(t *testing.T) {
	for agents, sizes := range map[int]int{2: 8, 3: 8, 4: 7, 5: 6, 1: 0, 6: 0} {
		orders := benchmark(agents, 150, objectiveSum)
		if len(orders) != sizes {
			t.Errorf("%d agents: %d sizes; want %d", agents, len(orders), sizes)
		}
		for _, o := range orders {
			if err := checkOrder(o); err != nil {
				t.Errorf("%d agents: %v", agents, err)
			}
			waits := 0
			for i, q := range quotas(o) {
				if q.count != 10 || knob(q.row, knobHoles) != benchmarkHoles[i%5] {
					t.Errorf("%d agents, %s: row %d has %d instances with hole ratio %v; want 10 with %v", agents, q.row.Size, i, q.count, knob(q.row, knobHoles), benchmarkHoles[i%5])
				}
				waits += q.want[classWait]
				if want := []int{13, 38, 76}[i/5]; i%5 == 4 && waits != want { // 12.5, 25 and 37.5, halves up
					t.Errorf("%d agents, %s: %d instances that need a wait after %d rows; want %d", agents, q.row.Size, waits, i+1, want)
				}
			}
		}
	}
}

func TestBenchmarkCountsComeOutWhateverIsAsked(t *testing.T) {
	for total := 1; total <= 40; total++ {
		for _, o := range benchmark(3, total, objectiveSum)[:2] {
			sum, perRatio := 0, map[float64]int{}
			for _, q := range quotas(o) {
				sum += q.count
				perRatio[knob(q.row, knobHoles)] += q.count
			}
			if sum != total {
				t.Errorf("%d instances ordered, %d asked", sum, total)
			}
			for _, ratio := range benchmarkHoles {
				if n := perRatio[ratio]; n < total/5 || n > total/5+1 {
					t.Errorf("of %d, %d have hole ratio %v; want %d or one more", total, n, ratio, total/5)
				}
			}
		}
	}
}

func TestBenchmarkInstancesAreDistinctAndNumberedAsPublished(t *testing.T) {
	const perSize = 30
	for _, o := range benchmark(3, perSize, objectiveSum)[:3] {
		tasks, c := generated(t, o)
		if len(tasks) != perSize || len(distinct(tasks)) != perSize || c.Repeats != 0 {
			t.Errorf("%s: %d tasks, %d different, %d repeats; want %d and none", tasks[0].Size, len(tasks), len(distinct(tasks)), c.Repeats, perSize)
		}
		ids := map[string]bool{}
		for _, task := range tasks {
			ids[task.ID] = true
			in := instanceIn(t, task)
			proveTask(t, task, in)
			if puzzleOf(in).digest().split() != env.SplitBenchmark {
				t.Errorf("%s belongs to another split", task.ID)
			}
		}
		for _, ratio := range benchmarkHoles {
			for i := range perSize / len(benchmarkHoles) {
				if id := fmt.Sprintf("3ag_%s_hr%v_%03d", tasks[0].Size, ratio, i); !ids[id] {
					t.Errorf("no task %s", id)
				}
			}
		}
	}
}

func TestABenchmarkTakesTheLargestHoleRatioThatFits(t *testing.T) {
	o := benchmark(3, 15, objectiveSum)[0]
	_, c := generated(t, o)
	last := c.Rows[len(c.Rows)-1]
	if got := last.Knobs[0]; got.Requested != 0.5 || got.Realised != 3.0/9 {
		t.Errorf("half of 3x3 as holes is realised as %+v; want 3 of 9, which leave 6 cells for 3 agents", got)
	}
}

func TestTheObjectiveChangesNoInstanceOfABenchmark(t *testing.T) {
	sum, _ := generated(t, benchmark(3, 10, objectiveSum)[1])
	quick, _ := generated(t, benchmark(3, 10, objectiveMakespan)[1])
	for i := range sum {
		if string(sum[i].Instance) != string(quick[i].Instance) || sum[i].ID != quick[i].ID || sum[i].Optimum < quick[i].Optimum {
			t.Errorf("%s: optimum %d, for the makespan %s with %d", sum[i].ID, sum[i].Optimum, quick[i].ID, quick[i].Optimum)
		}
	}
}
