package lake

import "fmt"

// provePlan checks a solution's plan step by step, on its own terms: it shares
// no code with the solver or the referee.
func provePlan(in Instance, s Solution, objective string) error {
	if !s.Solvable {
		if s.Plan != nil {
			return fmt.Errorf("a plan for an unsolvable instance")
		}
		return nil
	}
	end, sum := 0, 0
	for i, path := range s.Plan {
		if len(path) == 0 || path[0] != in.Starts[i] || path[len(path)-1] != in.Goals[i] {
			return fmt.Errorf("agent %d: path %v; want one from %v to %v", i, path, in.Starts[i], in.Goals[i])
		}
		if len(path) > 1 && path[len(path)-2] == in.Goals[i] {
			return fmt.Errorf("agent %d: path %v goes on after the arrival", i, path)
		}
		end, sum = max(end, len(path)-1), sum+len(path)-1
	}
	if want := s.SumOfCosts; objective == objectiveSum && sum != want {
		return fmt.Errorf("plan costs %d; claimed are %d", sum, want)
	}
	if want := s.Makespan; objective == objectiveMakespan && end != want {
		return fmt.Errorf("plan takes %d steps; claimed are %d", end, want)
	}
	for t := range end + 1 {
		if err := proveMoment(in, s.Plan, t); err != nil {
			return fmt.Errorf("time %d: %w", t, err)
		}
	}
	return nil
}

func proveMoment(in Instance, plan Plan, t int) error {
	where := func(i, t int) Cell { return plan[i][min(max(t, 0), len(plan[i])-1)] }
	for i := range plan {
		p, was := where(i, t), where(i, t-1)
		if p[0] < 0 || p[1] < 0 || p[0] >= in.N || p[1] >= in.N || in.Grid[p[0]][p[1]] != 'F' {
			return fmt.Errorf("agent %d is on %v, which is no frozen cell", i, p)
		}
		if dr, dc := p[0]-was[0], p[1]-was[1]; dr*dr+dc*dc > 1 {
			return fmt.Errorf("agent %d jumps from %v to %v", i, was, p)
		}
		for k := range i {
			if p == where(k, t) || p == where(k, t-1) && was == where(k, t) {
				return fmt.Errorf("agents %d and %d collide on %v", k, i, p)
			}
		}
	}
	return nil
}
