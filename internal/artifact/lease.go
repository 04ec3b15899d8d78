package artifact

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"floe/internal/experiment"
)

// Leases keep two workers from doing the same step at the same time. A lease is
// an object with a number, its token; the highest token counts. Its holder writes
// it anew as long as it lives. It ends when an end is written beside it, by
// conditional put: either the holder's, with the manifest that it commits, or
// somebody else's who takes the step over. Only one of the two can be written,
// so a holder that was given up can never commit, however late it comes back.
//
//	steps/<kind>/<key>/lease/<token>-held   who works on it, renewed while it does
//	steps/<kind>/<key>/lease/<token>-end    how that ended; written once
//
// No clocks are compared: who waits takes over when it has watched a lease stay
// the same for the lease's own duration.
const (
	leaseSchema = "floe.lease/v1"
	endSchema   = "floe.lease-end/v1"
	leaseFolder = "lease"

	heldSuffix = "-held"
	endSuffix  = "-end"

	leaseFor    = 20 * time.Second // unless Steps.LeaseFor says otherwise
	maxLeaseFor = 10 * time.Minute // a longer one in a store is not believed
)

// Claimant is who wants to do a step.
type Claimant struct {
	Experiment string `json:"experiment"`
	Round      int    `json:"round"`
	// Attempt names this try in the places it writes; no other try has the name.
	Attempt string `json:"attempt"`
	// Work and Try say which tries follow each other: a later try of the same work
	// need not wait for an earlier one, which was given up before it began.
	Work string `json:"work"`
	Try  int    `json:"try"`
	Host string `json:"host"`
}

// follows says that c was started because the other was given up.
func (c Claimant) follows(other Claimant) bool {
	return c.Work != "" && c.Work == other.Work && c.Try > other.Try
}

// Lease is a claim as stored.
type Lease struct {
	Schema  string    `json:"schema"`
	Token   int       `json:"token"`
	Owner   Claimant  `json:"owner"`
	Beat    int       `json:"beat"`    // counts renewals
	Seconds float64   `json:"seconds"` // how long it is believed without a renewal
	Renewed time.Time `json:"renewed"` // for people; nothing depends on it
}

// lasts is how long a watcher waits for a renewal.
func (l Lease) lasts() time.Duration {
	d := time.Duration(l.Seconds * float64(time.Second))
	if d <= 0 || d > maxLeaseFor {
		return leaseFor
	}
	return d
}

// How a lease ended.
const (
	endCommitted = "committed"
	endReleased  = "released"
	endTaken     = "taken over"
	endUndone    = "quarantined" // what was committed was moved aside
)

// leaseEnd is the end of a lease. Manifest is there if it was committed.
type leaseEnd struct {
	Schema   string    `json:"schema"`
	Token    int       `json:"token"`
	How      string    `json:"how"`
	By       string    `json:"by"` // an attempt
	Manifest *Manifest `json:"manifest,omitempty"`
}

// claims is what lies in a step's lease folder: the newest lease and its end.
type claims struct {
	token int    // 0: there never was one
	body  []byte // of the newest lease; nil when only its end is left
	lease Lease
	end   *leaseEnd
}

// claims reads the newest lease of a step.
func (s Steps) claims(ctx context.Context, id experiment.StepID) (claims, error) {
	listed, err := s.Store.List(ctx, leasePrefix(id))
	if err != nil || len(listed) == 0 {
		return claims{}, err
	}
	var c claims
	if _, err := fmt.Sscanf(lastPart(listed[len(listed)-1].Key), "%d-", &c.token); err != nil || c.token < 1 {
		return c, &CorruptError{Object: listed[len(listed)-1].Key, Want: "a lease by its number", Got: err2text(err)}
	}
	if c.end, err = s.readEnd(ctx, id, c.token); err != nil {
		return c, err
	}
	c.body, err = get(ctx, s.Store, heldKey(id, c.token))
	if errors.Is(err, ErrNotFound) { // removed since it was listed, or only the end is left
		return c, nil
	}
	if err != nil {
		return c, err
	}
	// A lease that cannot be read is nobody's: it is waited for and taken over.
	if err := json.Unmarshal(c.body, &c.lease); err != nil || c.lease.Schema != leaseSchema || c.lease.Token != c.token {
		s.log().Warn("a lease cannot be read", "step", id.String(), "token", c.token, "error", err)
		c.lease = Lease{Token: c.token}
	}
	return c, nil
}

// readEnd reads how a lease ended; nil if it has not.
func (s Steps) readEnd(ctx context.Context, id experiment.StepID, token int) (*leaseEnd, error) {
	key := endKey(id, token)
	body, err := get(ctx, s.Store, key)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var e leaseEnd
	if err := json.Unmarshal(body, &e); err != nil {
		return nil, &CorruptError{Object: key, Want: "the end of a lease in JSON", Got: err.Error()}
	}
	if e.Schema != endSchema || e.Token != token || (e.How == endCommitted) != (e.Manifest != nil) {
		return nil, &CorruptError{Object: key, Want: fmt.Sprintf("%s of lease %d", endSchema, token), Got: fmt.Sprintf("%s of lease %d, %s", e.Schema, e.Token, e.How)}
	}
	if e.Manifest != nil {
		if err := checkManifest(*e.Manifest); err != nil || e.Manifest.ID != id || e.Manifest.Schema != stepSchema {
			return nil, &CorruptError{Object: key, Want: "a manifest of this step", Got: err2text(err)}
		}
	}
	return &e, nil
}

// putEnd ends a lease and returns the end that counts, which may be another.
func (s Steps) putEnd(ctx context.Context, id experiment.StepID, e leaseEnd) (leaseEnd, error) {
	e.Schema = endSchema
	body, err := encodeJSON(e)
	if err != nil {
		return e, err
	}
	put := s.Store.PutIfAbsent(ctx, endKey(id, e.Token), body)
	if put == nil {
		return e, nil
	}
	// The answer may be lost though the put was done: the store decides.
	there, err := s.readEnd(ctx, id, e.Token)
	if err == nil && there != nil {
		return *there, nil
	}
	return e, errors.Join(put, err)
}

func err2text(err error) string {
	if err == nil {
		return "another one"
	}
	return err.Error()
}

func (s Steps) leaseFor() time.Duration {
	if s.LeaseFor <= 0 {
		return leaseFor
	}
	return s.LeaseFor
}

func leasePrefix(id experiment.StepID) string { return stepPrefix(id) + leaseFolder + "/" }

func heldKey(id experiment.StepID, token int) string {
	return fmt.Sprintf("%s%08d%s", leasePrefix(id), token, heldSuffix)
}

func endKey(id experiment.StepID, token int) string {
	return fmt.Sprintf("%s%08d%s", leasePrefix(id), token, endSuffix)
}

// isLease says whether an object belongs to a step's leases.
func isLease(key string) bool { return strings.Contains(key, "/"+leaseFolder+"/") }

// putLease writes a lease anew; only its holder does.
func (s Steps) putLease(ctx context.Context, id experiment.StepID, l Lease) error {
	body, err := encodeJSON(l)
	if err != nil {
		return err
	}
	return s.Store.Put(ctx, heldKey(id, l.Token), bytes.NewReader(body))
}

// Holder is who holds a step now, as far as the store knows: a holder that died
// counts until somebody takes the step over. False if nobody does.
func (s Steps) Holder(ctx context.Context, id experiment.StepID) (Lease, bool, error) {
	c, err := s.claims(ctx, id)
	return c.lease, err == nil && c.token > 0 && c.end == nil && c.body != nil, err
}
