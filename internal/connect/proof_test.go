package connect_test

import (
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"floe/internal/artifact/s3"
	"floe/internal/connect"
	"floe/internal/devtest"
)

func TestMain(m *testing.M) { os.Exit(devtest.Run(m)) }

// proxied is the shared stack's store behind a proxy, with a cache folder of its own.
func proxied(t *testing.T, see func(w http.ResponseWriter, r *http.Request, next http.Handler)) connect.Settings {
	t.Helper()
	server, err := devtest.Between(devtest.Shared(t).S3, see)
	if err != nil {
		t.Fatal(err)
	}
	server.Start()
	t.Cleanup(server.Close)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	settings := devtest.Shared(t).Settings()
	settings.Endpoint = server.URL
	return connect.Settings{S3: settings}
}

func prove(t *testing.T, s connect.Settings, log *slog.Logger) error {
	t.Helper()
	store, err := s.Store(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s.Prove(t.Context(), store, log)
}

func TestAStoreIsProvenOnceForTheSameSettings(t *testing.T) {
	var large atomic.Int32
	s := proxied(t, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.URL.Query().Get("partNumber") == "1" {
			large.Add(1)
		}
		next.ServeHTTP(w, r)
	})
	for _, c := range []struct {
		checksums string
		want      int32
	}{{"", 1}, {"", 1}, {"when_required", 2}, {"when_required", 2}} {
		s.S3.Checksums = c.checksums
		if err := prove(t, s, slog.New(slog.DiscardHandler)); err != nil || large.Load() != c.want {
			t.Errorf("with checksums %q: %d large puts, %v; want %d", c.checksums, large.Load(), err, c.want)
		}
	}
}

func TestAStoreThatBreaksARuleIsNotWorkedWithAndNotRemembered(t *testing.T) {
	var broken atomic.Bool
	broken.Store(true)
	s := proxied(t, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if broken.Load() && r.URL.Query().Get("partNumber") != "" {
			w.WriteHeader(http.StatusNotImplemented)
			return
		}
		next.ServeHTTP(w, r)
	})
	for range 2 {
		err := prove(t, s, slog.New(slog.DiscardHandler))
		if err == nil || !strings.Contains(err.Error(), "it is not so that an object over 16 MiB is put in parts and read back") {
			t.Errorf("got %v; want the rule to be named", err)
		}
	}
	broken.Store(false)
	if err := prove(t, s, slog.New(slog.DiscardHandler)); err != nil {
		t.Error(err)
	}
}

func TestWhatCostsComfortOnlyIsLogged(t *testing.T) {
	s := proxied(t, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodGet && r.URL.Query().Has("uploads") {
			w.WriteHeader(http.StatusNotImplemented)
			return
		}
		next.ServeHTTP(w, r)
	})
	var log strings.Builder
	if err := prove(t, s, slog.New(slog.NewTextHandler(&log, nil))); err != nil || !strings.Contains(log.String(), "unfinished uploads are listed") {
		t.Errorf("%v; logged %q", err, log.String())
	}
}

func TestTheStoreOfTheDevelopmentStackNeedsNoProof(t *testing.T) {
	s := proxied(t, func(http.ResponseWriter, *http.Request, http.Handler) { t.Error("it was asked") })
	info := devtest.Shared(t).Info
	info.S3 = s.S3.Endpoint
	s.Stack = &info
	store, err := s3.Open(t.Context(), s.S3)
	if err == nil {
		err = s.Prove(t.Context(), store, slog.New(slog.DiscardHandler))
	}
	if err != nil {
		t.Error(err)
	}
}
