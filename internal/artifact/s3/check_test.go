package s3_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"floe/internal/artifact/s3"
	"floe/internal/devtest"
)

const canary = "CANARY0secret0key0that0nobody0may0see"

// bare takes away all that AWS tools would find on this machine.
func bare(t *testing.T) {
	t.Helper()
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "") // so that it is put back
			if err := os.Unsetenv(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Setenv("HOME", t.TempDir())
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
}

func withKeys(t *testing.T, access, secret string) {
	t.Helper()
	bare(t)
	t.Setenv("AWS_ACCESS_KEY_ID", access)
	t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
}

func open(t *testing.T, settings s3.Settings) *s3.Store {
	t.Helper()
	store, err := s3.Open(t.Context(), settings)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// accessKey is the stack's own; its secret stays where it is.
func accessKey(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(content)) {
		if name, value, _ := strings.Cut(line, "="); strings.TrimSpace(name) == "aws_access_key_id" {
			return strings.TrimSpace(value)
		}
	}
	t.Fatal("no access key in the credentials file")
	return ""
}

// nobody is an address where nothing listens.
func nobody(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // it was never used
	return "http://" + l.Addr().String()
}

// mute is a server that takes connections and says nothing.
func mute(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return "http://" + l.Addr().String() // the kernel takes them
}

func web(t *testing.T, answer http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	return server.URL
}

func page(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "<html><body>It works!</body></html>")
	}
}

// lenient is an S3 server that lists nothing and takes every put.
func lenient(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("ETag", `"e"`)
	switch {
	case r.Method == http.MethodGet && r.URL.Query().Get("list-type") == "":
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `<Error><Code>NoSuchKey</Code><Message>no</Message></Error>`)
	case r.Method == http.MethodGet:
		_, _ = io.WriteString(w, `<ListBucketResult><Name>floe</Name></ListBucketResult>`)
	}
}

func readOnly(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPut {
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>`)
		return
	}
	lenient(w, r)
}

func TestCheckSaysWhatIsWrong(t *testing.T) {
	real := devtest.Shared(t)
	own := accessKey(t, real.Credentials)
	for _, c := range []struct {
		name, endpoint, bucket, access, want string
	}{
		{"nothing listens", nobody(t), "floe", own, "nothing listens there"},
		{"the secret is wrong", real.S3, "floe", own, "the secret key is not the one of this access key, or a proxy on the way alters headers that are signed (SignatureDoesNotMatch"},
		{"the access key is unknown", real.S3, "floe", "NOBODY", "the server does not know this access key (InvalidAccessKeyId"},
		{"Temporal answers", "http://" + real.Temporal, "floe", own, "what answers there is no S3 server"},
		{"the Web UI answers", real.UI, "floe", own, "what answers there is no S3 server"},
		{"a web page answers", web(t, page(200)), "floe", own, "what answers there is no S3 server"},
		{"a web page is missing", web(t, page(404)), "floe", own, "what answers there is no S3 server"},
		{"TLS meets none", strings.Replace(real.S3, "http:", "https:", 1), "floe", own, "the server does not speak TLS"},
		{"the server says nothing", mute(t), "floe", own, "no answer within 300ms"},
		{"conditions are ignored", web(t, lenient), "floe", own, "the server ignores conditions on puts"},
		{"only reading is allowed", web(t, readOnly), "floe", own, "these credentials may not do this (AccessDenied"},
		{"no credentials", real.S3, "floe", "", "no credentials found; set AWS_ACCESS_KEY_ID"},
	} {
		t.Run(c.name, func(t *testing.T) {
			withKeys(t, c.access, canary)
			store := open(t, s3.Settings{Bucket: c.bucket, Endpoint: c.endpoint})
			if strings.Contains(c.want, "300ms") {
				store.SetPatience(300 * time.Millisecond)
			}
			begun := time.Now()
			err := store.Check(t.Context())
			if took := time.Since(begun); took > 5*time.Second {
				t.Errorf("it took %s", took)
			}
			if _, ok := errors.AsType[*s3.UnusableError](err); !ok {
				t.Fatalf("got %v; want an UnusableError", err)
			}
			for _, want := range []string{"endpoint " + c.endpoint, "bucket " + c.bucket, c.want} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
			if strings.Contains(err.Error(), canary) {
				t.Error("the secret is in the error")
			}
		})
	}
}

func TestAHostThatIsNotThereIsNamed(t *testing.T) {
	err := fmt.Errorf("request send failed, %w", &net.DNSError{Err: "no such host", Name: "objects.example", IsNotFound: true})
	if got := s3.Unreachable(err); got != "no host is named objects.example" {
		t.Errorf("got %q", got)
	}
}

func TestCheckNamesAnUnknownBucket(t *testing.T) {
	settings := devtest.Shared(t).Settings()
	settings.Bucket = "elsewhere"
	err := open(t, settings).Check(t.Context())
	if err == nil || !strings.Contains(err.Error(), "bucket elsewhere: there is no such bucket (NoSuchBucket") {
		t.Errorf("got %v", err)
	}
	if err := open(t, settings).Put(t.Context(), "a", strings.NewReader("x")); err == nil || !strings.Contains(err.Error(), "there is no such bucket") {
		t.Errorf("put: %v", err)
	}
	if _, err := open(t, settings).Get(t.Context(), "a"); err == nil || !strings.Contains(err.Error(), "there is no such bucket") {
		t.Errorf("get: %v; a missing bucket is no missing object", err)
	}
}

func TestCheckGivesUpWithItsContext(t *testing.T) {
	withKeys(t, "a", "b")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := open(t, s3.Settings{Bucket: "floe", Endpoint: mute(t)}).Check(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v; want context.DeadlineExceeded", err)
	}
}

func TestCheckLeavesNothingBehind(t *testing.T) {
	store := devtest.Shared(t).Store()
	if err := store.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left, err := store.List(t.Context(), "checks/"); err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

func TestTheSecretIsInNoError(t *testing.T) {
	stack := devtest.Shared(t)
	withKeys(t, accessKey(t, stack.Credentials), canary)
	t.Setenv("AWS_SESSION_TOKEN", canary)
	var errs []error
	for _, endpoint := range []string{stack.S3, nobody(t), web(t, page(500)), web(t, page(200)), "http://" + stack.Temporal} {
		t.Setenv("AWS_MAX_ATTEMPTS", "1")
		store := open(t, s3.Settings{Bucket: "floe", Endpoint: endpoint})
		_, get := store.Get(t.Context(), "a")
		_, list := store.List(t.Context(), "a")
		_, sweep := store.SweepUploads(t.Context(), time.Now())
		errs = append(errs, get, list, sweep, store.Check(t.Context()),
			store.Put(t.Context(), "a", strings.NewReader("x")), store.PutIfAbsent(t.Context(), "a", nil),
			store.Put(t.Context(), "a", strings.NewReader(strings.Repeat("x", 17<<20))), store.Delete(t.Context(), "a"),
			fmt.Errorf("%v %+v %#v", store, store, store))
	}
	for i, file := range []string{"[default]\naws_secret_access_key " + canary, "[default\n" + canary, canary + "=x\n[default]", "\x00" + canary} {
		path := filepath.Join(t.TempDir(), fmt.Sprint(i))
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		store, err := s3.Open(t.Context(), s3.Settings{Bucket: "floe", Endpoint: stack.S3, CredentialsFile: path})
		if err == nil {
			err = store.Check(t.Context())
		}
		errs = append(errs, err)
	}
	for _, endpoint := range []string{"http://user:" + canary + "@127.0.0.1", "http://user:" + canary + "@127.0.0.1:port", "http://127.0.0.1:9/?X-Amz-Signature=" + canary, "user:" + canary + "@127.0.0.1"} {
		_, err := s3.Open(t.Context(), s3.Settings{Bucket: "floe", Endpoint: endpoint})
		errs = append(errs, err)
		t.Setenv("AWS_ENDPOINT_URL_S3", endpoint)
		_, err = s3.Open(t.Context(), s3.Settings{Bucket: "floe"})
		errs = append(errs, err)
	}
	if n := len(slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil })); n < 50 {
		t.Errorf("only %d errors were seen; the test is broken", n)
	}
	for _, err := range errs {
		for e := err; e != nil; e = errors.Unwrap(e) {
			if strings.Contains(e.Error(), canary) {
				t.Errorf("the secret is in %q", e)
			}
		}
	}
}
