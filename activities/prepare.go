package activities

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"floe/internal/artifact"
	"floe/internal/config"
	"floe/internal/env"
	"floe/internal/experiment"
	"floe/internal/orders"
	"floe/internal/plan"
)

// Files of steps and documents of experiments.
const (
	FileCurriculum  = plan.FileCurriculum
	FileDataset     = plan.FileDataset
	FileConformance = plan.FileConformance
	FilePolicy      = plan.FilePolicy
	FileTraining    = plan.FileTraining
	FileAnswers     = plan.FileAnswers
	FileScorecard   = plan.FileScorecard
	FileTranscript  = plan.FileTranscript

	DocSpec       = "spec.yaml"
	DocProvenance = "provenance.json"
	DocIndex      = "index.json"
	DocOperations = "operations.json"
	DocFork       = "fork.json" // of a fork only: a Fork
	DocReport     = "report.html"
	DocResults    = "report.json"
)

// Prepare stores the effective spec and the provenance, and settles round 0's
// curriculum: the given one, or a draw from the seed.
func (a *Activities) Prepare(ctx context.Context, in PrepareInput) (Done, error) {
	e, err := a.Environment(in.Spec.Environment)
	if err != nil {
		return Done{}, badInput(err)
	}
	if err := a.register(ctx, in, e); err != nil {
		return Done{}, classify(ctx, err)
	}
	inputs := plan.CurriculumOf(in.Spec, e)
	_, done, err := a.step(ctx, in.Where, in.Spec, plan.KindCurriculum, inputs, func(context.Context, *artifact.Hold, func(int, int, string)) ([]artifact.Body, error) {
		c, err := orders.FirstCurriculum(in.Spec, e)
		if err != nil {
			return nil, badInput(err)
		}
		return jsonFiles(FileCurriculum, c)
	})
	return done, err
}

// register writes the documents that say what runs. A workflow that starts
// again under the same name keeps the first provenance's start.
func (a *Activities) register(ctx context.Context, in PrepareInput, e env.Environment) error {
	spec, err := config.Marshal(in.Spec)
	if err != nil {
		return badInput(err)
	}
	if err := a.Steps.KeepDoc(ctx, in.Spec.Name, DocSpec, spec); err != nil {
		return err
	}
	p := a.Build
	p.Environment = e.Version()
	p.WorkflowID, p.RunID = in.Where.Workflow, in.RunID
	p.Started = time.Now().UTC().Format(time.RFC3339)
	if in.Fork != nil {
		p.Origin = &experiment.Origin{Experiment: in.Fork.Experiment, Round: in.Fork.Round}
		if err := a.putJSON(ctx, in.Spec.Name, DocFork, in.Fork); err != nil {
			return err
		}
	}
	return a.putJSON(ctx, in.Spec.Name, DocProvenance, p)
}

func (a *Activities) putJSON(ctx context.Context, name, doc string, v any) error {
	body, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", doc, err)
	}
	return a.Steps.KeepDoc(ctx, name, doc, append(body, '\n'))
}

// jsonFiles makes files of name, value pairs.
func jsonFiles(pairs ...any) ([]artifact.Body, error) {
	var files []artifact.Body
	for i := 0; i+1 < len(pairs); i += 2 {
		f, err := artifact.JSON(pairs[i].(string), pairs[i+1])
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}
