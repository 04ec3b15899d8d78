package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"floe/internal/artifact"
	"floe/internal/env"
	"floe/internal/experiment"
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

// drawnSet is a set in memory: its file and its record's.
type drawnSet struct {
	data   []byte
	record datasetRecord
}

func newDrawnSet(e env.Measuring, list []env.Order, file string, tasks []env.Task, c experiment.Conformance, drift []env.Drift) (drawnSet, error) {
	packed := strings.HasSuffix(file, ".zst")
	data, err := encodeTasks(tasks, packed)
	if err != nil {
		return drawnSet{}, err
	}
	sum := sha256.Sum256(data)
	return drawnSet{data, datasetRecord{
		Schema: recordSchema, Environment: e.Name(), Version: e.Version(), Orders: list, Packed: packed,
		Bytes: int64(len(data)), SHA256: hex.EncodeToString(sum[:]), Conformance: c, Measures: e.Measures(), Drift: drift,
	}}, nil
}

// encodeTasks is the content of a set's file; packed, it is the file that a step
// stores.
func encodeTasks(tasks []env.Task, packed bool) ([]byte, error) {
	if packed {
		body, err := artifact.JSONLines("dataset.jsonl.zst", tasks)
		if err != nil {
			return nil, err
		}
		r, err := body.Open()
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(r)
		return data, errors.Join(err, r.Close())
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for _, t := range tasks {
		if err := enc.Encode(t); err != nil {
			return nil, fmt.Errorf("write task %s: %w", t.ID, err)
		}
	}
	return b.Bytes(), nil
}

func recordName(file string) string { return file + ".conformance.json" }

// write replaces the file and then its record. In between, the old record does
// not fit the new file, which verify says.
func (d drawnSet) write(file string) error {
	record, err := d.record.encode()
	if err != nil {
		return err
	}
	if err := writeFile(file, d.data); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	if err := writeFile(recordName(file), record); err != nil {
		return fmt.Errorf("write %s: %w", recordName(file), err)
	}
	return nil
}

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
	body, err := os.ReadFile(name) //nolint:gosec // beside the file that the person named
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
			line = append(line, fmt.Sprintf("%.3f", k.Requested), fmt.Sprintf("%.3f", k.Realised))
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
