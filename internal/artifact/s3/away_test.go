package s3_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"floe/internal/artifact"
	"floe/internal/devtest"
	"floe/internal/outage"
)

// answer refuses what a proxy sees, as a server would.
func answer(status int, code string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(status)
		if code != "" {
			_, _ = io.WriteString(w, "<Error><Code>"+code+"</Code><Message>no</Message></Error>")
		}
	}
}

func breakOff(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

func TestWhatIsNotServedIsAnOutageAndAnAnswerIsNone(t *testing.T) {
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	stack := devtest.Shared(t)
	for _, c := range []struct {
		name   string
		answer http.HandlerFunc // nil: nothing listens
		away   bool
		want   string
	}{
		{"nothing listens", nil, true, "connection refused"},
		{"the connection breaks", breakOff, true, ""},
		{"503 SlowDown", answer(503, "SlowDown"), true, "the server asks for fewer requests"},
		{"503 without a word", answer(503, ""), true, ""},
		{"500", answer(500, "InternalError"), true, ""},
		{"502 of a proxy", page(502), true, ""},
		{"504 of a proxy", page(504), true, ""},
		{"429", answer(429, "TooManyRequests"), true, ""},
		{"507", answer(507, "XMinioStorageFull"), true, "the store is full"},
		{"507 without a word", answer(507, ""), true, ""},
		{"403 QuotaExceeded", answer(403, "QuotaExceeded"), true, "the quota is used up"},
		{"expired credentials", answer(400, "ExpiredToken"), true, "the credentials have expired"},
		{"403 AccessDenied", answer(403, "AccessDenied"), false, "these credentials may not do this"},
		{"a key that was never known", answer(403, "InvalidAccessKeyId"), false, "the server does not know this access key"},
		{"a wrong secret", answer(403, "SignatureDoesNotMatch"), false, "or a proxy on the way alters headers"},
		{"400", answer(400, "InvalidRequest"), false, ""},
		{"no bucket", answer(404, "NoSuchBucket"), false, ""},
		{"a web page", page(200), false, "no S3 server"},
	} {
		t.Run(c.name, func(t *testing.T) {
			settings := stack.Settings()
			settings.Endpoint = nobody(t)
			if c.answer != nil {
				settings.Endpoint = web(t, c.answer)
			}
			store := open(t, settings)
			_, list := store.List(t.Context(), "a")
			for doing, err := range map[string]error{
				"put":  store.Put(t.Context(), "a", strings.NewReader("x")),
				"list": list,
			} {
				o, away := outage.As(err)
				if err == nil || away != c.away || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%s: outage %v, %v; want %v and %q", doing, away, err, c.away, c.want)
				}
				if away && o.Service != "S3 at "+settings.Endpoint {
					t.Errorf("%s: the service is called %q", doing, o.Service)
				}
				if away && c.name == "503 SlowDown" && o.After != 7*time.Second {
					t.Errorf("%s: asks to come again after %s; want 7 s", doing, o.After)
				}
			}
			checked := store.Check(t.Context())
			if _, away := outage.As(checked); checked == nil || away != c.away {
				t.Errorf("check: outage %v, %v; want %v", away, checked, c.away)
			}
		})
	}
}

func TestAFullStoreIsTold(t *testing.T) {
	for _, refuse := range []http.HandlerFunc{answer(507, ""), answer(403, "QuotaExceeded")} {
		_, settings := between(t, devtest.Shared(t), (*httptest.Server).Start, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if r.Method == http.MethodPut || r.Method == http.MethodPost {
				refuse(w, r)
				return
			}
			next.ServeHTTP(w, r)
		})
		store := open(t, settings)
		for _, n := range []int{5, large} {
			if err := store.Put(t.Context(), fresh(), bytes.NewReader(content(n))); !errors.Is(err, artifact.ErrFull) {
				t.Errorf("put of %d bytes: %v; want ErrFull", n, err)
			}
		}
	}
}

func TestWhatIsMissingOrTakenIsNoOutage(t *testing.T) {
	store, key := devtest.Shared(t).Store(), fresh()
	_, missing := store.Get(t.Context(), key)
	if err := store.PutIfAbsent(t.Context(), key, nil); err != nil {
		t.Fatal(err)
	}
	taken := store.PutIfAbsent(t.Context(), key, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ended := store.Put(ctx, key, strings.NewReader("x"))
	short := store.Put(t.Context(), key, &shortBody{strings.NewReader("x")})
	for name, err := range map[string]error{"missing": missing, "taken": taken, "cancelled": ended, "a body that ends early": short} {
		if _, away := outage.As(err); err == nil || away {
			t.Errorf("%s: %v, an outage: %v; want an error that is none", name, err, away)
		}
	}
}

// shortBody says that it is longer than it is.
type shortBody struct{ *strings.Reader }

func (b *shortBody) Seek(offset int64, whence int) (int64, error) {
	n, err := b.Reader.Seek(offset, whence)
	if whence == io.SeekEnd {
		n += 10
	}
	return n, err
}

func TestADownloadThatBreaksForGoodIsAnOutage(t *testing.T) {
	var broken atomic.Bool
	_, settings := between(t, devtest.Shared(t), (*httptest.Server).Start, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodGet && broken.Load() {
			w = &breaking{ResponseWriter: w, left: 10}
		}
		next.ServeHTTP(w, r)
	})
	store, key := open(t, settings), fresh()
	if err := store.Put(t.Context(), key, bytes.NewReader(content(4<<20))); err != nil {
		t.Fatal(err)
	}
	broken.Store(true)
	r, err := store.Get(t.Context(), key)
	if err == nil {
		_, err = io.ReadAll(r)
	}
	if _, away := outage.As(err); !away {
		t.Errorf("got %v; want an outage", err)
	}
}
