package job

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Metrics is one line of a metrics file: what was measured in a step.
type Metrics struct {
	Step    int                 `json:"step"`
	Time    time.Time           `json:"time"`
	Attempt int                 `json:"attempt"`
	Data    map[string]*float64 `json:"data"` // nil: not known
}

const largestMetrics = 256 << 20

// ReadMetrics reads the steps of all attempts, in order of steps. A step that
// several attempts made is told by the highest, and in it by the last line. A
// last line that was cut off by a kill is passed over; any other that cannot be
// read is an error.
func ReadMetrics(files fs.FS) ([]Metrics, error) {
	names, err := fs.Glob(files, "metrics/a*.jsonl")
	if err != nil {
		return nil, fmt.Errorf("list metrics: %w", err)
	}
	byStep := map[int]Metrics{}
	var errs []error
	for _, name := range names {
		attempt, err := strconv.Atoi(strings.TrimSuffix(path.Base(name), ".jsonl")[1:])
		if err != nil || attempt < 1 {
			errs = append(errs, fmt.Errorf("%s: want metrics/a<attempt>.jsonl", name))
			continue
		}
		body, err := readFile(files, name, largestMetrics)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		errs = append(errs, merge(byStep, name, attempt, body))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	all := make([]Metrics, 0, len(byStep))
	for _, m := range byStep {
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b Metrics) int { return a.Step - b.Step })
	return all, nil
}

func merge(byStep map[int]Metrics, name string, attempt int, body []byte) error {
	whole := body[:bytes.LastIndexByte(body, '\n')+1]
	var errs []error
	number := 0
	for line := range bytes.Lines(whole) {
		number++
		m, err := readMetric(fmt.Sprintf("%s:%d", name, number), attempt, line)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if before, ok := byStep[m.Step]; !ok || m.Attempt >= before.Attempt {
			byStep[m.Step] = m
		}
	}
	return errors.Join(errs...)
}

func readMetric(where string, attempt int, line []byte) (Metrics, error) {
	var m Metrics
	if err := decode(where, line, &m, unknownPassed); err != nil {
		return Metrics{}, err
	}
	f := faults{name: where}
	f.want(m.Step >= 1, "step", m.Step, "1 or more")
	f.want(m.Attempt == attempt, "attempt", m.Attempt, fmt.Sprintf("%d, as the file's name says", attempt))
	return m, f.err()
}
