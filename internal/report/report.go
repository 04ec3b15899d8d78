// Package report turns an experiment's results into what people read: one
// offline HTML file, a JSON document, and tables for the terminal.
//
// All three are functions of experiment.Results alone, so they agree with each
// other and the same results always give the same bytes. Results may be
// incomplete, of an experiment that is still running or has failed: what is
// there is shown, and what is missing is said.
//
// Nothing here knows an environment. Sizes, knobs, groups and checks are the
// names found in the data.
//
// The HTML file is a list of panels, one Go file each. To add a panel, write its
// file and put it in the list in page.go.
package report

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"floe/internal/experiment"
)

// Schema names the form of the document that JSON writes. It changes whenever a
// reader of the old form would misread the new one.
const Schema = "floe.results/v1"

// document is report.json: the results with the name of their form.
type document struct {
	Schema string `json:"schema"`
	experiment.Results
}

// JSON writes the results, indented, with a field "schema" in front. Decoding
// the document into an experiment.Results gives the results back. It fails on
// numbers that JSON cannot hold (NaN, infinities) and when w does.
func JSON(w io.Writer, r experiment.Results) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false) // the file is read by people and is never part of a page
	enc.SetIndent("", "  ")
	if err := enc.Encode(document{Schema, r}); err != nil {
		return fmt.Errorf("write results of %q as JSON: %w", r.Name, err)
	}
	return nil
}

// HTML writes the report as one file that needs no network and no script. It
// fails only when w does.
func HTML(w io.Writer, r experiment.Results) error {
	out := bufio.NewWriter(w)
	if err := writePage(out, r); err != nil {
		return fmt.Errorf("write report of %q: %w", r.Name, err)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write report of %q: %w", r.Name, err)
	}
	return nil
}
