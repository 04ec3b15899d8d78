package activities

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"

	"floe/internal/artifact"
	"floe/internal/experiment"
	"floe/internal/sweep"
)

// Sweeps does the work of sweeps: it reads their plans, and looks at and steers
// the experiments that are their cells.
type Sweeps struct {
	Steps  artifact.Steps
	Client client.Client

	mu    sync.Mutex
	plans map[string]experiment.Sweep // the last few read, by key
}

// plansKept bounds the plans in memory: a worker serves few sweeps at a time.
const plansKept = 4

func planKey(name, digest string) string { return "sweeps/" + name + "/" + digest + ".json.gz" }

// PutPlan stores a sweep as expanded and returns its digest. Equal plans are one
// object; an extended plan is another beside it.
func PutPlan(ctx context.Context, store artifact.Store, s experiment.Sweep) (string, error) {
	body, err := json.Marshal(s)
	if err != nil {
		return "", fmt.Errorf("write the plan of sweep %s: %w", s.Name, err)
	}
	sum := sha256.Sum256(body)
	digest := hex.EncodeToString(sum[:])
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(body); err != nil {
		return "", fmt.Errorf("write the plan of sweep %s: %w", s.Name, err)
	}
	if err := z.Close(); err != nil {
		return "", fmt.Errorf("write the plan of sweep %s: %w", s.Name, err)
	}
	if err := store.Put(ctx, planKey(s.Name, digest), bytes.NewReader(packed.Bytes())); err != nil {
		return "", fmt.Errorf("store the plan of sweep %s: %w", s.Name, err)
	}
	return digest, nil
}

// GetPlan reads a plan back, checked.
func GetPlan(ctx context.Context, store artifact.Store, name, digest string) (s experiment.Sweep, err error) {
	r, err := store.Get(ctx, planKey(name, digest))
	if err != nil {
		return s, fmt.Errorf("read the plan of sweep %s: %w", name, err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	z, err := gzip.NewReader(r)
	if err != nil {
		return s, fmt.Errorf("read the plan of sweep %s: %w", name, err)
	}
	body, err := io.ReadAll(z)
	if err != nil {
		return s, fmt.Errorf("read the plan of sweep %s: %w", name, err)
	}
	if sum := sha256.Sum256(body); hex.EncodeToString(sum[:]) != digest {
		return s, fmt.Errorf("the plan of sweep %s is damaged: its sha256 is not %s; start the sweep again from its file", name, digest)
	}
	if err := json.Unmarshal(body, &s); err != nil {
		return s, fmt.Errorf("read the plan of sweep %s: %w", name, err)
	}
	return s, nil
}

func (s *Sweeps) plan(ctx context.Context, name, digest string) (experiment.Sweep, error) {
	key := planKey(name, digest)
	s.mu.Lock()
	defer s.mu.Unlock() // cells that open at the same time read the plan once
	if p, ok := s.plans[key]; ok {
		return p, nil
	}
	p, err := GetPlan(ctx, s.Steps.Store, name, digest)
	if err != nil {
		return p, err
	}
	if s.plans == nil || len(s.plans) >= plansKept {
		s.plans = map[string]experiment.Sweep{}
	}
	s.plans[key] = p
	return p, nil
}

// OpenCells reads the specs of cells that are to start, and looks for what is
// there already: a cell that is done is adopted, not run again. A name that
// belongs to an experiment with another spec is a failure of its cell.
func (s *Sweeps) OpenCells(ctx context.Context, in OpenCellsInput) ([]OpenedCell, error) {
	plan, err := s.plan(ctx, in.Sweep, in.Plan)
	if err != nil {
		return nil, classify(ctx, err)
	}
	opened := make([]OpenedCell, len(in.Cells))
	for i, ref := range in.Cells {
		activity.RecordHeartbeat(ctx, Progress{Done: i, Total: len(in.Cells)})
		if ref.Cell.Arm >= len(plan.Arms) {
			return nil, badInput(fmt.Errorf("the plan of sweep %s has no arm %d", in.Sweep, ref.Cell.Arm))
		}
		spec := plan.SpecOf(ref.Cell)
		found, err := s.open(ctx, ref, spec)
		if err != nil {
			return nil, classify(ctx, err)
		}
		opened[i] = OpenedCell{spec, found}
	}
	return opened, nil
}

// open looks at one cell that is wanted with this spec. What ended without a
// result counts as not there.
func (s *Sweeps) open(ctx context.Context, ref CellRef, spec experiment.Spec) (CellFound, error) {
	found, known, err := s.look(ctx, ref, true)
	if err != nil || found.State == "" {
		return found, err
	}
	if known != nil && sweep.Digest(*known, known.Seed) != sweep.Digest(spec, spec.Seed) {
		return CellFound{
			Name: ref.Name, State: sweep.Failed, Round: -1,
			Cause: "the name belongs to an experiment with another spec; rename the sweep or the arm",
		}, nil
	}
	switch found.State {
	case sweep.Failed, sweep.Stopped, sweep.Cancelled:
		return CellFound{Name: ref.Name, Round: -1}, nil
	}
	return found, nil
}

// LookAtCells says how cells stand.
func (s *Sweeps) LookAtCells(ctx context.Context, in LookAtCellsInput) ([]CellFound, error) {
	found := make([]CellFound, len(in.Cells))
	for i, ref := range in.Cells {
		activity.RecordHeartbeat(ctx, Progress{Done: i, Total: len(in.Cells)})
		f, err := LookAtCell(ctx, s, ref, in.Metered)
		if err != nil {
			return nil, classify(ctx, err)
		}
		found[i] = f
	}
	return found, nil
}
