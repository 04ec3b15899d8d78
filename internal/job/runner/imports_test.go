package runner_test

import (
	"testing"

	"floe/internal/importtest"
)

func TestImports(t *testing.T) {
	importtest.Check(t, append([]importtest.Rule{{Prefix: "os/exec", Why: "back ends start programs"}}, importtest.Domain...)...)
}
