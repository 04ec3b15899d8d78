package lake

import (
	"slices"
	"testing"

	"floe/internal/env"
	"floe/internal/experiment"
)

const (
	up, down, left, right, wait = actionUp, actionDown, actionLeft, actionRight, actionWait
)

func played(p env.Problem, acts ...int) env.Episode {
	e := p.Episode()
	for _, a := range acts {
		e.Act(a)
	}
	return e
}

func TestEpisodeEndsAtTheFirstViolationAndShowsIt(t *testing.T) {
	corridor := Instance{
		N: 3, Grid: []string{"FFF", "HHH", "FFF"},
		Starts: []Cell{{0, 0}, {0, 1}}, Goals: []Cell{{0, 1}, {0, 0}},
	}
	for name, c := range map[string]struct {
		in     Instance
		acts   []int
		answer string
		failed []string
	}{
		"off the map": {crossing(), []int{up}, "Agent 0: (0, 0) -> (-1, 0)\nAgent 1: (2, 0)\n", []string{"reaches_goal", "in_bounds"}},
		"a hole": {
			crossing(),
			[]int{down, wait, right},
			"Agent 0: (0, 0) -> (1, 0) -> (1, 1)\nAgent 1: (2, 0) -> (2, 0)\n",
			[]string{"reaches_goal", "no_hole"},
		},
		"one cell":                 {crossing(), []int{down, up}, "Agent 0: (0, 0) -> (1, 0)\nAgent 1: (2, 0) -> (1, 0)\n", []string{"no_collision", "reaches_goal"}},
		"a swap":                   {corridor, []int{right, left}, "Agent 0: (0, 0) -> (0, 1)\nAgent 1: (0, 1) -> (0, 0)\n", []string{"no_collision"}},
		"into one that then stays": {corridor, []int{right, wait}, "Agent 0: (0, 0) -> (0, 1)\nAgent 1: (0, 1) -> (0, 1)\n", []string{"no_collision", "reaches_goal"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := opened(t, c.in, objectiveMakespan, 4)
			e := played(p, c.acts...)
			if !e.Done() || e.Answer() != c.answer {
				t.Errorf("done = %v, answer %q; want %q", e.Done(), e.Answer(), c.answer)
			}
			if v := p.Judge(e.Answer()); !slices.Equal(v.Failed, c.failed) {
				t.Errorf("failed %q; want %q", v.Failed, c.failed)
			}
		})
	}
}

func TestFollowingIsNoViolation(t *testing.T) {
	in := crossing()
	in.Starts = []Cell{{0, 0}, {0, 1}}
	if e := played(opened(t, in, objectiveMakespan, 4), right, right); e.Done() {
		t.Errorf("agent 0 may enter the cell that agent 1 leaves: %q", e.Answer())
	}
}

func TestEpisodeEndsWhenAllAreHomeAfterAFullStep(t *testing.T) {
	p := opened(t, crossing(), objectiveSum, 6)
	e := played(p, right, up, right, up, down, wait, down)
	if e.Done() {
		t.Fatal("done in the middle of a step")
	}
	e.Act(wait)
	want := renderPlan(best)
	if !e.Done() || e.Answer() != want {
		t.Errorf("done = %v, answer %q; want %q, without the waits at home", e.Done(), e.Answer(), want)
	}
}

func TestAgentsMayLeaveHome(t *testing.T) {
	p := opened(t, crossing(), objectiveSum, 6)
	e := played(p, right, up, right, up, down, right, down, left)
	if v := p.Judge(e.Answer()); !e.Done() || !v.Valid || v.Cost != 8 {
		t.Errorf("verdict %+v of %q; want cost 8", v, e.Answer())
	}
}

func TestEpisodeThatStartsAtHomeIsDone(t *testing.T) {
	in := crossing()
	in.Goals = in.Starts
	e := opened(t, in, objectiveSum, 0).Episode()
	if want := "Agent 0: (0, 0)\nAgent 1: (2, 0)\n"; !e.Done() || e.Answer() != want {
		t.Errorf("done = %v, answer %q; want %q", e.Done(), e.Answer(), want)
	}
}

func TestEpisodeEndsWhenItsStepsAreUsedUp(t *testing.T) {
	for _, c := range []struct {
		objective      string
		optimum, steps int
	}{
		{objectiveSum, 6, 14}, // 4n+2
		{objectiveMakespan, 4, 14},
		{objectiveSum, 100, 98}, // one agent may need all the detours
		{objectiveMakespan, 100, 100},
	} {
		e := opened(t, crossing(), c.objective, c.optimum).Episode()
		acts := 0
		for ; !e.Done(); acts++ {
			e.Act(wait)
		}
		if acts != 2*c.steps {
			t.Errorf("%s, optimum %d: over after %d acts; want %d", c.objective, c.optimum, acts, 2*c.steps)
		}
	}
}

func TestObservationSaysWhereThingsAre(t *testing.T) {
	p := opened(t, crossing(), objectiveSum, 6)
	e := played(p, right) // agent 1 decides, at (2, 0); agent 0 went from (0, 0) to (0, 1)
	got := e.Observe(nil)
	want := []int32{
		atBias, atSize, atAgents,
		atHoles + (4-1)*9 + 4 + 1,                                                    // (1, 1) from (2, 0)
		atWalls + 2, atWalls + MaxSize, atWalls + 2*MaxSize, atWalls + 3*MaxSize + 2, // up, down, left, right
		atGoal + (9-2)*19 + 9, atGoalRow + 7, atGoalCol + 9, // two up
		atHeading + ((3-2)*7+3+1)*9 + (1+1)*3 + 2, // agent 0 at (0, 1) wants down and right
		atBefore + (3-2)*7 + 3, atAfter + (3-2)*7 + 3 + 1,
		atGoals + 3*7 + 3 + 2, // (2, 2)
		atVisits + wait*2,     // the start, once
	}
	if !slices.Equal(got, want) {
		t.Errorf("observed %v; want %v", got, want)
	}
	e.Act(wait)
	after := e.Observe(nil) // agent 0 decides, at (0, 1); agent 1 at (2, 0) has not decided
	for _, f := range []int32{atUndecided + (3+2)*7 + 3 - 1, atLast + right, atVisits + left*2, atVisits + wait*2} {
		if !slices.Contains(after, f) {
			t.Errorf("observed %v; want %d in it", after, f)
		}
	}
	e.Act(wait)
	e.Act(wait)
	if f := int32(atVisits + wait*2 + 1); !slices.Contains(e.Observe(nil), f) {
		t.Error("a cell visited twice looks as if visited once")
	}
}

// With many agents near each other two headings can fall together: one agent
// has moved onto a cell that another has not left yet.
func TestFeaturesAreASet(t *testing.T) {
	rng := experiment.Rand("features are a set")
	for range 300 {
		in := draw(rng)
		_, longest := ways(in)
		e := opened(t, in, objectiveMakespan, longest).Episode()
		for !e.Done() {
			seen := e.Observe(nil)
			slices.Sort(seen)
			if len(slices.Compact(slices.Clone(seen))) != len(seen) || seen[len(seen)-1] >= features {
				t.Fatalf("observed %v", seen)
			}
			e.Act(rng.IntN(actions))
		}
	}
}

func TestActingAllocatesNothing(t *testing.T) {
	in, _ := long()
	e := opened(t, in, objectiveSum, 36).Episode()
	buf := make([]int32, 0, 128)
	if n := testing.AllocsPerRun(10, func() {
		buf = e.Observe(buf[:0])
		e.Act(wait)
	}); n > 0 {
		t.Errorf("%v allocations a decision; want none", n)
	}
}

func BenchmarkEpisode(b *testing.B) {
	rng := experiment.Rand("benchmark episode")
	var problems []*problem
	for len(problems) < 64 {
		in := draw(rng)
		_, longest := ways(in)
		problems = append(problems, opened(b, in, objectiveMakespan, longest))
	}
	buf := make([]int32, 0, 128)
	decisions, active := 0, 0
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		e := problems[i%64].Episode()
		for step := 0; !e.Done(); step++ {
			buf = e.Observe(buf[:0])
			active += len(buf)
			decisions++
			e.Act((i + step) % actions)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(decisions), "ns/decision")
	b.ReportMetric(float64(active)/float64(decisions), "features/decision")
}

func TestDemonstrationsOfWrongTasksFail(t *testing.T) {
	blocked := Instance{
		N: 3, Grid: []string{"FFF", "HHH", "FFF"},
		Starts: []Cell{{0, 0}, {0, 1}}, Goals: []Cell{{0, 1}, {0, 0}},
	}
	for name, p := range map[string]*problem{
		"no solution":     opened(t, blocked, objectiveSum, 2),
		"another optimum": opened(t, crossing(), objectiveSum, 7),
	} {
		if acts, err := p.Demonstration(); err == nil {
			t.Errorf("%s: demonstrated %v", name, acts)
		}
	}
}
