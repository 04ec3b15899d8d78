package process_test

import (
	"os"
	"testing"

	"floe/internal/job"
	"floe/internal/job/jobtest"
	"floe/internal/job/process"
)

// TestMain makes the test program a supervisor where it is called as one.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == process.Verb {
		os.Exit(process.Supervise(os.Args[2], os.Stderr))
	}
	if len(os.Args) == 3 && os.Args[1] == "submit-and-wait" {
		os.Exit(submitAndWait(os.Args[2]))
	}
	os.Exit(m.Run())
}

func TestBackend(t *testing.T) {
	root := t.TempDir()
	jobtest.Run(t, jobtest.World{Open: func(t *testing.T) job.Backend { return open(t, root) }})
}

func open(t *testing.T, root string) *process.Backend {
	t.Helper()
	b, err := process.New(process.Settings{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	return b
}
