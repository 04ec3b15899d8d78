package command_test

import (
	"testing"

	"floe/internal/importtest"
)

func TestImports(t *testing.T) {
	importtest.Check(t, importtest.NoTemporal, importtest.NoAWS, importtest.NoNetwork)
}
