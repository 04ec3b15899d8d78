package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"floe/internal/ask"
	"floe/internal/endpoint"
	"floe/internal/env"
	"floe/internal/env/all"
	"floe/internal/filelock"
	"floe/internal/outage"
)

// benchFormat is the first thing in a folder's benchmark.json; it changes with
// what the files mean.
const benchFormat = "floe-benchmark/1"

const benchFile = "benchmark.json"

// benchSettings are all that determines the answers. They are written once, when
// the sets are there, and hold for as long as the folder does.
type benchSettings struct {
	Format      string        `json:"format"`
	Model       string        `json:"model"`
	Environment string        `json:"environment"`
	Version     string        `json:"version"` // of the environment that made the sets
	Objective   string        `json:"objective"`
	Agents      []int         `json:"agents"`
	Instances   int           `json:"instances,omitempty"` // per size; 0 for imported sets
	MaxTokens   int           `json:"max_tokens"`
	Temperature float64       `json:"temperature"`
	Imports     []benchImport `json:"imports,omitempty"`
	Sets        []benchSetRef `json:"sets"`
}

type benchImport struct {
	File   string `json:"file"`
	SHA256 string `json:"sha256"`
}

type benchSetRef struct {
	Agents int    `json:"agents"`
	File   string `json:"file"`
	SHA256 string `json:"sha256"`
}

// bench is an opened folder.
type bench struct {
	app *app
	dir string
	env env.Environment
	benchSettings
	sets  []benchSet
	price ask.Price // nil: not known
	lock  *os.File  // nil when nothing will be asked
}

// openBench opens a folder, making it and its sets where there are none. Before any
// set is made, and before anything is asked, the endpoint is reached once: with a wrong
// address that takes seconds.
func (a *app) openBench(ctx context.Context, f benchFlags, at endpoint.Endpoint) (_ *bench, err error) {
	b := &bench{app: a, dir: f.folder()}
	defer func() {
		if err != nil {
			b.close()
		}
	}()
	if !f.scoreOnly {
		if err := b.acquire(); err != nil {
			return nil, err
		}
	}
	found, err := b.settle(f)
	if err != nil {
		return nil, err
	}
	if b.env, err = all.Open(b.Environment); err != nil {
		return nil, fail(exitUsage, "%w", err)
	}
	if !found {
		return b, b.create(ctx, f, func() error { return b.reach(ctx, at) })
	}
	if err := b.load(); err != nil {
		return nil, err
	}
	if open, err := b.open(ctx); f.scoreOnly || err != nil || !open {
		return b, err
	}
	return b, b.reach(ctx, at)
}

// reach finds out whether the endpoint is there at all.
func (b *bench) reach(ctx context.Context, at endpoint.Endpoint) error {
	err := at.Reach(ctx, b.Model)
	switch _, away := outage.As(err); {
	case err == nil || ctx.Err() != nil:
		return err
	case away:
		return fail(exitUnreachable, "%s: %w; start the server or correct the address, then give the same command", b.Model, err)
	}
	return fail(exitFailed, "%s: %w", b.Model, err)
}

// open says whether any task has no answer.
func (b *bench) open(ctx context.Context) (bool, error) {
	for _, set := range b.sets {
		part, _, err := b.answered(ctx, set)
		if err != nil || len(part.items) < len(set.items) {
			return err == nil, err
		}
	}
	return false, nil
}

// acquire keeps other processes from asking into the folder. The system lets go
// of it when the process ends, however it does.
func (b *bench) acquire() error {
	if err := os.MkdirAll(b.dir, 0o750); err != nil {
		return err
	}
	lock, err := filelock.Take(filepath.Join(b.dir, "lock"))
	if errors.Is(err, filelock.ErrHeld) {
		return fmt.Errorf("%s is in use by another benchmark", b.dir)
	}
	b.lock = lock
	return err
}

func (b *bench) close() {
	if b.lock != nil {
		_ = b.lock.Close() // nothing was written to it
	}
}

// settle takes the settings from the folder, or from the flags where it has none.
func (b *bench) settle(f benchFlags) (found bool, err error) {
	file := filepath.Join(b.dir, benchFile)
	body, err := os.ReadFile(file) //nolint:gosec // the folder that the person named
	switch {
	case errors.Is(err, fs.ErrNotExist) && f.scoreOnly:
		return false, fail(exitNotFound, "%s holds no benchmark", b.dir)
	case errors.Is(err, fs.ErrNotExist) && f.model == "":
		return false, fail(exitUsage, "%s holds no benchmark to resume; start one with --model", b.dir)
	case errors.Is(err, fs.ErrNotExist):
		b.benchSettings, err = f.settings()
		return false, err
	case err != nil:
		return false, err
	}
	if err := strictJSON(body, &b.benchSettings); err != nil {
		return false, fail(exitUsage, "%s: %w", file, err)
	}
	if b.Format != benchFormat {
		return false, fail(exitUsage, "%s: format is %q; want %s", file, b.Format, benchFormat)
	}
	return true, b.agree(f)
}

// settings are those of a new folder.
func (f benchFlags) settings() (benchSettings, error) {
	s := benchSettings{
		Format: benchFormat, Model: f.model, Environment: f.environment, Objective: f.objective,
		Agents: slices.Sorted(slices.Values(f.agents)), Instances: f.instances, MaxTokens: f.maxTokens, Temperature: f.temperature,
	}
	if len(f.imports) > 0 {
		s.Instances = 0
	}
	for _, file := range f.imports {
		sum, err := fileSum(file)
		if err != nil {
			return s, fail(exitUsage, "%w", err)
		}
		s.Imports = append(s.Imports, benchImport{filepath.Base(file), sum})
	}
	return s, nil
}

// agree refuses flags that contradict what the folder was begun with, all at once.
func (b *bench) agree(f benchFlags) error {
	given, err := f.settings()
	if err != nil {
		return err
	}
	var errs []error
	for _, c := range []struct {
		flag         string
		given, holds any
	}{
		{"model", given.Model, b.Model},
		{"environment", given.Environment, b.Environment},
		{"objective", given.Objective, b.Objective},
		{"agents", given.Agents, b.Agents},
		{"instances", given.Instances, b.Instances},
		{"max-tokens", given.MaxTokens, b.MaxTokens},
		{"temperature", given.Temperature, b.Temperature},
		{"import", given.Imports, b.Imports},
	} {
		if f.given(c.flag) && fmt.Sprint(c.given) != fmt.Sprint(c.holds) {
			errs = append(errs, fmt.Errorf("%s was begun with --%s %v, not %v; name another folder with --out", b.dir, c.flag, c.holds, c.given))
		}
	}
	if len(errs) > 0 {
		return fail(exitUsage, "%w", errors.Join(errs...))
	}
	return nil
}

// create makes the sets, and the settings last: where they are, all is.
func (b *bench) create(ctx context.Context, f benchFlags, reach func() error) (err error) {
	if len(f.imports) == 0 {
		b.sets, err = b.drawSets(ctx, reach)
	} else if err = reach(); err == nil {
		b.sets, err = b.importSets(ctx, f)
	}
	if err != nil {
		return err
	}
	b.Version, b.Agents = b.env.Version(), nil
	for _, set := range b.sets {
		body, err := jsonLines(set.items)
		if err != nil {
			return err
		}
		ref := benchSetRef{set.agents, fmt.Sprintf("set-%d.jsonl", set.agents), sumOf(body)}
		if err := writeFile(filepath.Join(b.dir, ref.File), body); err != nil {
			return err
		}
		b.Agents, b.Sets = append(b.Agents, set.agents), append(b.Sets, ref)
	}
	return b.write(benchFile, b.benchSettings)
}

// load reads the sets, checked.
func (b *bench) load() error {
	for _, ref := range b.Sets {
		file := filepath.Join(b.dir, filepath.Base(ref.File))
		body, err := os.ReadFile(file) //nolint:gosec // a file of the folder
		if err != nil {
			return err
		}
		if sum := sumOf(body); sum != ref.SHA256 {
			return fmt.Errorf("%s has changed: its sha256 is %s; want %s", file, sum, ref.SHA256)
		}
		set := benchSet{agents: ref.Agents}
		for d := json.NewDecoder(bytes.NewReader(body)); d.More(); {
			var item benchItem
			if err := d.Decode(&item); err != nil {
				return fmt.Errorf("read %s: task %d: %w", file, len(set.items)+1, err)
			}
			set.items = append(set.items, item)
		}
		b.sets = append(b.sets, set)
	}
	return nil
}

// write puts a value into the folder as JSON, whole or not at all.
func (b *bench) write(name string, v any) error {
	body, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	return writeFile(filepath.Join(b.dir, name), append(body, '\n'))
}

func jsonLines[T any](values []T) ([]byte, error) {
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false)
	for _, v := range values {
		if err := enc.Encode(v); err != nil {
			return nil, err
		}
	}
	return body.Bytes(), nil
}

// strictJSON reads one value and refuses fields that it does not know.
func strictJSON(body []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is something behind the value")
	}
	return nil
}

func sumOf(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

func fileSum(name string) (_ string, err error) {
	f, err := os.Open(name) //nolint:gosec // the file that the person named
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
