package artifact_test

import (
	"errors"
	"strings"
	"testing"

	"floe/internal/artifact"
	"floe/internal/artifact/artifacttest"
)

// FuzzEndsOfLeases puts anything where the end of a lease belongs. A claim then
// either fails with a CorruptError, takes the next token, or adopts a manifest
// that is one of this step.
func FuzzEndsOfLeases(f *testing.F) {
	f.Add([]byte(`{"schema":"floe.lease-end/v1","token":1,"how":"released","by":"a-t1"}`))
	f.Add([]byte(`{"schema":"floe.lease-end/v1","token":1,"how":"committed","by":"a-t1"}`))
	f.Add([]byte(`{"schema":"floe.lease-end/v1","token":1,"how":"committed","by":"a-t1","manifest":{"schema":"floe.step/v1","id":{"kind":"train","key":"` +
		strings.Repeat("ab", 32) + `"},"attempt":"a-t1","inputs":null,"files":[]}}`))
	f.Add([]byte(`{"schema":"floe.lease-end/v1","token":1,"how":"committed","manifest":{"attempt":"../.."}}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, body []byte) {
		store := artifacttest.NewMemory()
		if err := store.PutIfAbsent(t.Context(), trainFolder+"lease/00000001-end", body); err != nil {
			t.Fatal(err)
		}
		h, m, done, err := over(store).Claim(t.Context(), train, claimant("b"), func(artifact.Lease) {})
		_, corrupt := errors.AsType[*artifact.CorruptError](err)
		switch {
		case err != nil && !corrupt:
			t.Errorf("got %v; want a CorruptError or none", err)
		case err == nil && done && m.ID != train:
			t.Errorf("adopted a manifest of %s", m.ID)
		case err == nil && !done:
			if h.Token() != 2 {
				t.Errorf("token %d; want 2", h.Token())
			}
			h.Release()
		}
	})
}
