package main

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"floe/internal/textfile"
)

// isCSV says whether a file of published rows is CSV with a head line, also packed.
// All others are JSON.
func isCSV(file string) bool { return strings.HasSuffix(plainName(file), ".csv") }

// plainName is a name without what a packed file's name ends in.
func plainName(file string) string {
	return strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(file), ".zst"), ".gz")
}

// csvColumns must be in the head line; others are not looked at.
var csvColumns = []string{"sample_id", "num_agents", "text"}

// csvRows are the records of a CSV file, as objects, with the lines that they
// begin on.
func csvRows(in io.Reader) ([]numbered, error) {
	r := csv.NewReader(in)
	head, err := r.Read()
	if err != nil {
		return nil, fmt.Errorf("read the head line: %w", err)
	}
	var column [3]int
	for i, name := range csvColumns {
		if column[i] = slices.Index(head, name); column[i] < 0 {
			return nil, fmt.Errorf("line 1: found columns %.200q; want %s among them", head, strings.Join(csvColumns, ", "))
		}
	}
	var rows []numbered
	for {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, err // says the line
		}
		row := publishedRow{ID: record[column[0]], Text: record[column[2]]}
		next := numbered{}
		next.line, _ = r.FieldPos(0)
		if row.Agents, err = strconv.Atoi(string(textfile.WholeNumbers([]byte(record[column[1]])))); err != nil {
			next.err = fmt.Errorf("num_agents is %.40q; want a whole number", record[column[1]])
		} else if next.text, err = json.Marshal(row); err != nil {
			return nil, fmt.Errorf("line %d: %w", next.line, err)
		}
		rows = append(rows, next)
	}
}
