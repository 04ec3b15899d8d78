package job_test

import (
	"testing"

	"floe/internal/importtest"
)

func TestImports(t *testing.T) {
	importtest.Check(t, append([]importtest.Rule{{Prefix: "os/exec", Why: "the contract starts nothing; back ends do"}}, importtest.Domain...)...)
}
