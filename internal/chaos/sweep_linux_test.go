package chaos

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	sweepName     = "chaos"
	lapWithin     = 20 * time.Minute
	retriesMost   = 12 // of one cell: what does not heal by then never does
	done          = "done"
	needsDecision = "needs attention"
)

// sweepText is the sweep of a lap: the same arms with other seeds each time. Much
// of the work is shared. Checkpoints are frequent, so that a kill finds one, and
// trainings take some seconds, so that it finds a training.
func sweepText(lap int, long bool) string {
	samples, epochs, seeds := 300, 10, fmt.Sprint(lap+1)
	if long {
		samples, epochs, seeds = 400, 8, fmt.Sprintf("%d, %d", 2*lap+1, 2*lap+2)
	}
	return fmt.Sprintf(`name: %s
base:
  rounds: 2
  samples: %d
  epochs: %d
  validation: {sizes: [3x3, 4x4], instances: 20}
  trainer: {save_every: 2, warm_start: 60, warm_epochs: 2}
  benchmarks: {agents: [3], instances: 3}
seeds: [%s]
arms:
  fixed: {designer.kind: fixed}
  rule: {designer.kind: learnability}
  random: {designer.kind: random}
baseline: fixed
limits: {parallel: 3}
`, sweepName, samples, epochs, seeds)
}

// view is what `starter sweep show` says.
type view struct {
	State string
	Tally struct{ Wanted, Done, Running, Waiting, Failed, Stopped int }
	Cells []struct {
		Name, State, Cause string
		Tries              int
	}
}

// begin starts a sweep.
func (s *site) begin(text string) {
	s.t.Helper()
	file := filepath.Join(filepath.Dir(s.data), "sweep.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.until("the sweep to be started", func() bool { _, _, code := s.starter("sweep", "start", file, "--detach"); return code == 0 })
}

// followed watches the sweep until it is done. Whenever it can be asked, its sum
// must add up. What waits for a decision is retried, as a person would.
func (s *site) followed(d *diary) view {
	s.t.Helper()
	tried := map[string]int{}
	for began := time.Now(); time.Since(began) < lapWithin && !s.t.Failed(); <-time.After(time.Second) {
		var v view
		if !s.ask(&v, "sweep", "show", sweepName) {
			continue
		}
		n := v.Tally
		if n.Wanted != len(v.Cells) || n.Wanted != n.Done+n.Running+n.Waiting+n.Failed || n.Stopped != 0 {
			s.t.Errorf("the sum does not add up: %+v of %d cells", n, len(v.Cells))
		}
		if v.State == done {
			return v
		}
		for _, c := range v.Cells {
			switch c.State {
			case needsDecision:
				d.aside("%s needs attention: %s", c.Name, c.Cause)
				if tried[c.Name]++; tried[c.Name] > retriesMost {
					s.t.Errorf("%s does not heal: %s", c.Name, c.Cause)
				}
				s.retry(d, c.Name)
			case "failed":
				s.t.Errorf("cell %s ended without a result: %s", c.Name, c.Cause)
			}
		}
	}
	if !s.t.Failed() {
		s.t.Errorf("the sweep is not done after %s", lapWithin)
	}
	s.tellLogs()
	s.t.FailNow()
	return view{}
}

// retry has an experiment go on, from the first round that lost a step to damage
// if there is one.
func (s *site) retry(d *diary, name string) {
	s.t.Helper()
	args := []string{"retry", name}
	var found damagedSteps
	if !s.ask(&found, "artifacts", "verify", name) {
		return // the servers are away; it waits for the next look
	}
	for _, f := range found.Faults {
		if round, ok := roundOf(f.Path); ok && (len(args) == 2 || round < args[3]) {
			args = append(args[:2], "--round", round)
		}
	}
	_, said, code := s.starter(args...)
	if code == 0 {
		d.count("retries by hand", 1)
	}
	d.aside("starter %s: exit code %d: %s", strings.Join(args, " "), code, strings.TrimSpace(said))
}

// mendAll has steps done again that were set aside and that nobody has needed
// since.
func (s *site) mendAll(d *diary) {
	s.t.Helper()
	for range 10 {
		var found damagedSteps
		if !s.ask(&found, "artifacts", "verify") {
			s.t.Fatal("starter artifacts verify does not answer, and nothing disturbs it any more")
		}
		if len(found.Faults) == 0 {
			return
		}
		f := found.Faults[0]
		d.aside("%s of %s is to be done again: %s", f.Path, f.Experiment, f.Fault)
		s.retry(d, f.Experiment)
		s.until(f.Experiment+" to be done again", func() bool { _, _, code := s.starter("watch", f.Experiment); return code == 0 })
	}
	s.t.Error("steps are still missing after ten retries")
}

// tellLogs shows how the logs of the programs end.
func (s *site) tellLogs() {
	s.t.Helper()
	const kept = 6 << 10
	files, _ := filepath.Glob(filepath.Join(s.logs, "*.log")) // the pattern is well-formed
	for _, file := range files {
		if body, err := os.ReadFile(file); err == nil {
			s.t.Logf("%s ends:\n%s", filepath.Base(file), body[max(0, len(body)-kept):])
		}
	}
}
