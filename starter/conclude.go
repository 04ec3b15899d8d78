package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"go.temporal.io/sdk/client"

	"floe/activities"
	"floe/internal/artifact"
	"floe/internal/atomicfile"
	"floe/internal/experiment"
	"floe/internal/report"
	"floe/workflows"
)

// textWidth is the width of tables where the terminal's is not known.
const textWidth = 100

// conclude shows what a finished experiment found and where to go from here.
func (a *app) conclude(ctx context.Context, name string, run client.WorkflowRun) error {
	r, err := a.results(ctx, name)
	if err != nil {
		return err
	}
	file, err := a.saveReport(ctx, name, "")
	if err != nil {
		return err
	}
	err = a.emitStyled(r, func(w io.Writer) error {
		fmt.Fprintln(w)
		return report.Text(w, r, report.Options{Width: width(a.out, textWidth), Color: a.color(a.out)})
	})
	if err != nil {
		return err
	}
	if a.output == "table" {
		a.next(r, file, a.uiURL(run))
	}
	if r.State == workflows.StateUndesigned {
		return fail(exitUndesigned, "%s: %s; %s", name, r.State, workflows.Undesigned(name))
	}
	return nil
}

// next says where the result is and what to try. It does not suggest what has just
// been run.
func (a *app) next(r experiment.Results, file, url string) {
	fmt.Fprintf(a.out, "\nReport       %s\n", file)
	if url != "" {
		fmt.Fprintf(a.out, "Temporal UI  %s   (while the services run)\n", url)
	}
	fmt.Fprintf(a.out, "\nNext:\n")
	for _, s := range a.suggestions(r) {
		fmt.Fprintf(a.out, "  %-58s # %s\n", a.command(s.rest), s.why)
	}
}

type suggestion struct{ rest, why string }

func (a *app) suggestions(r experiment.Results) []suggestion {
	var all []suggestion
	if a.brief {
		all = append(all, suggestion{"dev", "the services stop with this command; keep them running, then:"})
	}
	all = append(all, suggestion{"artifacts ls " + r.Name, "what the steps wrote"})
	if r.Spec.Designer.Kind != "fixed" {
		all = append(all, suggestion{"run examples/baseline-fixed.yaml", "the paper's baseline: one curriculum in all rounds"})
	}
	if r.Name != ownName {
		all = append(all, suggestion{"run examples/demo.yaml --name " + ownName + " --set seed=7", "the same with another seed"})
	}
	return all
}

// ownName is what a first experiment of one's own is called here.
const ownName = "mine"

// results reads an experiment's results as published.
func (a *app) results(ctx context.Context, name string) (experiment.Results, error) {
	var r experiment.Results
	body, err := a.doc(ctx, name, activities.DocResults)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return r, fmt.Errorf("read %s of %s: %w", activities.DocResults, name, err)
	}
	return r, nil
}

// doc reads a document of an experiment; one that is missing is exit code 3.
func (a *app) doc(ctx context.Context, name, file string) ([]byte, error) {
	steps, err := a.store(ctx)
	if err != nil {
		return nil, err
	}
	body, err := steps.GetDoc(ctx, name, file)
	if isNotFound(err) {
		return nil, a.noDoc(ctx, name, file)
	}
	return body, err
}

// noDoc says that a document is missing, or that the whole experiment is.
func (a *app) noDoc(ctx context.Context, name, file string) error {
	if docs, err := a.steps.ListDocs(ctx, name); err == nil && len(docs) == 0 {
		return notThere(name)
	}
	return fail(exitNotFound, "experiment %s has no %s yet; it is written with the first report", name, file)
}

// saveReport writes the HTML report, whole or not at all. Without a name it goes
// beside the development stack's data, or into the current folder where there is none.
func (a *app) saveReport(ctx context.Context, name, file string) (string, error) {
	body, err := a.freshReport(ctx, name)
	if err != nil {
		return "", err
	}
	if file == "" {
		folder, err := a.settings.Beside("reports")
		if err != nil {
			folder = "." // a user without a home
		}
		file = filepath.Join(folder, name+".html")
	}
	return file, writeFile(file, body)
}

// freshReport is the report as it was published, with what people wrote since.
func (a *app) freshReport(ctx context.Context, name string) ([]byte, error) {
	body, err := a.doc(ctx, name, activities.DocReport)
	if err != nil {
		return nil, err
	}
	r, err := a.results(ctx, name)
	if err != nil {
		return nil, err
	}
	before := len(r.Tags) + len(r.Diary)
	var ops activities.Operations
	if err := a.readDoc(ctx, name, activities.DocOperations, &ops); err != nil {
		return nil, err
	}
	if err := activities.Annotate(ctx, *a.steps, &r, ops.Events); err != nil {
		return nil, err
	}
	if len(r.Tags)+len(r.Diary) == before {
		return body, nil
	}
	var html bytes.Buffer
	if err := report.HTML(&html, r); err != nil {
		return nil, err
	}
	return html.Bytes(), nil
}

// writeFile replaces a file in one step.
func writeFile(file string, body []byte) error {
	return replaceFile(file, func(w io.Writer) error {
		_, err := w.Write(body)
		return err
	})
}

// replaceFile replaces a file in one step, if write succeeds; otherwise it leaves
// everything as it was.
func replaceFile(file string, write func(io.Writer) error) error {
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // reports are for showing around
		return err
	}
	return atomicfile.Write(file, 0o644, write)
}

func isNotFound(err error) bool { return errors.Is(err, artifact.ErrNotFound) }
