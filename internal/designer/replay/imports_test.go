package replay_test

import (
	"testing"

	"floe/internal/importtest"
)

func TestImports(t *testing.T) {
	importtest.Check(t, append(importtest.NoAdapters, importtest.NoTemporal, importtest.NoAWS)...)
}
