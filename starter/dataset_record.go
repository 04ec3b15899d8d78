package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"floe/internal/env"
	"floe/internal/experiment"
	"floe/internal/textfile"
)

// recordSchema names the form of a record.
const recordSchema = "floe.dataset/v1"

// datasetRecord says what a set was drawn from, and how far it is what was asked
// for. It is all that is needed to draw the set again.
type datasetRecord struct {
	Schema      string      `json:"schema"`
	Environment string      `json:"environment"`
	Version     string      `json:"version"` // of the environment
	Orders      []env.Order `json:"orders"`
	Packed      bool        `json:"packed"` // with zstd
	Bytes       int64       `json:"bytes"`
	SHA256      string      `json:"sha256"` // of the data file
	// Conformance compares every knob, and counts the optima.
	Conformance experiment.Conformance `json:"conformance"`
	Measures    []env.Measure          `json:"measures"` // what the drift checks compare, and what differs by nature
	Drift       []env.Drift            `json:"drift"`
}

func recordName(file string) string { return file + ".conformance.json" }

func (r datasetRecord) encode() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(r)
	return b.Bytes(), err
}

// readRecord reads the record of a set strictly.
func readRecord(file string) (datasetRecord, error) {
	var r datasetRecord
	name := recordName(file)
	body, err := textfile.ReadFile(name, longestText)
	if err != nil {
		return r, fail(exitUsage, "the record of %s: %w", filepath.Base(file), err)
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		line := 1 + bytes.Count(body[:min(int(d.InputOffset()), len(body))], []byte("\n"))
		return r, fail(exitUsage, "%s:%d: %w", name, line, err)
	}
	if r.Schema != recordSchema {
		return r, fail(exitUsage, "%s: found schema %.40q; want %q", name, r.Schema, recordSchema)
	}
	return r, nil
}

// table shows a record to a person.
func (r datasetRecord) table(file string) func(io.Writer) error {
	return func(w io.Writer) error {
		c := r.Conformance
		fmt.Fprintf(w, "%s  %d tasks, %d repeats, %d bytes, sha256 %s\n\n", file, c.Realised, c.Repeats, r.Bytes, r.SHA256)
		if err := rows(w, r.knobHead(), r.knobRows()); err != nil {
			return err
		}
		fmt.Fprintln(w)
		return rows(w, []string{"SIZE", "GROUP", "MEASURE", "N", "MEAN", "EXPECTED", "ERROR", "VERDICT"}, r.driftRows())
	}
}

func (r datasetRecord) knobHead() []string {
	head := []string{"SIZE", "ASKED", "GOT", "REPEATS"}
	if len(r.Conformance.Rows) > 0 {
		for _, k := range r.Conformance.Rows[0].Knobs {
			head = append(head, strings.ToUpper(k.Name)+" ASKED", "GOT")
		}
	}
	return head
}

func (r datasetRecord) knobRows() [][]string {
	var lines [][]string
	for _, row := range r.Conformance.Rows {
		line := []string{row.Size, strconv.Itoa(row.Requested), strconv.Itoa(row.Realised), strconv.Itoa(row.Repeats)}
		for _, k := range row.Knobs {
			drawn := "-" // of a size without samples
			if row.Realised > 0 {
				drawn = fmt.Sprintf("%.3f", k.Realised)
			}
			line = append(line, fmt.Sprintf("%.3f", k.Requested), drawn)
		}
		lines = append(lines, line)
	}
	return lines
}

func (r datasetRecord) driftRows() [][]string {
	var lines [][]string
	for _, d := range r.Drift {
		expected, off := fmt.Sprintf("%.2f", d.Expected), fmt.Sprintf("%.2f", d.Error)
		if d.Verdict == env.DriftUnknown {
			expected, off = "-", "-"
		}
		lines = append(lines, []string{d.Size, d.Group, d.Measure, strconv.Itoa(d.N), fmt.Sprintf("%.2f", d.Mean), expected, off, d.Verdict})
	}
	return lines
}
