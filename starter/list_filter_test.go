package main

import (
	"strings"
	"testing"
	"time"
)

func TestFiltersBecomeAQueryOrTellAllTheirFaults(t *testing.T) {
	now := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	const all = "WorkflowType = 'Experiment'"
	for _, c := range []struct {
		f     filter
		query string
		says  []string
	}{
		{filter{}, all, nil},
		{filter{state: "needs attention", arm: "v3"}, all + " AND FloeState = 'needs attention' AND FloeArm = 'v3'", nil},
		{filter{state: "terminated"}, all + " AND ExecutionStatus = 'Terminated'", nil},
		{filter{name: "demo-*"}, all + " AND FloeExperiment STARTS_WITH 'demo-'", nil},
		{filter{name: "*-s1"}, all, nil},
		{filter{since: "36h"}, all + " AND StartTime >= '2026-03-09T00:00:00Z'", nil},
		{filter{since: "7d"}, all + " AND StartTime >= '2026-03-03T12:00:00Z'", nil},
		{filter{since: "2026-01-31T08:00:00+01:00"}, all + " AND StartTime >= '2026-01-31T07:00:00Z'", nil},
		{filter{state: "gone", since: "soon", name: "[", sweep: "a'b"}, "", []string{"--state", `"gone"`, "--since", `"soon"`, "--name", `"a'b"`}},
		{filter{since: "-3h"}, "", []string{`"-3h"`}},
	} {
		got, err := c.f.query(now)
		if got != c.query || (err != nil) != (c.says != nil) {
			t.Errorf("%+v: query %q, error %v; want %q", c.f, got, err, c.query)
		}
		for _, s := range c.says {
			if err == nil || !strings.Contains(err.Error(), s) {
				t.Errorf("%+v: error %v has no %s", c.f, err, s)
			}
		}
	}
}

func FuzzSince(f *testing.F) {
	for _, s := range []string{"7d", "36h", "2026-01-31", "2026-01-31T08:00:00Z", "d", "-1d", "99999999999999999999d"} {
		f.Add(s)
	}
	now := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, s string) {
		got, err := sinceTime(s, now)
		if err != nil && !got.IsZero() {
			t.Errorf("%q: both a time, %v, and an error, %v", s, got, err)
		}
		if err == nil && strings.HasSuffix(s, "d") && got.After(now) {
			t.Errorf("%q is an age, and %v is after %v", s, got, now)
		}
	})
}
