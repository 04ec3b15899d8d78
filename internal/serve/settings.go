package serve

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"floe/internal/job"
)

// Settings describe a server that floe starts.
type Settings struct {
	Name   string // of the server on this machine: what it is adopted by
	Kind   string // one of Kinds
	Model  string // name or directory of the base model; for llama.cpp a GGUF file
	Served string // what requests call it; "base" when empty
	// Revision is that of a model on a hub: best a commit.
	Revision string

	Command []string // instead of the kind's own program, such as {"/opt/vllm/bin/vllm", "serve"}
	Args    []string // more flags, as they are; they come last and so win
	Env     []string // more variables, NAME=value; no secrets: they are kept in a file
	GPUs    string   // CUDA_VISIBLE_DEVICES; empty leaves it

	Adapter     string  // started with the model, where a server takes none while it runs
	Context     int     // tokens of prompt and answer together; 0 leaves it to the server
	Parallel    int     // answers at one time; 0 leaves it to the server
	MemoryShare float64 // of the GPU's memory; 0 leaves it to the server
	MaxAdapters int     // loaded at one time; 0: none can be
	MaxRank     int     // largest rank of an adapter
	Sleep       bool    // can be put to sleep
	Reasoning   string  // parser of what the model thinks, such as qwen3; empty for none

	StartWithin time.Duration // longest start; 0: 20 minutes
	Linger      time.Duration // how long it outlives its last worker; 0: 2 minutes
}

// Kinds are the servers that floe can start.
func Kinds() []string { return slices.Sorted(maps.Keys(dialects)) }

const (
	startWithin = 20 * time.Minute // a large model from a slow disk, and its graphs
	linger      = 2 * time.Minute  // a worker that is deployed anew
)

var serverName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,38}[a-z0-9]$`)

func (s Settings) served() string { return cmp.Or(s.Served, "base") }

// Validate says everything that is wrong with the settings, or nil.
func (s Settings) Validate() error {
	var errs []error
	bad := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf("server %s: "+format, append([]any{s.Name}, args...)...))
		}
	}
	d, known := dialects[s.Kind]
	bad(!known, "kind is %q; want one of %s", s.Kind, strings.Join(Kinds(), ", "))
	bad(!serverName.MatchString(s.Name), "name is %q; want 2 to 40 of a-z, 0-9 and -, a letter first and no - last", s.Name)
	bad(s.Model == "", "no model")
	bad(s.Context < 0 || s.Parallel < 0 || s.MaxAdapters < 0 || s.MaxRank < 0, "context, parallel, max_adapters and max_rank are %d, %d, %d, %d; want 0 or more", s.Context, s.Parallel, s.MaxAdapters, s.MaxRank)
	bad(!(s.MemoryShare >= 0 && s.MemoryShare <= 1), "memory share is %v; want 0 to 1", s.MemoryShare) // this way round, NaN is refused too
	bad(s.MaxAdapters > 0 && s.MaxRank == 0, "max_adapters is %d and max_rank 0; want the largest rank", s.MaxAdapters)
	bad(s.StartWithin < 0 || s.Linger < 0, "negative times")
	for _, v := range s.Env {
		name, _, ok := strings.Cut(v, "=")
		bad(!ok || name == "", "variable %q; want NAME=value", name)
	}
	if known {
		bad(s.MaxAdapters > 0 && d.load == nil, "%s takes no adapter while it runs; want max_adapters 0", s.Kind)
		bad(s.MaxRank > mostRank, "max_rank is %d; want at most %d", s.MaxRank, mostRank)
		bad(s.Adapter != "" && d.adapter == nil, "%s is not started with an adapter; want max_adapters, and Load", s.Kind)
		bad(s.Sleep && d.sleep == nil, "%s cannot sleep", s.Kind)
		bad(s.MemoryShare > 0 && d.memory == "", "%s has no share of memory to set", s.Kind)
		bad(s.Reasoning != "" && d.reasoning == "", "%s has no parser of reasoning to name", s.Kind)
		bad(s.Revision != "" && d.revision == "", "%s takes no revision of a model", s.Kind)
		bad(s.Parallel > 0 && d.parallel == "", "%s answers one at a time", s.Kind)
	}
	return errors.Join(errs...)
}

// command is what a guard is told to run.
func (s Settings) command() ([]byte, error) {
	argv, env := s.launch()
	return json.Marshal(guarded{argv, env, cmp.Or(s.Linger, linger)})
}

// Digest tells servers apart: settings of the same digest are the same server,
// whatever their names.
func (s Settings) Digest() (string, error) {
	if err := s.Validate(); err != nil {
		return "", err
	}
	body, err := s.command()
	return job.Digest(body), err
}
