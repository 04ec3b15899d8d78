package lake

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"floe/internal/env"
)

// hardest are tasks of the largest kind, five agents on 10x10, with their optimal
// answers.
func hardest(t testing.TB, holes float64, count int) (problems []*problem, answers []string) {
	t.Helper()
	o := trainOrder(count, row(10, 1, holes, 0.25))
	o.Agents = 5
	tasks, _ := generated(t, o)
	for _, task := range tasks {
		in := instanceIn(t, task)
		plan, err := NewSolver().Plan(in, objectiveSum)
		if err != nil {
			t.Fatal(err)
		}
		problems, answers = append(problems, opened(t, in, objectiveSum, task.Optimum)), append(answers, renderPlan(plan))
	}
	return problems, answers
}

// refereesAgree holds the fast referee against the one that explains.
func refereesAgree(t *testing.T, p *problem, r reading) {
	t.Helper()
	if r.fault != "" || r.extra > 0 {
		return
	}
	var f findings
	f.inspect(&p.in, r)
	got, ok := p.flawless(new(scratch), r.plan)
	want := 0
	if f.count == [numChecks]int{} {
		want = cost(r.plan, p.in.Goals, p.task.Objective)
	}
	if ok != (f.count == [numChecks]int{}) || got != want {
		t.Errorf("%v in %+v: flawless %t at cost %d; the findings are %v at cost %d", r.plan, p.in, ok, got, f.count, want)
	}
}

func TestTheFastRefereeAgreesWithTheOneThatExplains(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	flawless := 0
	for agents := MinAgents; agents <= MaxAgents; agents++ {
		for _, objective := range []string{objectiveSum, objectiveMakespan} {
			o := trainOrder(40, row(4, 0.5, 0.1, 0.5), row(7, 0.5, 0.3, 0.5))
			o.Agents, o.Objective = agents, objective
			tasks, _ := generated(t, o)
			for _, task := range tasks {
				in := instanceIn(t, task)
				p := opened(t, in, objective, task.Optimum)
				best, err := NewSolver().Plan(in, objective)
				if err != nil {
					t.Fatal(err)
				}
				for range 30 {
					plan := distorted(best, rng)
					refereesAgree(t, p, reading{plan: plan})
					if _, ok := p.flawless(new(scratch), plan); ok {
						flawless++
					}
				}
			}
		}
	}
	if flawless < 500 {
		t.Errorf("%d of the distorted plans are flawless; want enough of both kinds", flawless)
	}
}

// distorted changes a plan a little: waits that put agents into each other's
// ways, steps to a side and back, cells anywhere, paths that end early or are missing.
func distorted(plan Plan, rng *rand.Rand) Plan {
	changed := make(Plan, len(plan))
	for i, path := range plan {
		changed[i] = slices.Clone(path)
	}
	for range rng.IntN(3) {
		i := rng.IntN(len(changed))
		path := changed[i]
		if len(path) == 0 {
			continue
		}
		at := rng.IntN(len(path))
		switch c := path[at]; rng.IntN(8) {
		case 0, 1, 2, 3:
			changed[i] = slices.Insert(path, at, c)
		case 4:
			changed[i] = slices.Insert(path, at+1, c.step(rng.IntN(actions)), c)
		case 5:
			path[at] = Cell{rng.IntN(14) - 2, rng.IntN(14) - 2}
		case 6:
			changed[i] = path[:at]
		case 7:
			changed[i] = append(path, c)
		}
		if len(changed[i]) == 0 {
			changed[i] = nil
		}
	}
	return changed
}

func TestJudgingAGoodAnswerDoesNotAllocate(t *testing.T) {
	if raced {
		t.Skip("pools forget at random under the race detector")
	}
	problems, answers := hardest(t, 0.2, 4)
	for i, p := range problems {
		late := strings.Replace(answers[i], "Agent 0: "+p.in.Starts[0].String(), "Agent 0: "+p.in.Starts[0].String()+" -> "+p.in.Starts[0].String(), 1)
		for what, text := range map[string]string{"optimal": answers[i], "late": late} {
			if what == "late" && !p.Judge(text).Valid {
				continue // the wait is in someone's way
			}
			var v env.Verdict
			if n := testing.AllocsPerRun(100, func() { v = p.Judge(text) }); n >= 1 || !v.Valid {
				t.Errorf("an %s answer: %v allocations, verdict %+v; want none, valid", what, n, v)
			}
		}
	}
}

func TestAnEndlessAnswerLeavesNoMemoryBehind(t *testing.T) {
	p := opened(t, crossing(), objectiveSum, 6)
	s := new(scratch)
	if _, ok := s.canonical("Agent 0: (0, 0)"+strings.Repeat(" -> (0, 0)", 2*largestScratch)+"\n"+line1, 2); !ok {
		t.Fatal("not canonical")
	}
	s.release()
	for range 100 {
		if got, _ := scratches.Get().(*scratch); cap(got.cells) > largestScratch {
			t.Fatalf("kept %d cells; want at most %d", cap(got.cells), largestScratch)
		}
	}
	if v := p.Judge(canonical); !v.Valid {
		t.Errorf("verdict %+v", v)
	}
}

// BenchmarkJudge has the largest answers: five agents on 10x10.
func BenchmarkJudge(b *testing.B) {
	problems, answers := hardest(b, 0.2, 64)
	plans, jumps := make([]Plan, len(answers)), make([]string, len(answers))
	for i, text := range answers {
		plans[i] = parseAnswer(text, &problems[i].in).plan
		jumps[i] = strings.Replace(text, " -> ", " -> (0, 0) -> ", 1)
	}
	b.Run("parsed", func(b *testing.B) {
		s := new(scratch)
		each(b, len(plans), func(i int) {
			if _, ok := problems[i].flawless(s, plans[i]); !ok {
				b.Fatal(answers[i])
			}
		})
	})
	for name, texts := range map[string][]string{"optimal": answers, "tolerant": prefixed("Plan:\n", answers), "invalid": jumps} {
		b.Run(name, func(b *testing.B) {
			each(b, len(texts), func(i int) {
				if v := problems[i].Judge(texts[i]); v.Valid != (name != "invalid") {
					b.Fatal(v, texts[i])
				}
			})
		})
	}
}

// BenchmarkParseAnswer has two long paths.
func BenchmarkParseAnswer(b *testing.B) {
	in, text := long()
	for name, text := range map[string]string{"canonical": text, "tolerant": "Plan:\n" + text} {
		b.Run(name, func(b *testing.B) {
			s := new(scratch)
			each(b, 1, func(int) {
				if r := s.parse(text, &in); r.fault != "" {
					b.Fatal(r.fault)
				}
			})
		})
	}
}

// each goes through cases again and again and reports what they take of the
// processor, which others may use meanwhile.
func each(b *testing.B, cases int, do func(i int)) {
	b.ReportAllocs()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, n := cpuTime(b), 0
	for b.Loop() {
		do(n % cases)
		n++
	}
	b.ReportMetric(float64(cpuTime(b)-before)/float64(n), "cpu-ns/op")
}

func prefixed(prefix string, texts []string) []string {
	all := make([]string, len(texts))
	for i, text := range texts {
		all[i] = prefix + text
	}
	return all
}

// long is an empty 10x10 map with two agents that cross it from corner to
// corner, and the optimal answer.
func long() (Instance, string) {
	line := strings.Repeat("F", 10)
	in := Instance{N: 10, Starts: []Cell{{0, 0}, {9, 9}}, Goals: []Cell{{9, 9}, {0, 0}}}
	for range 10 {
		in.Grid = append(in.Grid, line)
	}
	plan := Plan{{{0, 0}}, {{9, 9}}}
	for i := range 18 {
		a, b := plan[0][i], plan[1][i]
		if i < 9 {
			plan[0], plan[1] = append(plan[0], a.step(actionRight)), append(plan[1], b.step(actionLeft))
		} else {
			plan[0], plan[1] = append(plan[0], a.step(actionDown)), append(plan[1], b.step(actionUp))
		}
	}
	return in, renderPlan(plan)
}
