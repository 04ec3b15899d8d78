package s3_test

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"floe/internal/artifact/s3"
	"floe/internal/devtest"
	"floe/internal/outage"
)

// faulty is a proxy that makes one fault of an honest server.
type faulty func(w http.ResponseWriter, r *http.Request, next http.Handler)

// lie gives the answer of an honest server with a change.
func lie(when func(*http.Request) bool, change func(h http.Header, status *int, body *string)) faulty {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if !when(r) {
			next.ServeHTTP(w, r)
			return
		}
		honest := httptest.NewRecorder()
		next.ServeHTTP(honest, r)
		status, body := honest.Code, honest.Body.String()
		change(honest.Header(), &status, &body)
		maps.Copy(w.Header(), honest.Header())
		w.Header().Del("Content-Length")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func object(r *http.Request) bool {
	return r.Method == http.MethodGet && r.URL.RawQuery == "" || r.URL.Query().Get("x-id") == "GetObject"
}

// stale is a cache that is never renewed, for what a test names.
func stale(when func(*http.Request) bool) faulty {
	var mu sync.Mutex
	first := map[string]*httptest.ResponseRecorder{}
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if !when(r) {
			next.ServeHTTP(w, r)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if first[r.URL.String()] == nil {
			first[r.URL.String()] = httptest.NewRecorder()
			next.ServeHTTP(first[r.URL.String()], r)
		}
		maps.Copy(w.Header(), first[r.URL.String()].Header())
		w.WriteHeader(first[r.URL.String()].Code)
		_, _ = w.Write(first[r.URL.String()].Body.Bytes())
	}
}

func TestEachRuleIsFoundBroken(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault faulty
		rule  string // that fails; none if empty
		help  string
		minor bool
	}{
		{name: "an honest server", fault: func(w http.ResponseWriter, r *http.Request, next http.Handler) { next.ServeHTTP(w, r) }},
		{"checksums of parts that are wrong", lie(func(r *http.Request) bool {
			return object(r) && strings.HasSuffix(r.URL.Path, "/large") && r.Header.Get("X-Amz-Checksum-Mode") != ""
		}, func(h http.Header, _ *int, _ *string) {
			h.Set("X-Amz-Checksum-Crc32", "AAAAAA==")
			h.Set("X-Amz-Checksum-Type", "FULL_OBJECT")
		}), "an object over 16 MiB is put in parts", "set checksums: when_required", false},
		{"large objects that are damaged", lie(func(r *http.Request) bool { return object(r) && strings.HasSuffix(r.URL.Path, "/large") }, func(h http.Header, _ *int, body *string) {
			*body = "x" + (*body)[1:]
		}), "an object over 16 MiB is put in parts", "here that did not help", false},
		{"conditions that are ignored", lie(func(r *http.Request) bool { return r.Header.Get("If-None-Match") != "" }, func(h http.Header, status *int, body *string) {
			*status, *body = 200, ""
			h.Set("ETag", `"e"`)
		}), "of conditional puts one wins", "newer version", false},
		{"a cache of listings", stale(func(r *http.Request) bool {
			return r.URL.Query().Get("list-type") == "2" && strings.Contains(r.URL.Query().Get("prefix"), "list/")
		}), "a listing is complete", "no cache before it", false},
		{"a cache of objects", stale(func(r *http.Request) bool { return object(r) && strings.HasSuffix(r.URL.Path, "/replaced") }), "a put replaces", "no cache may lie before it", false},
		{"ranges that are ignored", func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if r.Header.Get("Range") != "" {
				w.Header().Set("ETag", `"e"`)
				_, _ = w.Write(make([]byte, 1000))
				return
			}
			next.ServeHTTP(w, r)
		}, "a part of an object can be read", "Range", false},
		{"versions that are ignored", lie(func(r *http.Request) bool { return r.Header.Get("If-Match") == `"another"` }, func(h http.Header, status *int, body *string) {
			*status, *body = 200, "x"
			h.Set("ETag", `"e"`)
		}), "a part of an object can be read", "If-Match", false},
		{"a clock that is wrong", lie(func(r *http.Request) bool { return r.URL.Query().Get("list-type") == "2" }, func(h http.Header, _ *int, _ *string) {
			h.Set("Date", time.Now().Add(-10*time.Minute).UTC().Format(http.TimeFormat))
		}), "the clocks agree", "NTP", true},
		{"no copies", func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if r.Header.Get("X-Amz-Copy-Source") != "" {
				answer(501, "NotImplemented")(w, r)
				return
			}
			next.ServeHTTP(w, r)
		}, "an object is copied on the server", "--quarantine 0", true},
		{"no list of uploads", func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if r.Method == http.MethodGet && r.URL.Query().Has("uploads") {
				answer(501, "NotImplemented")(w, r)
				return
			}
			next.ServeHTTP(w, r)
		}, "unfinished uploads are listed", "a rule to the bucket", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, settings := between(t, devtest.Shared(t), (*httptest.Server).Start, c.fault)
			store := open(t, settings)
			want := 12
			if c.rule != "" && !strings.Contains(c.name, "parts") && !strings.Contains(c.name, "large") {
				t.Cleanup(s3.WithoutLarge())
				want--
			}
			told := 0
			for _, f := range store.Prove(t.Context(), func(s3.Finding) { told++ }) {
				broken := c.rule != "" && strings.HasPrefix(f.Rule, c.rule)
				if f.OK == broken || f.Untried {
					t.Errorf("%q: ok %v, untried %v, %s; want ok %v", f.Rule, f.OK, f.Untried, f.Why, !broken)
				}
				if broken && (!strings.Contains(f.Help, c.help) || f.Why == "" || f.Minor != c.minor) {
					t.Errorf("%q: minor %v, why %q, help %q; want help with %q", f.Rule, f.Minor, f.Why, f.Help, c.help)
				}
				if err := store.Unusable([]s3.Finding{f}); (err != nil) != (broken && !c.minor) {
					t.Errorf("%q: unusable: %v", f.Rule, err)
				}
			}
			if told != want {
				t.Errorf("%d rules were told; want %d", told, want)
			}
			if left, err := devtest.Shared(t).Store().List(t.Context(), "checks/"); err != nil || len(left) != 0 {
				t.Errorf("left %v, %v", left, err)
			}
		})
	}
}

func TestWithoutAConnectionTheOtherRulesAreNotTried(t *testing.T) {
	withKeys(t, "a", canary)
	store := open(t, s3.Settings{Bucket: "floe", Endpoint: nobody(t)})
	all := store.Prove(t.Context(), func(s3.Finding) {})
	for i, f := range all {
		if f.OK != (i == 0) || f.Untried != (i > 1) {
			t.Errorf("%q: %+v", f.Rule, f)
		}
	}
	if _, away := outage.As(all[1].Err); !away || !strings.Contains(all[1].Why, "connection refused") {
		t.Errorf("got %+v; want an outage", all[1])
	}
	if err := store.Unusable(all); err == nil || strings.Contains(err.Error(), canary) {
		t.Errorf("got %v", err)
	}
}
