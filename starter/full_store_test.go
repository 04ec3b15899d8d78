package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"floe/activities"
	"floe/internal/artifact"
	"floe/internal/devtest"
	"floe/internal/experiment"
)

// guarded is a stack with a proxy before its store.
type guarded struct {
	t        *testing.T
	stack    *devtest.Stack
	endpoint string
}

func guard(t *testing.T, refuse func(w http.ResponseWriter)) guarded {
	t.Helper()
	return behind(t, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodPut || r.Method == http.MethodPost {
			_, _ = io.Copy(io.Discard, r.Body)
			refuse(w)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func behind(t *testing.T, see func(w http.ResponseWriter, r *http.Request, next http.Handler)) guarded {
	t.Helper()
	g := guarded{t: t, stack: devtest.Start(t)}
	proxy, err := devtest.Between(g.stack.S3, see)
	if err != nil {
		t.Fatal(err)
	}
	proxy.Start()
	t.Cleanup(proxy.Close)
	g.endpoint = proxy.URL
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", g.stack.Credentials)
	return g
}

// fill puts an experiment with one step, and garbage, and makes all of it old.
func (g guarded) fill() artifact.Manifest {
	g.t.Helper()
	steps := artifact.Steps{Store: g.stack.Store()}
	id := experiment.StepID{Kind: "curriculum", Key: "k1"}
	m, _, err := steps.Commit(g.t.Context(), id, "run-1", nil, time.Now(), []artifact.Body{artifact.Bytes("curriculum.json", []byte("{}"))})
	if err != nil {
		g.t.Fatal(err)
	}
	refs, err := json.Marshal(activities.Refs{Curriculum: activities.Done{ID: id}})
	err = errors.Join(err, steps.PutDoc(g.t.Context(), "demo", activities.DocIndex, refs),
		steps.Store.Put(g.t.Context(), "steps/train/k2/dead-t1/policy.bin", strings.NewReader("garbage")))
	if err != nil {
		g.t.Fatal(err)
	}
	then := time.Now().Add(-10 * time.Minute)
	err = filepath.WalkDir(filepath.Join(g.stack.Dir, "s3", g.stack.Bucket), func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Chtimes(path, then, then))
	})
	if err != nil {
		g.t.Fatal(err)
	}
	return m
}

func (g guarded) says(code int, want string, args ...string) {
	g.t.Helper()
	var out, errOut bytes.Buffer
	args = append(args, "--address", g.stack.Temporal, "--namespace", g.stack.Namespace, "--s3-endpoint", g.endpoint, "--bucket", g.stack.Bucket)
	if got := run(g.t.Context(), args, strings.NewReader(""), &out, &errOut); got != code || !strings.Contains(out.String()+errOut.String(), want) {
		g.t.Errorf("starter %s: exit code %d; want %d and %q\n%s%s", strings.Join(args[:2], " "), got, code, want, out.String(), errOut.String())
	}
}

func TestAFullStoreIsReadAndSweptFree(t *testing.T) {
	g := guard(t, func(w http.ResponseWriter) { w.WriteHeader(http.StatusInsufficientStorage) })
	m := g.fill()
	g.says(exitOK, "start/curriculum/curriculum.json", "artifacts", "ls", "demo")
	g.says(exitOK, "{}", "artifacts", "get", "demo", "start/curriculum/curriculum.json", "-O", "-")
	g.says(exitOK, "1 steps checked", "artifacts", "verify")
	g.says(exitNotFound, "experiment demo not found", "show", "demo") // it has no results
	g.says(exitNotFound, "no report.json", "report", "demo", "-o", "json")
	g.says(exitOK, "would sweep 1 objects", "gc", "--older", "1m", "--dry-run")
	g.says(exitOK, "the store is full: objects were deleted at once instead of quarantined", "gc", "--older", "1m")
	g.says(exitOK, "would sweep 0 objects", "gc", "--older", "1m", "--dry-run")
	g.says(exitOK, "1 steps checked", "artifacts", "verify")
	g.says(exitUnreachable, "artifact store cannot be used", "run", specFile(t, small)) // which needs writes
	if _, err := (artifact.Steps{Store: g.stack.Store()}).Verify(t.Context(), m.ID); err != nil {
		t.Error(err)
	}
}

func TestKeysThatMayOnlyReadCanLook(t *testing.T) {
	g := guard(t, func(w http.ResponseWriter) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>`)
	})
	g.fill()
	g.says(exitOK, "start/curriculum/curriculum.json", "artifacts", "ls", "demo")
	g.says(exitOK, "1 steps checked", "artifacts", "verify")
	g.says(exitOK, "would sweep 1 objects", "gc", "--older", "1m", "--dry-run")
	g.says(exitFailed, "these credentials may not do this", "gc", "--older", "1m")
}

func TestWhatGCTookIsBroughtBackFromTheCommandLine(t *testing.T) {
	g := guard(t, func(http.ResponseWriter) {})
	g.endpoint = g.stack.S3 // which takes writes
	g.fill()
	key := "steps/train/k2/dead-t1/policy.bin"
	steps := artifact.Steps{Store: g.stack.Store()}
	g.says(exitOK, "to restore: ", "gc", "--older", "1m")
	if listed, err := steps.Store.List(t.Context(), key); err != nil || len(listed) != 0 {
		t.Errorf("listed %v, %v; want it to be in quarantine", listed, err)
	}
	moments, err := steps.Moments(t.Context())
	if err != nil || len(moments) != 1 {
		t.Fatalf("moments %q, %v; want one", moments, err)
	}
	g.says(exitOK, moments[0], "gc", "restore")
	g.says(exitOK, "restored 1 objects", "gc", "restore", moments[0])
	g.says(exitNotFound, "nothing of "+moments[0], "gc", "restore", moments[0])
	if listed, err := steps.Store.List(t.Context(), key); err != nil || len(listed) != 1 {
		t.Errorf("listed %v, %v; want it to be back", listed, err)
	}
	g.says(exitUsage, "--quarantine is -1h0m0s", "gc", "--quarantine", "-1h")
}

func TestATornManifestStopsGCUntilItIsSetAside(t *testing.T) {
	g := guard(t, func(http.ResponseWriter) {})
	g.endpoint = g.stack.S3
	if err := g.stack.Store().Put(t.Context(), "steps/train/k3/manifest.json", strings.NewReader("torn")); err != nil {
		t.Fatal(err)
	}
	g.fill()
	g.says(exitFailed, "1 manifests cannot be read: train/k3", "gc", "--older", "1m")
	g.says(exitFailed, "which no experiment refers to", "artifacts", "verify")
	g.says(exitOK, "set aside to", "artifacts", "verify", "--repair")
	g.says(exitOK, "swept 1 objects", "gc", "--older", "1m")
}

// TestACutListingSweepsNothing cuts each listing to its first key and gives no token.
func TestACutListingSweepsNothing(t *testing.T) {
	g := behind(t, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		whole := httptest.NewRecorder()
		next.ServeHTTP(whole, r)
		body := whole.Body.String()
		if at := strings.Index(body, "</Contents>"); r.URL.Query().Get("list-type") == "2" && strings.Count(body, "<Contents>") > 1 {
			body = body[:at+len("</Contents>")] + "<IsTruncated>true</IsTruncated></ListBucketResult>"
		}
		w.Header().Set("ETag", whole.Header().Get("ETag"))
		w.WriteHeader(whole.Code)
		_, _ = io.WriteString(w, body)
	})
	g.fill()
	g.says(exitFailed, "this listing cannot be trusted", "gc", "--unreferenced", "--older", "1m")
	listed, err := g.stack.Store().List(t.Context(), "")
	if err != nil || len(listed) != 4 {
		t.Errorf("left %v, %v; want all four objects", listed, err)
	}
}
