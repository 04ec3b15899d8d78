package s3_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"floe/internal/artifact"
	"floe/internal/devtest"
	"floe/internal/experiment"
)

// fresh is a key that no other test uses, also when tests run again.
func fresh() string { return "tests/" + rand.Text() }

func TestConflictsOfConditionalPutsAreTriedAgain(t *testing.T) {
	var met atomic.Int32
	_, settings := between(t, devtest.Shared(t), (*httptest.Server).Start, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Header.Get("If-None-Match") != "" && met.Add(1) <= 2 {
			w.WriteHeader(http.StatusConflict)
			_, _ = io.WriteString(w, `<Error><Code>ConditionalRequestConflict</Code><Message>at work</Message></Error>`)
			return
		}
		next.ServeHTTP(w, r)
	})
	key := fresh()
	if err := open(t, settings).PutIfAbsent(t.Context(), key, []byte("x")); err != nil {
		t.Errorf("after two conflicts: %v", err)
	}
	met.Store(0)
	if err := open(t, settings).PutIfAbsent(t.Context(), key, []byte("x")); !errors.Is(err, artifact.ErrExists) {
		t.Errorf("after two conflicts with a winner: %v; want ErrExists", err)
	}
	met.Store(-1000)
	err := open(t, settings).PutIfAbsent(t.Context(), key, []byte("x"))
	if err == nil || errors.Is(err, artifact.ErrExists) || !strings.Contains(err.Error(), "ConditionalRequestConflict") {
		t.Errorf("conflicts without end: %v; want the conflict itself", err)
	}
}

func TestALostAnswerToTheManifestDoesNotLoseTheStep(t *testing.T) {
	var lost atomic.Bool
	_, settings := between(t, devtest.Shared(t), (*httptest.Server).Start, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Header.Get("If-None-Match") != "" && lost.CompareAndSwap(false, true) {
			next.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}
		next.ServeHTTP(w, r)
	})
	steps := artifact.Steps{Store: open(t, settings)}
	id := experiment.StepID{Kind: "test", Key: rand.Text()}
	m, adopted, err := steps.Commit(t.Context(), id, "run-1", nil, time.Now(), []artifact.Body{artifact.Bytes("f", []byte("x"))})
	if err != nil || adopted || !lost.Load() {
		t.Fatalf("commit: adopted %v, lost %v, %v; want our own step", adopted, lost.Load(), err)
	}
	if _, err := steps.Read(t.Context(), m, "f"); err != nil {
		t.Error(err)
	}
}

func TestALostAnswerToALargePutIsNotALostPut(t *testing.T) {
	var lost atomic.Bool
	_, settings := between(t, devtest.Shared(t), (*httptest.Server).Start, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodPost && r.URL.Query().Has("uploadId") && lost.CompareAndSwap(false, true) {
			next.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}
		next.ServeHTTP(w, r)
	})
	store, key := open(t, settings), fresh()
	if err := store.Put(t.Context(), key, bytes.NewReader(content(large))); err != nil || !lost.Load() {
		t.Fatalf("put: lost %v, %v", lost.Load(), err)
	}
	if got := get(t, store, key); !bytes.Equal(got, content(large)) {
		t.Errorf("got %d other bytes", len(got))
	}
}

func TestALargePutThatFailsLeavesNoUpload(t *testing.T) {
	var parts atomic.Int32
	_, settings := between(t, devtest.Shared(t), (*httptest.Server).Start, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.URL.Query().Get("partNumber") == "2" {
			parts.Add(1)
			_, _ = io.Copy(io.Discard, r.Body) // or the client meets a broken connection first
			w.WriteHeader(http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
	store := open(t, settings)
	err := store.Put(t.Context(), fresh(), bytes.NewReader(content(large)))
	if err == nil || errors.Is(err, context.Canceled) || parts.Load() != 1 {
		t.Errorf("put: %v after %d tries; want the refusal itself, once", err, parts.Load())
	}
	if n, err := store.SweepUploads(t.Context(), time.Now().Add(time.Hour)); n != 0 || err != nil {
		t.Errorf("swept %d, %v; want nothing to be left", n, err)
	}
}

func TestABriefOutageIsWaitedOut(t *testing.T) {
	var calls atomic.Int32
	_, settings := between(t, devtest.Shared(t), (*httptest.Server).Start, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		switch calls.Add(1) {
		case 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 2:
			panic(http.ErrAbortHandler)
		default:
			next.ServeHTTP(w, r)
		}
	})
	if err := open(t, settings).Put(t.Context(), fresh(), strings.NewReader("x")); err != nil {
		t.Error(err)
	}
}

func TestUploadsThatWereNeverFinishedAreSwept(t *testing.T) {
	stack := devtest.Shared(t)
	cfg, err := config.LoadDefaultConfig(t.Context(), config.WithRegion(stack.Region),
		config.WithSharedCredentialsFiles([]string{stack.Credentials}), config.WithSharedConfigProfile("default"))
	if err != nil {
		t.Fatal(err)
	}
	client := awss3.NewFromConfig(cfg, func(o *awss3.Options) { o.BaseEndpoint, o.UsePathStyle = &stack.S3, true })
	store := stack.Store()
	if n, err := store.SweepUploads(t.Context(), time.Now().Add(time.Hour)); n != 0 || err != nil {
		t.Errorf("swept %d, %v; want nothing left by broken and cancelled puts", n, err)
	}
	for i := range 3 {
		_, err := client.CreateMultipartUpload(t.Context(), &awss3.CreateMultipartUploadInput{Bucket: &stack.Bucket, Key: aws.String(fmt.Sprintf("killed/%d", i))})
		if err != nil {
			t.Fatal(err)
		}
	}
	if n, err := store.SweepUploads(t.Context(), time.Now().Add(-time.Hour)); n != 0 || err != nil {
		t.Errorf("swept %d, %v; want uploads that may be at work to stay", n, err)
	}
	if n, err := store.SweepUploads(t.Context(), time.Now().Add(time.Hour)); n != 3 || err != nil {
		t.Errorf("swept %d, %v; want 3", n, err)
	}
	if n, err := store.SweepUploads(t.Context(), time.Now().Add(time.Hour)); n != 0 || err != nil {
		t.Errorf("swept %d, %v; want nothing left", n, err)
	}
}
