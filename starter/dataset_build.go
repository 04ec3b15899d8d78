package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"floe/internal/config"
	"floe/internal/config/strict"
	"floe/internal/curriculum"
	"floe/internal/env"
	"floe/internal/env/all"
	"floe/internal/experiment"
	"floe/internal/orders"
)

type buildFlags struct {
	isRound, isBenchmark, validation bool
	round, benchmark                 int
	curriculum, out                  string
	sets                             []string
}

// datasetBuild draws a set and writes it with its record, both whole or not at all.
func (a *app) datasetBuild(ctx context.Context, file string, f buildFlags) error {
	spec, err := loadSpec(file, f.sets)
	if err != nil {
		return err
	}
	e, err := all.Open(spec.Environment)
	if err != nil {
		return err
	}
	set, list, err := f.orders(spec, e)
	if err != nil {
		return err
	}
	if f.out == "" {
		f.out = datasetName(spec.Name, set)
	}
	if !isRows(f.out) {
		return fail(exitUsage, "--out is %q; want a name that ends in .jsonl or .jsonl.zst", f.out)
	}
	m, err := checkOrders(e, list)
	if err != nil {
		return err
	}
	r, err := a.buildSet(ctx, m, list, f.out)
	if err != nil {
		return err
	}
	return a.emit(r, r.table(f.out))
}

// buildSet replaces a set's file and then its record. In between, the old record
// does not fit the new file, which verify says.
func (a *app) buildSet(ctx context.Context, m env.Measuring, list []env.Order, file string) (datasetRecord, error) {
	var r datasetRecord
	err := replaceFile(file, func(out io.Writer) (err error) {
		r, err = a.draw(ctx, m, list, drawnSet{to: out, packed: strings.HasSuffix(file, ".zst")})
		return err
	})
	if err != nil {
		return r, err
	}
	record, err := r.encode()
	if err == nil {
		err = writeFile(recordName(file), record)
	}
	if err != nil {
		return r, fmt.Errorf("write %s: %w", recordName(file), err)
	}
	return r, nil
}

// orders finds out which set is asked for, and what it is drawn from.
func (f buildFlags) orders(spec experiment.Spec, e env.Environment) (set string, list []env.Order, err error) {
	asked := 0
	for _, is := range []bool{f.isRound, f.isBenchmark, f.validation} {
		if is {
			asked++
		}
	}
	switch {
	case asked != 1:
		return "", nil, fail(exitUsage, "found %d sets asked for; want one of --round N, --validation and --benchmark AGENTS", asked)
	case f.curriculum != "" && !f.isRound:
		return "", nil, fail(exitUsage, "--curriculum goes with --round: only rounds have a curriculum of their own")
	case f.isRound:
		c, err := f.roundCurriculum(spec, e)
		return "round-" + strconv.Itoa(f.round), []env.Order{orders.Training(spec, f.round, c)}, err
	case f.validation:
		return "validation", []env.Order{orders.Validation(spec)}, nil
	}
	list = orders.Benchmark(spec, e, f.benchmark)
	if len(list) == 0 {
		return "", nil, fail(exitUsage, "--benchmark is %d; no size of %s can hold so many agents", f.benchmark, e.Name())
	}
	return "benchmark-" + strconv.Itoa(f.benchmark), list, nil
}

// roundCurriculum is the one that a round trains on.
func (f buildFlags) roundCurriculum(spec experiment.Spec, e env.Environment) (experiment.Curriculum, error) {
	switch {
	case f.round < 0 || f.round >= spec.Rounds:
		return experiment.Curriculum{}, fail(exitUsage, "--round is %d; %s has rounds 0 to %d", f.round, spec.Name, spec.Rounds-1)
	case f.curriculum != "":
		return readCurriculum(f.curriculum, e)
	case f.round > 0:
		return experiment.Curriculum{}, fail(exitUsage, "round %d trains on what the designer wrote after round %d; want --curriculum FILE, such as from `starter artifacts get %s round-%d/design/curriculum.json`",
			f.round, f.round-1, spec.Name, f.round-1)
	}
	c, err := orders.FirstCurriculum(spec, e)
	if err != nil {
		return c, fail(exitUsage, "%w", err)
	}
	return c, nil
}

// readCurriculum reads a curriculum as people write it in experiment files, or as
// a designer's step stores it.
func readCurriculum(file string, e env.Environment) (experiment.Curriculum, error) {
	src, err := readText(file)
	if err != nil {
		return experiment.Curriculum{}, err
	}
	if c, ok := storedCurriculum(src); ok {
		return c, nil
	}
	root, faults := strict.Parse(src)
	if root != nil {
		if len(root.Content) == 2 && root.Content[0].Value == "curriculum" {
			root = root.Content[1] // cut out of an experiment file with its key
		}
		c, more := curriculum.FromNode(root, e.Space())
		if faults = append(faults, more...); len(faults) == 0 {
			return c, nil
		}
	}
	told := &config.Faults{}
	for _, f := range faults {
		told.Lines = append(told.Lines, fmt.Sprintf("%s:%s", file, f))
	}
	return experiment.Curriculum{}, told
}

// storedCurriculum reads curriculum.json. Whether it is legal is asked with the order.
func storedCurriculum(src []byte) (c experiment.Curriculum, ok bool) {
	d := json.NewDecoder(bytes.NewReader(src))
	d.DisallowUnknownFields()
	return c, d.Decode(&c) == nil && len(c.Rows) > 0 && !d.More()
}
