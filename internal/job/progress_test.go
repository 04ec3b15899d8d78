package job_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"floe/internal/experiment"
	"floe/internal/job"
)

func metricsOf(files map[string]string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys["metrics/"+name] = &fstest.MapFile{Data: []byte(text)}
	}
	return fsys
}

func line(step, attempt int, reward string) string {
	return fmt.Sprintf(`{"step":%d,"time":"2026-11-29T20:15:04Z","attempt":%d,"data":{"reward":%s}}`+"\n", step, attempt, reward)
}

func TestAStepIsToldByItsHighestAttemptAndLastLine(t *testing.T) {
	m, err := job.ReadMetrics(metricsOf(map[string]string{
		"a1.jsonl":  line(1, 1, "0.1") + line(2, 1, "0.2") + line(3, 1, "0.3"),
		"a2.jsonl":  line(2, 2, "0.5") + line(3, 2, "0.6") + line(3, 2, "0.7"),
		"a10.jsonl": line(3, 10, "null") + line(4, 10, "0.9"),
	}))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range m {
		reward := "null"
		if r := l.Data["reward"]; r != nil {
			reward = fmt.Sprint(*r)
		}
		got = append(got, fmt.Sprintf("%d/a%d=%s", l.Step, l.Attempt, reward))
	}
	if want := "1/a1=0.1 2/a2=0.5 3/a10=null 4/a10=0.9"; strings.Join(got, " ") != want {
		t.Errorf("got %s; want %s", got, want)
	}
}

func TestATornLastLineIsPassedOver(t *testing.T) {
	m, err := job.ReadMetrics(metricsOf(map[string]string{"a1.jsonl": line(1, 1, "0.1") + line(2, 1, "0.2")[:50]}))
	if err != nil || len(m) != 1 {
		t.Errorf("got %d steps, %v; want the whole one", len(m), err)
	}
}

func TestMetricsThatAreNoNumbersAreRefused(t *testing.T) {
	for _, c := range []struct{ file, text, want string }{
		{"a1.jsonl", line(1, 1, "NaN"), "metrics/a1.jsonl:1"},
		{"a1.jsonl", line(1, 1, "1") + line(2, 1, "Infinity"), "metrics/a1.jsonl:2"},
		{"a1.jsonl", line(1, 1, "1e400"), "data.reward: found 1e400; want a finite number"},
		{"a1.jsonl", line(1, 1, `"high"`), "data.reward"},
		{"a1.jsonl", line(1, 2, "1"), "attempt: found 2; want 1, as the file's name says"},
		{"a1.jsonl", line(0, 1, "1"), "step: found 0"},
		{"a1.jsonl", "\n", "torn or empty"},
		{"ax.jsonl", line(1, 1, "1"), "want metrics/a<attempt>.jsonl"},
	} {
		if m, err := job.ReadMetrics(metricsOf(map[string]string{c.file: c.text})); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %q: got %v, %v; want %q", c.file, c.text, m, err, c.want)
		}
	}
}

func FuzzReadMetrics(f *testing.F) {
	f.Add(line(1, 1, "0.5") + line(2, 1, "null") + "{")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := job.ReadMetrics(metricsOf(map[string]string{"a1.jsonl": text}))
		for i := range m {
			if err == nil && i > 0 && m[i].Step <= m[i-1].Step {
				t.Fatalf("steps %d and %d are out of order", m[i-1].Step, m[i].Step)
			}
		}
	})
}

const progressLine = `{"schema":"floe.progress/v1","job_id":"x-a2","attempt":2,"phase":"training","step":120,"total_steps":250,
 "updated":"2026-11-29T20:15:04Z","step_seconds":212.4,"remaining_seconds":27612,"metrics":{"reward":0.41},"more":"than we read"}`

func TestProgressIsRead(t *testing.T) {
	read := func(text string) (job.Progress, error) {
		return job.ReadProgress(fstest.MapFS{"progress.json": {Data: []byte(text)}})
	}
	p, err := read(progressLine)
	if err != nil || p.Step != 120 || *p.StepSeconds != 212.4 || *p.Metrics["reward"] != 0.41 {
		t.Errorf("got %+v, %v", p, err)
	}
	for _, c := range []struct{ old, text, want string }{
		{`"step":120`, `"step":251`, "step: found 251; want 0 to total_steps = 250"},
		{"training", "dreaming", "phase"},
		{"212.4", "-1", "step_seconds"},
		{"2026-11-29T", "", "updated"},
	} {
		if _, err := read(strings.Replace(progressLine, c.old, c.text, 1)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v; want %q", c.text, err, c.want)
		}
	}
	if _, err := job.ReadProgress(fstest.MapFS{}); !errors.Is(err, job.ErrAbsent) {
		t.Errorf("without a file: %v; want ErrAbsent", err)
	}
}

func TestAJobHangsAfterThreeStepsOrTenMinutesWithoutProgress(t *testing.T) {
	start := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	at := func(attempt int, after time.Duration, stepSeconds float64) *job.Progress {
		return &job.Progress{Attempt: attempt, Updated: start.Add(after), StepSeconds: &stepSeconds}
	}
	for _, c := range []struct {
		name     string
		progress *job.Progress
		now      time.Duration
		patience job.Patience
		want     bool
	}{
		{"no progress yet", nil, 10 * time.Minute, job.Patience{}, false},
		{"no progress at all", nil, 10*time.Minute + 1, job.Patience{}, true},
		{"short steps", at(1, time.Hour, 1), time.Hour + 10*time.Minute, job.Patience{}, false},
		{"short steps, hung", at(1, time.Hour, 1), time.Hour + 10*time.Minute + 1, job.Patience{}, true},
		{"long steps", at(1, time.Hour, 600), time.Hour + 30*time.Minute, job.Patience{}, false},
		{"long steps, hung", at(1, time.Hour, 600), time.Hour + 30*time.Minute + 1, job.Patience{}, true},
		{"an earlier attempt's", at(0, time.Hour, 600), 11 * time.Minute, job.Patience{}, true},
		{"left by an earlier start", at(1, -time.Hour, 1), 5 * time.Minute, job.Patience{}, false},
		{"own patience", at(1, 0, 100), 6 * time.Minute, job.Patience{Steps: 2, Least: time.Minute}, true},
		{"steps beyond all time", at(1, 0, 1e300), time.Hour, job.Patience{}, false},
	} {
		if _, got := job.Hung(1, start, c.progress, start.Add(c.now), c.patience); got != c.want {
			t.Errorf("%s: hung is %t; want %t", c.name, got, c.want)
		}
	}
	if _, hung := job.Hung(1, time.Time{}, nil, start, job.Patience{}); hung {
		t.Error("a job whose start nobody knows hangs; want it not to")
	}
}

func TestANameFollowsFromStepAndAttempt(t *testing.T) {
	id, err := experiment.NewStepID("train", "inputs")
	if err != nil {
		t.Fatal(err)
	}
	name := job.Name(job.ForStep(id), 3)
	if want := "train-" + id.Key[:20] + "-a3"; name != want || job.CheckName(name) != nil {
		t.Errorf("got %s, %v; want %s", name, job.CheckName(name), want)
	}
	for _, bad := range []string{"", "A", "a_b", "-a", "a-", "a/b", "1a", strings.Repeat("a", 53), "ä", "a\n"} {
		if job.CheckName(bad) == nil {
			t.Errorf("the name %q is taken; want it refused", bad)
		}
	}
}
