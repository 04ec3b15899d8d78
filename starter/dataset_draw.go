package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"

	"floe/internal/artifact"
	"floe/internal/env"
	"floe/internal/experiment"
	"floe/internal/orders"
)

// drawnSet is where a set goes as it is drawn. Nothing of it is kept.
type drawnSet struct {
	to     io.Writer // the file's bytes, those that a step would store if packed
	packed bool
	line   func([]byte) error // looks at each line before it is packed; nil for nobody
}

// checkOrders says everything that keeps a set from being drawn and measured.
func checkOrders(e env.Environment, list []env.Order) (env.Measuring, error) {
	var errs []error
	for _, o := range list {
		errs = append(errs, e.Validate(o))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fail(exitUsage, "%w", err)
	}
	return measuringEnv(e)
}

// draw draws the tasks of checked orders and records what came of it.
func (a *app) draw(ctx context.Context, m env.Measuring, list []env.Order, set drawnSet) (datasetRecord, error) {
	file, err := newSetFile(set.to, set.packed)
	if err != nil {
		return datasetRecord{}, err
	}
	check := m.NewDriftCheck()
	conformance, err := a.fill(ctx, m, list, func(t env.Task) error {
		line, err := file.Add(t)
		if err == nil && set.line != nil {
			err = set.line(line)
		}
		return errors.Join(err, check.Add(t))
	})
	if err = errors.Join(err, file.close()); err != nil {
		return datasetRecord{}, err
	}
	drift, err := a.compare(ctx, check)
	return datasetRecord{
		Schema: recordSchema, Environment: m.Name(), Version: m.Version(), Orders: list, Packed: set.packed,
		Bytes: file.bytes, SHA256: file.sha256(), Conformance: conformance, Measures: m.Measures(), Drift: drift,
	}, err
}

// fill shows how far drawing is, and then how far what becomes of the tasks.
func (a *app) fill(ctx context.Context, e env.Environment, list []env.Order, take func(env.Task) error) (experiment.Conformance, error) {
	total, taken := 0, 0
	for _, o := range list {
		total += o.Samples
	}
	drawing, writing := a.meter("drawing tasks"), a.meter("writing tasks")
	defer drawing.close()
	defer writing.close()
	return orders.Fill(ctx, e, list, func(t env.Task) error {
		if taken++; taken%100 == 0 {
			writing.show(taken, total)
		}
		return take(t)
	}, drawing.show)
}

func (a *app) compare(ctx context.Context, check env.DriftCheck) ([]env.Drift, error) {
	checking := a.meter("checking for drift")
	defer checking.close()
	return check.Compare(ctx, checking.show)
}

// setFile writes a set's file, and measures it meanwhile.
type setFile struct {
	*artifact.Lines
	buffered *bufio.Writer
	summed
}

func newSetFile(to io.Writer, packed bool) (f *setFile, err error) {
	f = &setFile{summed: summed{hash: sha256.New()}}
	f.buffered = bufio.NewWriterSize(io.MultiWriter(to, &f.summed), 1<<16)
	if f.Lines = artifact.NewLines(f.buffered); packed {
		f.Lines, err = artifact.NewPackedLines(f.buffered)
	}
	return f, err
}

func (f *setFile) close() error { return errors.Join(f.Close(), f.buffered.Flush()) }

// summed counts and digests what is written.
type summed struct {
	hash  hash.Hash
	bytes int64
}

func (s *summed) Write(p []byte) (int, error) {
	s.bytes += int64(len(p))
	return s.hash.Write(p)
}

func (s *summed) sha256() string { return hex.EncodeToString(s.hash.Sum(nil)) }
