package config_test

import (
	"os"
	"strings"
	"testing"

	"floe/internal/config"
	"floe/internal/env/all"
	"floe/internal/experiment"
)

func example(t *testing.T, name string) experiment.Spec {
	t.Helper()
	file := "../../examples/" + name + ".yaml"
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := config.Load(file, src, nil, all.Open)
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

func TestThePaperElsewhereDiffersInItsJobOnly(t *testing.T) {
	box := example(t, "paper")
	for _, backend := range []string{"slurm", "ray", "kubernetes"} {
		other := example(t, "paper-"+backend)
		diff := config.Diff(box, other)
		for _, line := range diff {
			if !strings.HasPrefix(line, "job.") && !strings.HasPrefix(line, "name: ") {
				t.Errorf("paper-%s: %s; want the job section to be all that differs", backend, line)
			}
		}
		if other.Job.Backend != backend || len(diff) < 3 {
			t.Errorf("paper-%s: back end %s, %q; want its own back end and settings", backend, other.Job.Backend, diff)
		}
	}
}

func TestThePaperIsThePapers(t *testing.T) {
	s := example(t, "paper")
	got := []any{s.Rounds, s.Samples, s.Epochs, s.Agents, s.Trainer.Kind, s.Trainer.Model.URI, s.Designer.Kind, s.Designer.Context, s.Designer.Details, s.Benchmarks.Instances, len(s.Benchmarks.Agents)}
	want := []any{3, 4000, 2, 2, "trl", "Qwen/Qwen3-4B", "trained", "V6", "bookkeeping", 150, 3}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%v; want %v", got, want)
			break
		}
	}
}
