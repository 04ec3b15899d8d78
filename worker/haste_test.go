package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestWaitsOfTestsAreReadStrictly(t *testing.T) {
	t.Setenv(envHeartbeat, "4s")
	t.Setenv(envLease, "")
	t.Setenv(envJobPoll, "500ms")
	h, err := readHaste()
	if err != nil || h.heartbeat != 4*time.Second || h.lease != 0 || h.jobPoll != 500*time.Millisecond || len(h.interceptors()) != 1 {
		t.Errorf("%+v, %v", h, err)
	}
	t.Setenv(envHeartbeat, "soon")
	t.Setenv(envLease, "1ms")
	var said bytes.Buffer
	code := run(t.Context(), nil, &said, &said)
	if text := said.String(); code != exitUsage || !strings.Contains(text, envHeartbeat+` is "soon"`) || !strings.Contains(text, envLease+` is "1ms"`) {
		t.Errorf("exit code %d, %s; want %d and both faults", code, text, exitUsage)
	}
}

func TestWithoutThemNothingIsShortened(t *testing.T) {
	for _, name := range []string{envHeartbeat, envLease, envJobPoll} {
		t.Setenv(name, "")
	}
	if h, err := readHaste(); err != nil || h.lease != 0 || h.jobPoll != 0 || len(h.interceptors()) != 0 {
		t.Errorf("%+v, %v", h, err)
	}
}
