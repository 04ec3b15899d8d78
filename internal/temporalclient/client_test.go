package temporalclient_test

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"floe/internal/temporalclient"
)

func TestAnUnreachableServerIsOneSentence(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for address, why := range map[string]string{gone: "(connection refused)", "name.invalid:7233": "(the name has no address)"} {
		began := time.Now()
		_, err = temporalclient.Dial(t.Context(), temporalclient.Settings{Address: address})
		if _, ok := errors.AsType[*temporalclient.UnreachableError](err); !ok {
			t.Fatalf("dialling %s: %v; want an UnreachableError", address, err)
		}
		for _, s := range []string{address, why, "starter dev", "--address", "TEMPORAL_ADDRESS"} {
			if !strings.Contains(err.Error(), s) {
				t.Errorf("%q lacks %q", err, s)
			}
		}
		for _, s := range []string{"rpc", "transport", "desc =", "\n"} {
			if strings.Contains(err.Error(), s) {
				t.Errorf("%q has %q", err, s)
			}
		}
		if took := time.Since(began); took > temporalclient.Timeout {
			t.Errorf("gave up after %v", took)
		}
	}
}

func TestTheDefaultServerIsKnown(t *testing.T) {
	if s := (temporalclient.Settings{}); !s.IsDefault() {
		t.Error("nothing names a server, and it is not the default")
	}
	if s := (temporalclient.Settings{Address: "temporal.example:7233"}); s.IsDefault() {
		t.Error("a named server is taken for the default")
	}
	t.Setenv("TEMPORAL_ADDRESS", "temporal.example:7233")
	if s := (temporalclient.Settings{}); s.IsDefault() {
		t.Error("a server named in the environment is taken for the default")
	}
}
