package chaos

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"floe/internal/devtest/skill"
	"floe/internal/experiment"
)

// Events that are about trainings and model servers, which are no children of a
// worker.
const (
	killTrainer    kind = "kill trainer"    // -9
	killSupervisor kind = "kill supervisor" // -9: of a training, which the kernel ends then
	killServer     kind = "kill server"     // -9: of a model
	killGuard      kind = "kill guard"      // -9: of a model server, which the kernel ends then
)

// modelKinds are the events of sweeps whose trainings are jobs. Damage is left to the
// other sweeps: a training that is done again has another checkpoint, and with it
// come other keys.
var modelKinds = slices.Concat(slices.DeleteFunc(slices.Clone(kinds), func(k kind) bool { return k == corrupt }), ofModels)

var ofModels = []kind{killTrainer, killSupervisor, killServer, killGuard}

// fileDiary is where trainers and model servers say what they do.
const fileDiary = "skills"

// TestNothingIsToBeSeenOfChaosWhereTrainingsAreJobs is about language models: trained
// by jobs, served and asked, and designing themselves. Files that say when and where
// are different each time; what was learned, asked and decided is not.
func TestNothingIsToBeSeenOfChaosWhereTrainingsAreJobs(t *testing.T) {
	if os.Getenv("FLOE_CHAOS_OUT") == "" {
		t.Skip("it takes minutes: make chaos")
	}
	perform(t, play{"models", modelKinds, modelSweep, func(name string) bool {
		switch path.Base(name) {
		case "dataset.jsonl.zst", "curriculum.json", "scorecard.json", "adapter_model.safetensors":
			return true
		}
		return false
	}})
}

// modelSweep has trainings of some seconds. In every other lap their files are in the
// store.
func modelSweep(s *site, lap int, _ bool) string {
	s.t.Helper()
	base, program := s.home("base"), filepath.Join(programs, "scripted")
	if err := skill.Skill(0.2).WriteModel(base); err != nil {
		s.t.Fatal(err)
	}
	return fmt.Sprintf(`name: %s
base:
  rounds: 2
  samples: 80
  epochs: 1
  validation: {sizes: [3x3, 4x4], instances: 20}
  trainer: {kind: trl, model: {uri: %q}, rollouts: 4, batch: 4, save_every: 2}
  job: {backend: process, command: [%[3]q, train], gpus: 0, grace_seconds: 20, hang_minutes: 1, files: %[5]s}
  serve: {kind: vllm, program: [%[3]q, serve], idle_minutes: 0}
  ask: {concurrency: 4, max_tokens: 2048}
  benchmarks: {agents: [3], instances: 3}
seeds: [%[4]d]
arms:
  fixed: {designer.kind: fixed}
  trained: {designer.kind: trained}
  base: {designer.kind: base}
baseline: fixed
limits: {parallel: 3}
`, sweepName, base, program, lap+1, []string{experiment.FilesFolder, experiment.FilesStore}[lap%2])
}

// killModel kills a trainer or a model server that is at work, or what is around it.
func (s *storm) killModel(e event) error {
	event := skill.EventStart
	if e.Kind == killServer || e.Kind == killGuard {
		event = skill.EventServe
	}
	var pid int
	within(busyWithin, func() bool { pid = s.atWork(event); return pid != 0 || s.ctx.Err() != nil })
	if pid != 0 && (e.Kind == killSupervisor || e.Kind == killGuard) {
		pid = parentOf(pid)
	}
	if !ours(pid, "") { // its parent has ended before it, or both have
		s.tell(e, nil, "left out: none is at work")
		return nil
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		s.tell(e, nil, "left out: %v", err) // it ended just now
		return nil
	}
	s.happened(e.Kind)
	s.tell(e, []int{pid}, "killed with -9")
	return nil
}

// atWork is a process that the diary of skills tells of, and that runs; 0 if none
// does.
func (s *site) atWork(event string) int {
	for _, e := range slices.Backward(skill.Diary(s.t, s.home(fileDiary))) {
		if e.Event == event && ours(e.PID, "scripted") {
			return e.PID
		}
	}
	return 0
}

// ours says whether a process runs one of the programs that were built for this test:
// numbers of processes are used again.
func ours(pid int, program string) bool {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && strings.HasPrefix(string(line), filepath.Join(programs, program))
}

// parentOf is the parent of a process; 0 if it has ended.
func parentOf(pid int) (parent int) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if _, err := fmt.Sscanf(line, "PPid: %d", &parent); err == nil {
			return parent
		}
	}
	return 0
}
