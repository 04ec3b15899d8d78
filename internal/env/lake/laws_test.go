package lake_test

import (
	"testing"

	"floe/internal/env/envtest"
	"floe/internal/env/lake"
)

func TestLaws(t *testing.T) { envtest.Run(t, lake.New()) }
