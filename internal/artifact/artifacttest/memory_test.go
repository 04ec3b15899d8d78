package artifacttest_test

import (
	"testing"

	"floe/internal/artifact"
	"floe/internal/artifact/artifacttest"
)

func TestMemoryKeepsThePromises(t *testing.T) {
	artifacttest.Run(t, func(*testing.T) artifact.Store { return artifacttest.NewMemory() })
}
