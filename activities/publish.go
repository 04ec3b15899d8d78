package activities

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"floe/internal/artifact"
	"floe/internal/experiment"
	"floe/internal/plan"
	"floe/internal/report"
)

// Publish gathers the results there are from artifacts and writes the report
// and the index of artifacts.
func (a *Activities) Publish(ctx context.Context, in PublishInput) (Published, error) {
	ctx, b := a.begin(ctx, in.Where, "publish")
	defer b.end()
	out, err := a.publish(ctx, in)
	return out, classify(ctx, err)
}

func (a *Activities) publish(ctx context.Context, in PublishInput) (Published, error) {
	results, err := a.results(ctx, in)
	if err != nil {
		return Published{}, err
	}
	var html, js bytes.Buffer
	if err := errors.Join(report.HTML(&html, results), report.JSON(&js, results)); err != nil {
		return Published{}, err
	}
	if err := a.putJSON(ctx, in.Spec.Name, DocIndex, in.Refs); err != nil {
		return Published{}, err
	}
	if in.Operations != nil {
		if err := a.putJSON(ctx, in.Spec.Name, DocOperations, in.Operations); err != nil {
			return Published{}, err
		}
	}
	if err := a.putJSON(ctx, in.Spec.Name, DocProvenance, results.Provenance); err != nil {
		return Published{}, err
	}
	if err := a.Steps.KeepDoc(ctx, in.Spec.Name, DocResults, js.Bytes()); err != nil {
		return Published{}, err
	}
	if err := a.Steps.KeepDoc(ctx, in.Spec.Name, DocReport, html.Bytes()); err != nil {
		return Published{}, err
	}
	return Published{Report: DocReport, URL: a.Steps.Store.URL(artifact.DocKey(in.Spec.Name, DocReport))}, nil
}

// results reads back what the steps wrote.
func (a *Activities) results(ctx context.Context, in PublishInput) (experiment.Results, error) {
	r := experiment.Results{Name: in.Spec.Name, State: in.State, Spec: in.Spec}
	if err := a.provenance(ctx, in.Spec.Name, &r.Provenance); err != nil {
		return r, err
	}
	if in.State != "running" {
		r.Provenance.Finished = time.Now().UTC().Format(time.RFC3339)
	}
	if in.Refs.Base.ID.Key != "" {
		card, err := plan.Load[experiment.Scorecard](ctx, a.Steps, in.Refs.Base.ID, FileScorecard)
		if err != nil {
			return r, err
		}
		r.Base = &card
	}
	for _, refs := range in.Refs.Rounds {
		round, err := a.roundResult(ctx, refs)
		if err != nil {
			return r, err
		}
		r.Rounds = append(r.Rounds, round)
	}
	for _, refs := range in.Refs.Benchmarks {
		b, err := a.benchmarkResult(ctx, refs)
		if err != nil {
			return r, err
		}
		r.Benchmarks = append(r.Benchmarks, b)
	}
	var events []Event
	if in.Operations != nil {
		events = in.Operations.Events
	}
	err := Annotate(ctx, a.Steps, &r, events)
	return r, err
}

// provenance reads what Prepare wrote. A cancelled experiment may have none.
func (a *Activities) provenance(ctx context.Context, name string, p *experiment.Provenance) error {
	body, err := a.Steps.GetDoc(ctx, name, DocProvenance)
	if errors.Is(err, artifact.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, p); err != nil {
		return fmt.Errorf("read %s of %s: %w", DocProvenance, name, err)
	}
	return nil
}

func (a *Activities) roundResult(ctx context.Context, refs RoundRefs) (experiment.RoundResult, error) {
	e, err := plan.RoundEvidence(ctx, a.Steps, plan.Round{Number: refs.Round, Curriculum: refs.Curriculum.ID, Scorecard: refs.Scorecard.ID, Policy: refs.Policy.ID})
	if err != nil {
		return experiment.RoundResult{}, err
	}
	conformance, err := plan.Load[experiment.Conformance](ctx, a.Steps, refs.Dataset.ID, FileConformance)
	if err != nil {
		return experiment.RoundResult{}, err
	}
	transcript, err := plan.Load[experiment.Transcript](ctx, a.Steps, refs.Design.ID, FileTranscript)
	if err != nil {
		return experiment.RoundResult{}, err
	}
	return experiment.RoundResult{
		Round: refs.Round, Curriculum: e.Curriculum, Conformance: &conformance, Training: &e.Training,
		Scorecard: &e.Scorecard, Transcript: &transcript,
		Steps: append([]experiment.StepRef{
			ref("generate", refs.Dataset), ref("train", refs.Policy), ref("validate", refs.Scorecard),
		}, designSteps(refs)...),
	}, nil
}

// designSteps are the designer's call and, where there was one, the decision
// about it.
func designSteps(refs RoundRefs) []experiment.StepRef {
	if refs.Proposal.ID.Key == "" {
		return []experiment.StepRef{ref("design", refs.Design)}
	}
	return []experiment.StepRef{ref("design", refs.Proposal), ref("decision", refs.Design)}
}

func ref(step string, d Done) experiment.StepRef {
	return experiment.StepRef{Step: step, ID: d.ID, Seconds: d.Seconds}
}

func (a *Activities) benchmarkResult(ctx context.Context, refs BenchmarkRefs) (experiment.BenchmarkResult, error) {
	base, err := plan.Load[experiment.Scorecard](ctx, a.Steps, refs.Base.ID, FileScorecard)
	if err != nil {
		return experiment.BenchmarkResult{}, err
	}
	trained, err := plan.Load[experiment.Scorecard](ctx, a.Steps, refs.Trained.ID, FileScorecard)
	return experiment.BenchmarkResult{Agents: refs.Agents, Base: &base, Trained: &trained}, err
}
