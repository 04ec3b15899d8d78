package attempt

import (
	"context"
	"errors"
	"time"

	"floe/internal/job"
)

// Files of back ends that hand attempts to a system which gives them ids.
const (
	FileSubmitted = "submitted.json" // an object with the id; without one the attempt must never be submitted
	FileEnd       = "end.json"       // the final status, once it was seen
)

// Submit hands an attempt over, unless that was done. One worker at a time does,
// and asks first whether the attempt is known.
func Submit(root string, r job.Request, known func(Folder) (bool, error), hand func(Folder) error) error {
	if err := r.Validate(); err != nil {
		return err
	}
	rec, err := Claim(root, r)
	if err != nil {
		return err
	}
	unlock, err := rec.Lock()
	if err != nil {
		return err
	}
	defer unlock()
	if ok, err := known(rec); ok || err != nil {
		return err
	}
	return hand(rec)
}

// Forbid makes sure that an attempt which is not known never will be submitted.
func (r Folder) Forbid(known func(Folder) (bool, error)) (forbidden bool, err error) {
	unlock, err := r.Lock()
	if err != nil {
		return false, err
	}
	defer unlock()
	if ok, err := known(r); ok || err != nil {
		return false, err
	}
	code, now := job.ExitTerm, time.Now().UTC()
	s := job.Status{Name: r.Name, State: job.Ended, ExitCode: &code, Reason: "stopped before it was submitted", Started: now, Ended: now}
	return true, errors.Join(r.Write(FileEnd, s), r.Write(FileSubmitted, struct {
		Time time.Time `json:"time"`
	}{now}))
}

// Status is the final status that was kept, or what ask finds, which is kept if
// it is final: systems forget what has ended.
func (r Folder) Status(ask func() (job.Status, error)) (job.Status, error) {
	var s job.Status
	if ok, err := r.Read(FileEnd, &s); ok || err != nil {
		return s, err
	}
	s, err := ask()
	if err == nil && s.State.Final() {
		err = r.Write(FileEnd, s)
	}
	return s, err
}

// Claimed is the status of an attempt that is not known yet.
func (r Folder) Claimed() job.Status {
	return job.Status{Name: r.Name, State: job.Pending, Reason: "claimed, not submitted"}
}

// Gone tells Until that an attempt has ended, or is not known any more.
func Gone(b job.Backend, name string) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		s, err := b.Status(ctx, name)
		if errors.Is(err, job.ErrUnknown) {
			return true, nil
		}
		return s.State.Final(), err
	}
}
