// Package paper has the published results of arXiv:2606.17682 as data, so that any
// result can stand beside them. The figures are as printed, the slips in them
// too; docs/benchmark.md lists what does not add up.
package paper

import (
	"bytes"
	"embed"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// Source is where the tables were published; Environment is the one they are
// about, by its name here.
const (
	Source      = "arXiv:2606.17682"
	Environment = "lake"
)

// PerSize is the number of instances behind every cell.
const PerSize = 150

// Rates are a cell as printed, in percent with two decimals.
type Rates struct {
	Valid   float64 `json:"valid"`
	Optimal float64 `json:"optimal"`
}

// Row is one model's results.
type Row struct {
	Model string  `json:"model"`
	Cells []Rates `json:"cells,omitempty"` // by size; none where only the sum was published
	Sum   Rates   `json:"sum"`             // over all instances
}

// Table is the table of one held-out set.
type Table struct {
	Agents int      `json:"agents"`
	Sizes  []string `json:"sizes"`
	Rows   []Row    `json:"rows"`
}

// Instances is the number of instances behind a sum.
func (t Table) Instances() int { return PerSize * len(t.Sizes) }

//go:embed agents3.csv agents4.csv agents5.csv
var files embed.FS

// Tables are the three tables, by agents.
func Tables() ([]Table, error) {
	var tables []Table
	for _, agents := range []int{3, 4, 5} {
		t, err := read(fmt.Sprintf("agents%d.csv", agents))
		if err != nil {
			return nil, err
		}
		t.Agents = agents
		tables = append(tables, t)
	}
	return tables, nil
}

func read(name string) (Table, error) {
	body, err := files.ReadFile(name)
	if err != nil {
		return Table{}, err
	}
	t, err := parseTable(bytes.NewReader(body))
	if err != nil {
		return Table{}, fmt.Errorf("read %s: %w", name, err)
	}
	return t, nil
}

// parseTable reads a table strictly: a head of "model", sizes and "sum", then a
// row a model, with all cells or none but the sum.
func parseTable(r io.Reader) (Table, error) {
	lines, err := csv.NewReader(r).ReadAll()
	if err != nil {
		return Table{}, err
	}
	if len(lines) == 0 {
		return Table{}, errors.New("no head")
	}
	head := lines[0]
	last := len(head) - 1
	if last < 2 || head[0] != "model" || head[last] != "sum" {
		return Table{}, fmt.Errorf("the head is %q; want model, sizes, sum", head)
	}
	t := Table{Sizes: head[1:last]}
	var errs []error
	seen := map[string]bool{}
	for i, line := range lines[1:] {
		row, err := parseRow(line)
		if err == nil && seen[row.Model] {
			err = fmt.Errorf("model %s comes twice", row.Model)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("line %d: %w", i+2, err))
		}
		seen[row.Model] = true
		t.Rows = append(t.Rows, row)
	}
	return t, errors.Join(errs...)
}

func parseRow(line []string) (Row, error) {
	last := len(line) - 1
	row := Row{Model: line[0]}
	var errs []error
	if row.Model == "" {
		errs = append(errs, errors.New("no model"))
	}
	if strings.Join(line[1:last], "") != "" {
		row.Cells = make([]Rates, last-1)
		for i, cell := range line[1:last] {
			var err error
			row.Cells[i], err = parseRates(cell)
			errs = append(errs, err)
		}
	}
	var err error
	row.Sum, err = parseRates(line[last])
	return row, errors.Join(append(errs, err)...)
}

var ratesForm = regexp.MustCompile(`^(\d{1,3}\.\d\d)/(\d{1,3}\.\d\d)$`)

func parseRates(cell string) (Rates, error) {
	m := ratesForm.FindStringSubmatch(cell)
	if m == nil {
		return Rates{}, fmt.Errorf("cell %q; want valid/optimal in percent, such as 64.67/41.33", cell)
	}
	valid, errValid := strconv.ParseFloat(m[1], 64)
	optimal, errOptimal := strconv.ParseFloat(m[2], 64)
	if valid > 100 || optimal > valid {
		return Rates{}, fmt.Errorf("cell %q; want optimal at most valid at most 100", cell)
	}
	return Rates{valid, optimal}, errors.Join(errValid, errOptimal)
}
