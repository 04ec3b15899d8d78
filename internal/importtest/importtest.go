// Package importtest proves import rules at any depth. The linter sees only
// direct imports; this sees what those import in turn.
//
// A test stands beside each guarded package, because such a test is built from
// that package: when an import changes anywhere below it, the test runs again
// instead of being served from the test cache.
package importtest

import (
	"os/exec"
	"strings"
	"testing"
)

// Rule forbids packages whose path begins with a prefix, and says why.
type Rule struct {
	Prefix string
	Why    string
}

// Rules of the house.
var (
	NoTemporal = Rule{"go.temporal.io/", "only workflows, activities, worker, starter and internal/temporalclient know Temporal"}
	NoNetwork  = Rule{"net/http", "the domain does no I/O"}
	NoAWS      = Rule{"github.com/aws/", "only artifact/s3 knows the store's vendor"}
	NoOpenAI   = Rule{"github.com/sashabaranov/", "only designer/openai and endpoint know the model's client"}
	NoAdapters = []Rule{
		{"floe/internal/artifact/s3", "only worker, starter and connect list adapters"},
		{"floe/internal/designer/openai", "only worker lists adapters"},
		{"floe/internal/designer/rule", "only worker lists adapters"},
		{"floe/internal/env/lake", "environments are reached through env/all"},
		{"floe/internal/job/backend/", "back ends are reached through job/backend/all, by worker and starter"},
	}
)

// Domain are the rules of a package that is pure domain.
var Domain = append([]Rule{NoTemporal, NoNetwork, NoAWS, NoOpenAI}, NoAdapters...)

// Check fails for every package that the one under test reaches against a rule.
func Check(t *testing.T, rules ...Rule) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output() // the folder of the package under test
	if err != nil {
		t.Fatalf("go list -deps: %v", err)
	}
	self, err := exec.CommandContext(t.Context(), "go", "list", ".").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for dep := range strings.FieldsSeq(string(out)) {
		for _, r := range rules {
			if strings.HasPrefix(dep, r.Prefix) && !strings.HasPrefix(dep, strings.TrimSpace(string(self))) {
				t.Errorf("%s is imported, at some depth: %s", dep, r.Why)
			}
		}
	}
}
