package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// rowsOf reads files of published rows that are not JSON lines: a JSON array
// (.json) or CSV with a head line (.csv), also packed. It is nil for all others.
func rowsOf(file string) func(io.Reader) ([]numbered, error) {
	switch name := strings.TrimSuffix(file, ".zst"); {
	case strings.HasSuffix(name, ".json"):
		return arrayRows
	case strings.HasSuffix(name, ".csv"):
		return csvRows
	}
	return nil
}

// arrayRows are the values of a JSON array with the lines that they begin on.
func arrayRows(in io.Reader) ([]numbered, error) {
	body, err := io.ReadAll(in)
	if err != nil {
		return nil, err
	}
	body = bytes.TrimPrefix(body, []byte("\ufeff"))
	d := json.NewDecoder(bytes.NewReader(body))
	line, counted := 1, 0
	at := func(offset int) int {
		line += bytes.Count(body[counted:offset], []byte("\n"))
		counted = offset
		return line
	}
	if open, err := d.Token(); err != nil || open != json.Delim('[') {
		return nil, errors.New("found no JSON array; want [{\"sample_id\": ...}, ...], or a name that ends in .jsonl")
	}
	var rows []numbered
	for d.More() {
		var row json.RawMessage
		if err := d.Decode(&row); err != nil {
			return nil, fmt.Errorf("line %d, row %d: %w", at(int(d.InputOffset())), len(rows)+1, err)
		}
		rows = append(rows, numbered{line: at(int(d.InputOffset()) - len(row)), text: row})
	}
	if _, err := d.Token(); err != nil {
		return nil, fmt.Errorf("behind row %d: %w", len(rows), err)
	}
	if rest := bytes.TrimSpace(body[d.InputOffset():]); len(rest) > 0 {
		return nil, fmt.Errorf("found %.40q behind the array; want the end", rest)
	}
	return rows, nil
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
	head[0] = strings.TrimPrefix(head[0], "\ufeff")
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
		if row.Agents, err = strconv.Atoi(record[column[1]]); err != nil {
			next.err = fmt.Errorf("num_agents is %.40q; want a whole number", record[column[1]])
		} else if next.text, err = json.Marshal(row); err != nil {
			return nil, fmt.Errorf("line %d: %w", next.line, err)
		}
		rows = append(rows, next)
	}
}
