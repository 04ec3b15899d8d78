package s3_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"floe/internal/artifact"
	"floe/internal/devtest"
)

func TestALargeObjectIsCopiedInParts(t *testing.T) {
	store, from, to := devtest.Shared(t).Store(), fresh(), fresh()
	store.SetCopies(1<<20, 8<<20)
	if err := store.Put(t.Context(), from, bytes.NewReader(content(large))); err != nil {
		t.Fatal(err)
	}
	if err := store.Copy(t.Context(), artifact.Object{Key: from, Size: large}, to); err != nil {
		t.Fatal(err)
	}
	if got := get(t, store, to); !bytes.Equal(got, content(large)) {
		t.Errorf("the copy has %d other bytes", len(got))
	}
}

// TestACopyThatIsNotThereIsAnError has a server that says OK and copies nothing.
func TestACopyThatIsNotThereIsAnError(t *testing.T) {
	_, settings := between(t, devtest.Shared(t), (*httptest.Server).Start, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Header.Get("X-Amz-Copy-Source") != "" {
			_, _ = io.WriteString(w, `<CopyObjectResult><ETag>"e"</ETag></CopyObjectResult>`)
			return
		}
		next.ServeHTTP(w, r)
	})
	store, from, to := open(t, settings), fresh(), fresh()
	for _, key := range []string{from, to} {
		if err := store.Put(t.Context(), key, strings.NewReader("short")); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Copy(t.Context(), artifact.Object{Key: from, Size: 1000}, to); err == nil || !strings.Contains(err.Error(), "want the 1000 of") {
		t.Errorf("got %v; want the size to be missed", err)
	}
}
