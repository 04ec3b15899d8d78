package ray_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"floe/internal/importtest"
	"floe/internal/job"
	"floe/internal/job/backend/ray"
	"floe/internal/job/jobtest"
	"floe/internal/outage"
)

func TestImports(t *testing.T) { importtest.Check(t, importtest.NoTemporal, importtest.NoAWS) }

func open(t *testing.T, s ray.Settings) *ray.Backend {
	t.Helper()
	b, err := ray.New(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// cluster is the address of a Ray to test with; scripts/test-ray starts one.
func cluster(t *testing.T) string {
	t.Helper()
	address := os.Getenv("FLOE_TEST_RAY")
	if address == "" {
		t.Skip("set FLOE_TEST_RAY to the address of a local Ray's dashboard, or run make test-ray")
	}
	return address
}

func TestBackend(t *testing.T) {
	address := cluster(t)
	jobtest.Run(t, jobtest.World{
		Open:            func(t *testing.T) job.Backend { return open(t, ray.Settings{Address: address}) },
		NoExitAfterStop: true,
	})
}

func TestAJobThatFindsNoGPUWaits(t *testing.T) {
	b := open(t, ray.Settings{Address: cluster(t)})
	r := request(t, "exit 0")
	r.Resources.GPUs = 1
	if s, err := b.Submit(t.Context(), r); err != nil || s.State != job.Pending {
		t.Fatalf("got %s, %v; want it to wait for a GPU", s, err)
	}
	if err := b.Stop(t.Context(), r.Name(), time.Hour); err != nil {
		t.Fatal(err)
	}
	if s, err := b.Status(t.Context(), r.Name()); err != nil || !s.State.Final() {
		t.Errorf("got %s, %v; want it ended", s, err)
	}
	none := 0
	b = open(t, ray.Settings{Address: cluster(t), EntrypointGPUs: &none})
	r.Attempt++
	if _, err := b.Submit(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(jobtest.Patience); ; time.Sleep(100 * time.Millisecond) {
		s, err := b.Status(t.Context(), r.Name())
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("got %s, %v; want it ended", s, err)
		}
		if s.State.Final() {
			return // a trainer that reserves GPUs itself starts without one
		}
	}
}

func request(t *testing.T, script string) job.Request {
	t.Helper()
	name := "ray-" + strings.ToLower(strings.NewReplacer("_", "", "/", "").Replace(t.Name()))
	return job.Request{
		Job: name[:20] + time.Now().UTC().Format("150405"), Attempt: 1, Command: []string{"sh", "-c", script}, Spec: "/none",
		SpecSHA256: job.Digest([]byte(name)), Dir: t.TempDir(), Grace: time.Minute,
	}
}

// What follows is about answers that a sound cluster does not give.

func serve(t *testing.T, status int, body string) *ray.Backend {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret-token" {
			t.Errorf("the call came with %q; want the token", r.Header.Get("Authorization"))
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(s.Close)
	return open(t, ray.Settings{Address: s.URL + "/", Token: "secret-token"})
}

func TestWhatRaySaysIsRead(t *testing.T) {
	for _, c := range []struct {
		body  string
		want  job.State
		code  int // -1: none
		cause string
	}{
		{`{"status":"PENDING","message":"waiting for resources"}`, job.Pending, -1, "waiting for resources"},
		{`{"status":"RUNNING"}`, job.Running, -1, ""},
		{`{"status":"SUCCEEDED","driver_exit_code":0}`, job.Ended, 0, ""},
		{`{"status":"FAILED","driver_exit_code":75,"message":"Traceback\n  x\nexit code 75"}`, job.Ended, 75, "exit code 75"},
		{`{"status":"FAILED","driver_exit_code":-9}`, job.Ended, 137, ""},
		{`{"status":"FAILED","error_type":"JOB_SUPERVISOR_ACTOR_START_TIMEOUT","message":"no GPU in time"}`, job.Lost, -1, "no GPU in time"},
		{`{"status":"STOPPED"}`, job.Ended, -1, ""},
		{`{"status":"STOPPED","driver_exit_code":143}`, job.Ended, 143, ""},
	} {
		body := strings.Replace(c.body, "{", `{"metadata":{"floe_job":"train-1"},`, 1)
		s, err := serve(t, http.StatusOK, body).Status(t.Context(), "train-1-a1")
		code := -1
		if s.ExitCode != nil {
			code = *s.ExitCode
		}
		if err != nil || s.State != c.want || code != c.code || s.Reason != c.cause {
			t.Errorf("%s: got %s, %v", c.body, s, err)
		}
	}
}

func TestTroubleIsNotMistakenForAJobThatIsNotThere(t *testing.T) {
	for status, body := range map[int]string{500: "boom", 401: "who are you", 200: "<html>a proxy"} {
		b := serve(t, status, body)
		if s, err := b.Status(t.Context(), "train-1-a1"); err == nil || strings.Contains(err.Error(), job.ErrUnknown.Error()) || strings.Contains(err.Error(), "secret-token") {
			t.Errorf("HTTP %d: got %s, %v; want an error that says so", status, s, err)
		}
		if b.Check(t.Context()) == nil {
			t.Errorf("HTTP %d: check passes; want an error", status)
		}
	}
	if err := serve(t, 200, `{"version":"4"}`).Check(t.Context()); err == nil || !strings.Contains(err.Error(), "no Ray") {
		t.Errorf("check of another server: %v", err)
	}
}

func TestAJobOfOthersUnderOurNameIsNeitherAdoptedNorStopped(t *testing.T) {
	for _, metadata := range []string{`null`, `{}`, `{"floe_job":"train-2"}`} {
		var stops int
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet {
				stops++
			}
			_, _ = w.Write([]byte(`{"submission_id":"train-1-a1","status":"RUNNING","metadata":` + metadata + `}`))
		}))
		b := open(t, ray.Settings{Address: s.URL})
		if st, err := b.Status(t.Context(), "train-1-a1"); !errors.Is(err, job.ErrUnknown) {
			t.Errorf("%s: the status is %s, %v; want ErrUnknown", metadata, st, err)
		}
		r := request(t, "exit 0")
		r.Job = "train-1"
		if _, err := b.Submit(t.Context(), r); err == nil {
			t.Errorf("%s: it was adopted; want a conflict", metadata)
		}
		if err := b.Stop(t.Context(), "train-1-a1", 0); err != nil || stops > 0 {
			t.Errorf("%s: stop: %v, after %d calls that change something; want none", metadata, err, stops)
		}
		s.Close()
	}
}

func TestARayThatDoesNotServeIsAnOutage(t *testing.T) {
	for status, want := range map[int]bool{429: true, 500: true, 502: true, 503: true, 504: true, 400: false, 401: false, 403: false} {
		_, err := serve(t, status, "boom").Status(t.Context(), "train-1-a1")
		if e, is := outage.As(err); err == nil || is != want || is && !strings.HasPrefix(e.Service, "Ray at http://127.0.0.1:") {
			t.Errorf("HTTP %d: got %v, an outage: %t; want %t", status, err, is, want)
		}
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if w.WriteHeader(http.StatusNotFound); r.Method == http.MethodPost {
			_, _ = w.Write([]byte("bad runtime_env"))
		}
	}))
	b := open(t, ray.Settings{Address: s.URL})
	if _, err := b.Submit(t.Context(), request(t, "exit 0")); err == nil || is(err) {
		t.Errorf("a refusal: %v; want no outage", err)
	}
	s.Close()
	for what, call := range map[string]func() error{
		"submit": func() error { _, err := b.Submit(t.Context(), request(t, "exit 0")); return err },
		"stop":   func() error { return b.Stop(t.Context(), "train-1-a1", 0) },
		"check":  func() error { return b.Check(t.Context()) },
	} {
		if err := call(); !is(err) {
			t.Errorf("%s: %v; want an outage", what, err)
		}
	}
}

func is(err error) bool {
	_, ok := outage.As(err)
	return ok
}

func TestAddressesAreChecked(t *testing.T) {
	for _, address := range []string{"", "head:8265", "ray://head:10001", "http://", "http://user:pw@head:8265"} {
		if _, err := ray.New(ray.Settings{Address: address}); err == nil {
			t.Errorf("the address %q is taken; want it refused", address)
		}
	}
}
