package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"floe/activities"
	"floe/internal/artifact"
	"floe/internal/report"
)

func (a *app) artifactsCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "artifacts",
		Short: "List and fetch what an experiment wrote",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	ls := &cobra.Command{
		Use:               "ls NAME",
		Short:             "List the artifacts of an experiment",
		Annotations:       map[string]string{knowsJSONL: ""},
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.names,
		RunE:              func(c *cobra.Command, args []string) error { return a.artifactsLs(c.Context(), args[0]) },
	}
	var out string
	get := &cobra.Command{
		Use:   "get NAME PATH",
		Short: "Fetch one artifact and verify its sha256",
		Long: `Fetches an artifact by its path in ` + "`artifacts ls`" + `, verifies its sha256 and writes it
to a file. A .zst file stays compressed; unpack it with zstd -d.`,
		Example: "  starter artifacts get demo round-0/train/policy.bin\n  starter artifacts get demo round-1/design/transcript.json -O -",
		Args:    cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			return a.artifactsGet(c.Context(), args[0], args[1], out)
		},
	}
	get.Flags().StringVarP(&out, "out", "O", "", "`FILE` to write; - for stdout (default: the artifact's own name, here)")
	c.AddCommand(ls, get, a.artifactsVerifyCmd())
	return c
}

// entry is one artifact as people name it.
type entry struct {
	Path   string `json:"path"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
	URL    string `json:"url"`

	manifest artifact.Manifest
	file     string
}

func (a *app) artifactsLs(ctx context.Context, name string) error {
	all, err := a.entries(ctx, name)
	if err != nil {
		return err
	}
	if all == nil {
		all = []entry{}
	}
	if a.output == "jsonl" {
		return emitLines(a.out, all)
	}
	return a.emit(all, func(w io.Writer) error {
		var lines [][]string
		for _, e := range all {
			lines = append(lines, []string{e.Path, fmt.Sprint(e.Size), e.SHA256[:12], e.URL})
		}
		return rows(w, []string{"PATH", "BYTES", "SHA256", "OBJECT"}, lines)
	})
}

// entries follows the experiment's index to the manifests of its steps.
func (a *app) entries(ctx context.Context, name string) ([]entry, error) {
	refs, err := a.refs(ctx, name)
	if err != nil {
		return nil, err
	}
	var all []entry
	for _, s := range stepsOf(refs) {
		files, err := a.filesOf(ctx, s)
		if err != nil {
			return nil, err
		}
		all = append(all, files...)
	}
	return all, nil
}

// refs is the index of an experiment; exit code 3 if it has none.
func (a *app) refs(ctx context.Context, name string) (activities.Refs, error) {
	var refs activities.Refs
	body, err := a.doc(ctx, name, activities.DocIndex)
	if err != nil {
		return refs, err
	}
	if err := json.Unmarshal(body, &refs); err != nil {
		return refs, fmt.Errorf("read the index of %s: %w", name, err)
	}
	return refs, nil
}

// placed is a step under the name that people know it by.
type placed struct {
	path string
	done activities.Done
}

func stepsOf(r activities.Refs) []placed {
	all := []placed{
		{"start/curriculum", r.Curriculum},
		{"start/policy", r.Policy},
		{"start/validation-set", r.Validation},
		{"start/validate", r.Base},
	}
	for _, round := range r.Rounds {
		at := fmt.Sprintf("round-%d/", round.Round)
		all = append(all, placed{at + "generate", round.Dataset}, placed{at + "train", round.Policy},
			placed{at + "validate", round.Scorecard}, placed{at + "proposal", round.Proposal}, placed{at + "design", round.Design})
	}
	for _, b := range r.Benchmarks {
		at := fmt.Sprintf("benchmark-%d/", b.Agents)
		all = append(all, placed{at + "set", b.Set}, placed{at + "untrained", b.Base}, placed{at + "trained", b.Trained})
	}
	return all
}

func (a *app) filesOf(ctx context.Context, s placed) ([]entry, error) {
	if s.done.ID.Key == "" {
		return nil, nil // not reached yet
	}
	m, ok, err := a.steps.Find(ctx, s.done.ID)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("%s: step %s has no manifest in the store", s.path, s.done.ID)
	}
	var all []entry
	for _, f := range m.Files {
		all = append(all, entry{s.path + "/" + f.Name, f.Size, f.SHA256, a.steps.Store.URL(f.Object), m, f.Name})
	}
	return all, nil
}

func (a *app) artifactsGet(ctx context.Context, name, path, out string) error {
	all, err := a.entries(ctx, name)
	if err != nil {
		return err
	}
	for _, e := range all {
		if e.Path == path {
			return a.fetch(ctx, e, out)
		}
	}
	return fail(exitNotFound, "experiment %s has no artifact %s; `starter artifacts ls %s` lists them", name, path, name)
}

// fetch writes an artifact once its sha256 has been checked.
func (a *app) fetch(ctx context.Context, e entry, out string) error {
	body, err := a.steps.Read(ctx, e.manifest, e.file)
	if err != nil {
		return err
	}
	if out == "-" {
		_, err := a.out.Write(body)
		return err
	}
	if out == "" {
		out = filepath.Base(e.Path)
	}
	if err := writeFile(out, body); err != nil {
		return err
	}
	a.say("%s: %d bytes, sha256 %s", out, e.Size, e.SHA256)
	return nil
}

func (a *app) reportCmd() *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:               "report NAME",
		Short:             "Fetch the HTML report of an experiment",
		Long:              "Writes the report as one HTML file that needs no network. The report is updated after every round.",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.names,
		RunE: func(c *cobra.Command, args []string) error {
			if out == "" {
				out = args[0] + ".html"
			}
			if strings.HasSuffix(out, "/") {
				return fail(exitUsage, "--out is the folder %s; want a file", out)
			}
			if a.output != "table" {
				r, err := a.results(c.Context(), args[0])
				if err != nil {
					return err
				}
				return a.emit(versioned{report.Schema, r}, nil)
			}
			if out == "-" {
				body, err := a.freshReport(c.Context(), args[0])
				if err != nil {
					return err
				}
				_, err = a.out.Write(body)
				return err
			}
			file, err := a.saveReport(c.Context(), args[0], out)
			if err != nil {
				return err
			}
			fmt.Fprintln(a.out, file)
			return nil
		},
	}
	c.Flags().StringVarP(&out, "out", "O", "", "`FILE` to write; - for stdout (default NAME.html)")
	return c
}
