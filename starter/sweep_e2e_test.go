package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.temporal.io/api/workflowservice/v1"

	"floe/internal/config"
	"floe/internal/connect"
	"floe/internal/experiment"
	"floe/workflows"
)

// smallSweep is a sweep of seconds: two rules and the baseline, two seeds.
const smallSweep = `
name: tiny
base:
  rounds: 2
  samples: 300
  epochs: 2
  validation: {sizes: [3x3, 4x4], instances: 20}
  trainer: {save_every: 2, warm_start: 60, warm_epochs: 2}
  benchmarks: {agents: [3], instances: 3}
seeds: [1, 2]
arms:
  fixed: {designer.kind: fixed}
  rule: {designer.kind: learnability}
baseline: fixed
limits: {parallel: 2}
`

// sweepOf asks how a sweep stands; empty while nobody can say.
func (m *machine) sweepOf(name string) sweepView {
	m.t.Helper()
	var v sweepView
	out, _, code := m.starter("sweep", "show", name, "-o", "json")
	if code == exitOK {
		if err := json.Unmarshal([]byte(out), &v); err != nil {
			m.t.Fatal(err)
		}
	}
	return v
}

// started counts how often experiments were started.
func (m *machine) started() int {
	m.t.Helper()
	to, err := connect.Resolve(connect.Flags{Data: m.data})
	if err != nil {
		m.t.Fatal(err)
	}
	c, err := to.Dial(m.t.Context(), nil)
	if err != nil {
		m.t.Fatal(err)
	}
	defer c.Close()
	out, err := c.CountWorkflow(m.t.Context(), &workflowservice.CountWorkflowExecutionsRequest{Query: "WorkflowType = 'Experiment'"})
	if err != nil {
		m.t.Fatal(err)
	}
	return int(out.Count)
}

func TestASweepFromTheCommandLine(t *testing.T) { //nolint:tparallel // its parts go one after the other on one machine
	t.Parallel()
	m := boot(t)
	file := specFile(t, smallSweep)
	out := m.must("sweep", "start", file)
	if !strings.HasPrefix(out, "tiny: done: 4 cells = 4 done + 0 running + 0 waiting + 0 failed") {
		t.Errorf("start printed:\n%s", out)
	}
	if *record {
		m.record(workflows.SweepID("tiny"), "sweep-done.json")
	}
	t.Run("the same file is the same sweep", func(t *testing.T) {
		if _, errOut, code := m.starter("sweep", "start", file); code != exitOK || !strings.Contains(errOut, "done already") {
			t.Errorf("exit code %d, %s", code, errOut)
		}
	})
	t.Run("a file that changes a cell is refused with the difference", func(t *testing.T) {
		changed := specFile(t, strings.Replace(smallSweep, "samples: 300", "samples: 301", 1))
		_, errOut, code := m.starter("sweep", "start", changed)
		if code != exitUsage || !strings.Contains(errOut, "tiny-fixed-s1: samples: 300 -> 301") {
			t.Errorf("exit code %d, %s", code, errOut)
		}
	})
	t.Run("an extended file runs only what is new", func(t *testing.T) {
		before := m.started()
		out := m.must("sweep", "start", specFile(t, strings.Replace(smallSweep, "seeds: [1, 2]", "seeds: [1, 2, 3]", 1)))
		if !strings.HasPrefix(out, "tiny: done: 6 cells = 6 done") || m.started() != before+2 {
			t.Errorf("%d experiments were started for two new cells:\n%s", m.started()-before, out)
		}
	})
	t.Run("cells that the file has no more are shown as such", func(t *testing.T) {
		before := m.started()
		short := specFile(t, strings.Replace(smallSweep, "seeds: [1, 2]", "seeds: [1]", 1))
		out, said, code := m.starter("sweep", "start", short)
		if code != exitOK || !strings.HasPrefix(out, "tiny: done: 2 cells = 2 done") || !strings.Contains(said, "4 no longer in the file") || m.started() != before {
			t.Errorf("exit code %d, %d experiments were started\n%s%s", code, m.started()-before, said, out)
		}
		v := m.sweepOf("tiny")
		if len(v.Cells) != 2 || len(v.LeftOut) != 4 || v.LeftOut[0].Name != "tiny-fixed-s2" || v.LeftOut[0].State != "done" || v.LeftOut[0].Valid == nil {
			t.Errorf("%d cells, left out %+v", len(v.Cells), v.LeftOut)
		}
		if shown := m.must("sweep", "show", "tiny"); !strings.Contains(shown, "  tiny-rule-s3 done, valid ") {
			t.Errorf("show printed\n%s", shown)
		}
		out = m.must("sweep", "start", specFile(t, strings.Replace(smallSweep, "seeds: [1, 2]", "seeds: [1, 2, 3]", 1)))
		if v := m.sweepOf("tiny"); !strings.HasPrefix(out, "tiny: done: 6 cells = 6 done") || m.started() != before || len(v.LeftOut) != 0 {
			t.Errorf("%d experiments were started for cells that are back, left out %+v:\n%s", m.started()-before, v.LeftOut, out)
		}
	})
	t.Run("a retry with nothing to retry says so and fails", func(t *testing.T) {
		if _, errOut, code := m.starter("sweep", "retry", "tiny", "--failed"); code != exitFailed || !strings.Contains(errOut, "ended") {
			t.Errorf("exit code %d, %s", code, errOut)
		}
	})
	t.Run("arms are compared", func(t *testing.T) { armsCompared(t, m) })
	t.Run("an experiment that ran alone is adopted", func(t *testing.T) {
		before := m.started()
		one := specFile(t, strings.NewReplacer("name: tiny", "name: twin", "seeds: [1, 2]", "seeds: [1]").Replace(smallSweep))
		s, err := loadSweep(one)
		if err != nil {
			t.Fatal(err)
		}
		m.must("run", specFile(t, effective(t, s.SpecOf(experiment.SweepCell{Arm: 1, Seed: 1}))))
		out := m.must("sweep", "start", one)
		if !strings.Contains(out, "2 cells = 2 done") || m.started() != before+2 {
			t.Errorf("%d experiments were started; want the one alone and the other cell:\n%s", m.started()-before, out)
		}
	})
	t.Run("what is not there is exit code 3", func(t *testing.T) {
		for _, verb := range []string{"show", "watch", "compare", "pause", "cancel"} {
			if _, errOut, code := m.starter("sweep", verb, "nobody"); code != exitNotFound {
				t.Errorf("%s: exit code %d, %s", verb, code, errOut)
			}
		}
	})
}

// armsCompared looks at the comparison of the extended sweep.
func armsCompared(t *testing.T, m *machine) {
	file := filepath.Join(t.TempDir(), "c.csv")
	var c comparison
	if err := json.Unmarshal([]byte(m.must("sweep", "compare", "tiny", "--csv", file, "-o", "json")), &c); err != nil {
		t.Fatal(err)
	}
	if len(c.Holes) != 0 || c.Baseline != "fixed" || len(c.Sets) != 3 {
		t.Fatalf("%d holes, baseline %s, %d sets", len(c.Holes), c.Baseline, len(c.Sets))
	}
	for _, set := range c.Sets {
		rule := set.Rows[1]
		if rule.Cells != 3 || rule.N == 0 || rule.Versus == nil || rule.Versus.Pairs.N() != rule.N {
			t.Errorf("%s: %+v; want all answers of three cells paired with the baseline's", set.Set, rule)
		}
		if d := rule.Versus; set.Set == setUntrained && (d.Pairs.First != 0 || d.Pairs.Second != 0) {
			t.Errorf("arms that share their untrained policy differ before training: %+v", d.Pairs)
		}
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // only read
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil || len(lines) != 1+3*2*2 {
		t.Errorf("the CSV has %d lines (%v); want a head and 3 sets x 2 metrics x 2 arms", len(lines), err)
	}
}

// TestEveryCellRunsOnceThroughKills kills worker and stack with -9 while a sweep
// runs. The sum adds up at every look, every cell is started once, and the
// artifacts are those of an undisturbed sweep.
func TestEveryCellRunsOnceThroughKills(t *testing.T) {
	file := specFile(t, smallSweep)
	t.Parallel()
	calm := boot(t)
	calm.must("sweep", "start", file, "--detach")
	m := boot(t, impatient...)
	m.must("sweep", "start", file, "--detach")
	for i, victims := range [][]string{{"worker"}, {"devstack"}, {"worker", "devstack"}} {
		m.until(fmt.Sprintf("cell %d under way", i), func() bool {
			v := m.sweepOf("tiny")
			return v.Tally.Done >= i && v.Tally.Running > 0
		})
		m.kill9(victims...)
	}
	var v sweepView
	m.until("the end of the sweep", func() bool { v = m.sweepOf("tiny"); return v.State == workflows.StateDone })
	if n := v.Tally; n.Wanted != 4 || n.Done != 4 || n.Running+n.Waiting+n.Failed+n.Stopped != 0 {
		t.Errorf("the sum: %+v", n)
	}
	calm.must("sweep", "watch", "tiny")
	for _, c := range v.Cells {
		if c.Tries != 1 {
			t.Errorf("cell %s was started %d times", c.Name, c.Tries)
		}
		if diff := differ(calm.sums(c.Name), m.sums(c.Name)); diff != "" {
			t.Errorf("%s: %s", c.Name, diff)
		}
	}
	if n := m.started(); n != 4 {
		t.Errorf("%d experiments were started; want 4", n)
	}
}

// effective is a spec as a file.
func effective(t *testing.T, spec experiment.Spec) string {
	t.Helper()
	body, err := config.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
