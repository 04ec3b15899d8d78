package activities_test

import (
	"testing"

	"floe/internal/importtest"
)

func TestImports(t *testing.T) {
	importtest.Check(t, append([]importtest.Rule{importtest.NoAWS}, importtest.NoAdapters...)...)
}
