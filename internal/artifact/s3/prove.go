package s3

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
)

// rulesVersion changes with the rules: what was proven by older ones is proven anew.
const rulesVersion = 1

// Finding is what came of trying one rule.
type Finding struct {
	Rule    string `json:"rule"` // what floe relies on
	OK      bool   `json:"ok"`
	Untried bool   `json:"untried,omitempty"` // since an earlier rule failed, on which this one rests
	Why     string `json:"why,omitempty"`     // it failed
	Help    string `json:"help,omitempty"`    // the setting or change that mends it
	// Minor rules cost comfort when they fail: work is right without them.
	Minor bool  `json:"minor,omitempty"`
	Err   error `json:"-"`
}

// rule is one thing that floe relies on.
type rule struct {
	name  string
	try   func(*prover, context.Context) error
	help  string
	minor bool
}

// rules from what all others need to the most costly. The first two must hold, or the
// others tell nothing.
var rules = []rule{
	{"credentials are found", (*prover).credentials, noCredentials, false},
	{"the bucket can be listed", (*prover).reach, "check endpoint, region and bucket, and grant ListBucket", false},
	{"the clocks agree", (*prover).clock, "set this machine's clock, best by NTP", true},
	{"what is put is read back, and is not there once deleted", (*prover).roundTrip, "grant PutObject, GetObject and DeleteObject", false},
	{"a put replaces what is there for all readers at once", (*prover).replace, "use a store that is consistent after each write; no cache may lie before it", false},
	{"of conditional puts one wins (If-None-Match)", (*prover).conditions, "use a newer version of the server: without this, two attempts of a step could both win", false},
	{"names of all kinds are kept", (*prover).names, "use a store that keeps keys as they are", false},
	{"a listing is complete, page by page, before and after deletes", (*prover).listing, "use a newer version of the server, and no cache before it: gc and leases rest on listings", false},
	{"a part of an object can be read (Range, If-Match)", (*prover).ranges, "let the proxy before the store pass Range and If-Match: a download that breaks could not go on", false},
	{"an object is copied on the server", (*prover).copies, "use a newer version of the server: gc could not set aside what it sweeps, but for --quarantine 0", true},
	{"an object over 16 MiB is put in parts and read back", (*prover).parts, "", false},
	{"unfinished uploads are listed and aborted", (*prover).uploads, "add a rule to the bucket that ends unfinished uploads; gc cannot", true},
}

// prover tries rules in a folder of its own.
type prover struct {
	*Store

	folder string
}

// Prove tries everything that floe relies on a store for, and tells each finding as it
// comes. It writes about 50 MiB under "checks/" and deletes it again. After a
// connection, credentials or permissions that fail, the rest is not tried.
func (s *Store) Prove(ctx context.Context, tell func(Finding)) []Finding {
	p := &prover{s, checks + rand.Text() + "/"}
	var all []Finding
	on := true
	for i, r := range rules {
		f := Finding{Rule: r.name, Untried: true}
		if on {
			f = p.find(ctx, r)
		}
		on = on && ctx.Err() == nil && (f.OK || i > 1)
		tell(f)
		all = append(all, f)
	}
	if all[1].OK {
		p.clean(ctx)
	}
	return all
}

func (p *prover) find(ctx context.Context, r rule) Finding {
	err := r.try(p, ctx)
	f := Finding{Rule: r.name, OK: err == nil, Minor: r.minor, Err: p.mark(err, err)}
	if err == nil {
		return f
	}
	f.Why, f.Help = err.Error(), r.help
	if cure, ok := errors.AsType[*cured](err); ok {
		f.Help = cure.by
	} else if _, api := errors.AsType[*opError](err); !api && r.name == rules[1].name {
		f.Why = p.describe(ctx, err)
	}
	return f
}

// clean deletes what failed tries have left, also when ctx has ended.
func (p *prover) clean(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTimeout)
	defer cancel()
	left, err := p.List(ctx, p.folder)
	for _, o := range left {
		err = errors.Join(err, p.Delete(ctx, o.Key))
	}
	_ = err // gc sweeps what stays
}

// Unusable is the error of findings that keep work from being right; nil if none does.
func (s *Store) Unusable(all []Finding) error {
	var why []string
	var errs []error
	for _, f := range all {
		if !f.OK && !f.Untried && !f.Minor {
			why = append(why, fmt.Sprintf("it is not so that %s: %s; %s", f.Rule, f.Why, f.Help))
			errs = append(errs, f.Err)
		}
	}
	if len(why) == 0 {
		return nil
	}
	return &UnusableError{Endpoint: s.endpoint, Bucket: s.bucket, Why: strings.Join(why, "; "), cause: errors.Join(errs...)}
}

// Identity is all that what is proven of a store depends on.
func (s *Store) Identity() string {
	o := s.client.Options()
	return fmt.Sprintf("rules %d, endpoint %s, bucket %s, region %s, path style %v, checksums %v",
		rulesVersion, s.endpoint, s.bucket, o.Region, o.UsePathStyle, o.RequestChecksumCalculation)
}
