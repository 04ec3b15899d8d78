package s3_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"floe/internal/artifact"
	"floe/internal/artifact/s3"
	"floe/internal/devtest"
	"floe/internal/experiment"
)

const large = 20<<20 + 1

// between puts a proxy before the real server. See may answer a request itself,
// by calling next or not.
func between(t *testing.T, stack *devtest.Stack, start func(*httptest.Server), see func(w http.ResponseWriter, r *http.Request, next http.Handler)) (*httptest.Server, s3.Settings) {
	t.Helper()
	server, err := devtest.Between(stack.S3, see)
	if err != nil {
		t.Fatal(err)
	}
	start(server)
	t.Cleanup(server.Close)
	settings := stack.Settings()
	settings.Endpoint = server.URL
	return server, settings
}

// content is always the same, up to large bytes.
func content(n int) []byte { return pattern()[:n:n] }

var pattern = sync.OnceValue(func() []byte {
	b := make([]byte, large)
	for i := range b {
		b[i] = byte(i>>16 + i>>8 + i)
	}
	return b
})

func roundTrip(t *testing.T, store *s3.Store) {
	t.Helper()
	for _, n := range []int{0, 5, 100_000, large} {
		key := fresh()
		if err := store.Put(t.Context(), key, bytes.NewReader(content(n))); err != nil {
			t.Fatal(err)
		}
		if got := get(t, store, key); !bytes.Equal(got, content(n)) {
			t.Errorf("%d bytes came back as %d others", n, len(got))
		}
	}
	if err := store.PutIfAbsent(t.Context(), fresh(), []byte("x")); err != nil {
		t.Error(err)
	}
}

func get(t *testing.T, store *s3.Store, key string) []byte {
	t.Helper()
	r, err := store.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r)
	if err := errors.Join(err, r.Close()); err != nil {
		t.Fatal(err)
	}
	return got
}

func TestOverTLSWithAnAuthorityOfOnesOwn(t *testing.T) {
	var trailers atomic.Int32
	server, settings := between(t, devtest.Shared(t), (*httptest.Server).StartTLS, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Header.Get("X-Amz-Trailer") != "" {
			trailers.Add(1)
		}
		next.ServeHTTP(w, r)
	})
	err := open(t, settings).Check(t.Context())
	if err == nil || !strings.Contains(err.Error(), "AWS_CA_BUNDLE") {
		t.Errorf("got %v; want it to say how to trust the authority", err)
	}
	bundle := filepath.Join(t.TempDir(), "ca.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(bundle, block, 0o600); err != nil {
		t.Fatal(err)
	}
	trusting := settings
	trusting.CABundle = bundle
	roundTrip(t, open(t, trusting))
	if trailers.Load() == 0 {
		t.Error("no put carried its checksum in a trailer")
	}
	t.Setenv("AWS_CA_BUNDLE", bundle)
	if err := open(t, settings).Check(t.Context()); err != nil {
		t.Errorf("with AWS_CA_BUNDLE: %v", err)
	}
}

func TestChecksumsCanBeLeftOutForOldServers(t *testing.T) {
	for setting, want := range map[string]bool{"": true, "when_required": false} {
		t.Run("set_to_"+setting, func(t *testing.T) {
			var sent atomic.Bool
			_, settings := between(t, devtest.Shared(t), (*httptest.Server).Start, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				for name := range r.Header {
					if strings.HasPrefix(strings.ToLower(name), "x-amz-checksum") || strings.EqualFold(name, "x-amz-trailer") {
						sent.Store(true)
					}
				}
				next.ServeHTTP(w, r)
			})
			settings.Checksums = setting
			roundTrip(t, open(t, settings))
			if sent.Load() != want {
				t.Errorf("checksums sent: %v; want %v", sent.Load(), want)
			}
		})
	}
}

func TestABrokenDownloadGoesOnWhereItBroke(t *testing.T) {
	var mu sync.Mutex
	var ranges []string
	_, settings := between(t, devtest.Shared(t), (*httptest.Server).Start, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		mu.Lock()
		defer mu.Unlock()
		if r.Method == http.MethodGet {
			ranges = append(ranges, r.Header.Get("Range"))
			if len(ranges) < 3 {
				w = &breaking{ResponseWriter: w, left: 1 << 20}
			}
		}
		next.ServeHTTP(w, r)
	})
	store := open(t, settings)
	key := fresh()
	if err := store.Put(t.Context(), key, bytes.NewReader(content(4<<20))); err != nil {
		t.Fatal(err)
	}
	if got := get(t, store, key); !bytes.Equal(got, content(4<<20)) {
		t.Errorf("got %d other bytes", len(got))
	}
	if len(ranges) != 3 || ranges[0] != "" || !strings.HasPrefix(ranges[2], "bytes=") {
		t.Errorf("asked for %q; want the whole and then two rests", ranges)
	}
}

// breaking breaks the connection after some bytes.
type breaking struct {
	http.ResponseWriter
	left int
}

func (b *breaking) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		_ = http.NewResponseController(b.ResponseWriter).Flush()
		panic(http.ErrAbortHandler)
	}
	return b.ResponseWriter.Write(p)
}

func TestADownloadThatNeverGetsOnIsGivenUp(t *testing.T) {
	var asked atomic.Int32
	_, settings := between(t, devtest.Shared(t), (*httptest.Server).Start, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodGet {
			asked.Add(1)
			w.Header().Set("ETag", `"e"`)
			w.Header().Set("Content-Length", "100")
			w.WriteHeader(http.StatusOK)
			return
		}
		next.ServeHTTP(w, r)
	})
	r, err := open(t, settings).Get(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(r); err == nil || asked.Load() > 5 {
		t.Errorf("asked %d times, %v; want an error after a few", asked.Load(), err)
	}
}

func TestAReplacedObjectIsNeverMixedIn(t *testing.T) {
	stack := devtest.Shared(t)
	key := fresh()
	first := true
	_, settings := between(t, stack, (*httptest.Server).Start, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodGet && first {
			first = false
			defer func() {
				if err := stack.Store().Put(context.Background(), key, bytes.NewReader(make([]byte, 4<<20))); err != nil {
					t.Error(err)
				}
				panic(http.ErrAbortHandler)
			}()
			w = &cut{ResponseWriter: w, left: 1 << 20}
		}
		next.ServeHTTP(w, r)
	})
	store := open(t, settings)
	if err := store.Put(t.Context(), key, bytes.NewReader(content(4<<20))); err != nil {
		t.Fatal(err)
	}
	r, err := store.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r); err == nil {
		t.Errorf("read %d bytes of two objects; want an error", len(got))
	}
}

// cut takes what is written but passes on only the first bytes.
type cut struct {
	http.ResponseWriter
	left int
}

func (c *cut) Write(p []byte) (int, error) {
	n := min(len(p), c.left)
	c.left -= n
	if n > 0 {
		if _, err := c.ResponseWriter.Write(p[:n]); err != nil {
			return 0, err
		}
		_ = http.NewResponseController(c.ResponseWriter).Flush()
	}
	return len(p), nil
}

func TestDamageOnTheServersDiskIsFound(t *testing.T) {
	stack := devtest.Shared(t)
	steps := artifact.Steps{Store: stack.Store()}
	for name, n := range map[string]int{"small": 1000, "large": large} {
		id := experiment.StepID{Kind: "test", Key: name + rand.Text()}
		m, _, err := steps.Commit(t.Context(), id, "run-1", nil, time.Now(), []artifact.Body{artifact.Bytes("f", content(n))})
		if err != nil {
			t.Fatal(err)
		}
		f, _ := m.File("f")
		flip(t, filepath.Join(stack.Dir, "s3", stack.Bucket, f.Object))
		_, err = steps.Read(t.Context(), m, "f")
		var corrupt *artifact.CorruptError
		if !errors.As(err, &corrupt) || corrupt.Object != f.Object {
			t.Errorf("%s: %v; want a CorruptError", name, err)
		}
	}
}

func flip(t *testing.T, file string) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 1)
	if _, err := f.ReadAt(b, 500); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 4
	if _, err := f.WriteAt(b, 500); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
