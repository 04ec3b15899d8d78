package s3_test

import (
	"os"
	"testing"

	"floe/internal/artifact"
	"floe/internal/artifact/artifacttest"
	"floe/internal/devtest"
)

func TestMain(m *testing.M) { os.Exit(devtest.Run(m)) }

func TestStoreKeepsThePromises(t *testing.T) {
	artifacttest.Run(t, func(t *testing.T) artifact.Store { return devtest.Shared(t).Store() })
}
