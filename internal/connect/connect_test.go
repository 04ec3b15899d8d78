package connect_test

import (
	"testing"

	"floe/internal/connect"
)

// TestAUserWithoutAHomeCanUseServersElsewhere: services of a system have no HOME.
func TestAUserWithoutAHomeCanUseServersElsewhere(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"HOME", "XDG_STATE_HOME"} {
		t.Setenv(name, "")
	}
	s, err := connect.Resolve(connect.Flags{Address: "temporal:7233", Endpoint: "http://s3:9000"})
	if err != nil || s.Temporal.Address != "temporal:7233" || s.S3.Endpoint != "http://s3:9000" {
		t.Errorf("%+v, %v", s, err)
	}
	if folder, err := s.Beside("worker"); err == nil {
		t.Errorf("the worker's folder is %q; want an error that says what to set", folder)
	}
}
