package activities_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	"floe/activities"
)

// recorded is a bench whose attempts are recorded.
func recorded(t *testing.T) *bench {
	t.Helper()
	b := newBench(t)
	b.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{
		&activities.Recorder{Steps: b.acts.Steps, Worker: "7@here"},
	}})
	return b
}

// attempts are the documents that attempts left.
func (b *bench) attempts() []activities.Attempt {
	b.t.Helper()
	docs, err := b.acts.Steps.ListDocs(b.t.Context(), "tiny")
	if err != nil {
		b.t.Fatal(err)
	}
	var all []activities.Attempt
	for _, d := range docs {
		if !activities.IsAttempt(d) {
			continue
		}
		body, err := b.acts.Steps.GetDoc(b.t.Context(), "tiny", d)
		if err != nil {
			b.t.Fatal(err)
		}
		var at activities.Attempt
		if err := json.Unmarshal(body, &at); err != nil {
			b.t.Fatal(err)
		}
		all = append(all, at)
	}
	return all
}

func TestEveryAttemptLeavesItsLog(t *testing.T) {
	b := recorded(t)
	if _, err := do(b, b.acts.Train, upToTraining(b)); err != nil {
		t.Fatal(err)
	}
	var steps []string
	for _, at := range b.attempts() {
		steps = append(steps, at.Step)
		if at.Outcome != activities.OutcomeDone || at.Worker != "7@here" || at.Error != "" || at.Ended < at.Started || !strings.HasSuffix(at.Started, "Z") {
			t.Errorf("attempt %+v", at)
		}
		first, last := at.Log[0], at.Log[len(at.Log)-1]
		if !strings.HasSuffix(first, "INFO attempt 1 begins on worker 7@here") || !strings.HasSuffix(last, "INFO done") {
			t.Errorf("the log of %s goes from %q to %q", at.Step, first, last)
		}
		if when, _, _ := strings.Cut(first, " "); !parses(when) {
			t.Errorf("%q does not begin with a time", first)
		}
	}
	if got, want := strings.Join(steps, ", "), "prepare, untrained policy, generate, train"; got != want {
		t.Errorf("attempts of %s; want %s", got, want)
	}
}

func parses(when string) bool {
	_, err := time.Parse(time.RFC3339, when)
	return err == nil
}

func TestAFailedAttemptSaysWhoAndWhyAndKeepsItsKind(t *testing.T) {
	b := recorded(t)
	in := upToTraining(b)
	in.Spec.Environment = "nowhere"
	_, err := do(b, b.acts.Train, in)
	var app *temporal.ApplicationError
	if !errors.As(err, &app) || app.Type() != activities.KindBadInput || !app.NonRetryable() {
		t.Fatalf("error %v; want one of kind BadInput that is not retried", err)
	}
	var last activities.Attempted
	if err := app.Details(&last); err != nil || last.Attempt != 1 || last.Worker != "7@here" || len(last.Log) == 0 {
		t.Errorf("the error tells %+v, %v", last, err)
	}
	all := b.attempts()
	at := all[len(all)-1]
	if at.Step != "train" || at.Outcome != activities.OutcomeFailed || at.Kind != activities.KindBadInput || !strings.Contains(at.Error, "nowhere") {
		t.Errorf("the last attempt is %+v", at)
	}
}

func TestALeftOutDesignKeepsTheCurriculum(t *testing.T) {
	b := recorded(t)
	in := upToTraining(b)
	first, err := do(b, b.acts.Prepare, activities.PrepareInput{Where: in.Where, Spec: in.Spec})
	if err != nil {
		t.Fatal(err)
	}
	out, err := do(b, b.acts.Design, activities.DesignInput{
		Where: in.Where, Spec: in.Spec, Round: activities.RoundRefs{Curriculum: first}, Skip: "the model is away",
	})
	if err != nil {
		t.Fatal(err)
	}
	if out.Outcome != activities.OutcomeSkipped || out.Rationale != "left out: the model is away" || out.ModelCalls != 0 {
		t.Errorf("design %+v", out)
	}
	data, err := do(b, b.acts.Generate, activities.GenerateInput{Where: in.Where, Spec: in.Spec, Curriculum: out.ID})
	if err != nil || data.Samples != in.Spec.Samples {
		t.Errorf("a set of the kept curriculum: %+v, %v", data, err)
	}
}
