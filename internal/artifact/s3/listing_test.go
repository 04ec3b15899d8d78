package s3_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"floe/internal/artifact"
	"floe/internal/artifact/s3"
	"floe/internal/devtest"
)

// relisted is a store whose listings a proxy rewrites, in pages of two.
func relisted(t *testing.T, rewrite func(page int, body string) string) *s3.Store {
	t.Helper()
	page := 0
	_, settings := between(t, devtest.Shared(t), (*httptest.Server).Start, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.URL.Query().Get("list-type") != "2" {
			next.ServeHTTP(w, r)
			return
		}
		page++
		real := httptest.NewRecorder()
		next.ServeHTTP(real, r)
		body := rewrite(page, real.Body.String())
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(real.Code)
		_, _ = w.Write([]byte(body))
	})
	store := open(t, settings)
	store.SetPage(2)
	return store
}

// fill puts seven objects, among them names whose order in folders is another than in bytes.
func fill(t *testing.T) (prefix string, keys []string) {
	t.Helper()
	prefix = fresh() + "/"
	for _, name := range []string{"a-b/x", "a.x", "a/b", "a0", "b", "c", "d"} {
		keys = append(keys, prefix+name)
		if err := devtest.Shared(t).Store().Put(t.Context(), prefix+name, strings.NewReader(name)); err != nil {
			t.Fatal(err)
		}
	}
	return prefix, keys
}

func without(element string) func(int, string) string {
	pattern := regexp.MustCompile("<" + element + ">[^<]*</" + element + ">")
	return func(_ int, body string) string { return pattern.ReplaceAllString(body, "") }
}

func TestAListingThatMayBePartialIsAnError(t *testing.T) {
	prefix, _ := fill(t)
	token := regexp.MustCompile("<NextContinuationToken>[^<]*<")
	first := ""
	for _, c := range []struct {
		name, want string
		rewrite    func(page int, body string) string
	}{
		{"more follows, and no token", "more keys follow (IsTruncated) and gives no token", without("NextContinuationToken")},
		{"the same token again", "the same continuation token twice", func(page int, body string) string {
			if page == 1 {
				first = token.FindString(body)
			}
			return token.ReplaceAllString(body, first)
		}},
		{"fewer keys than it counts", "counts 2 keys on a page and names 1", func(_ int, body string) string {
			at, end := strings.LastIndex(body, "<Contents>"), strings.LastIndex(body, "</Contents>")
			if strings.Count(body, "<Contents>") < 2 {
				return body
			}
			return body[:at] + body[end+len("</Contents>"):]
		}},
		{"the same page again", "twice, or out of order", func() func(int, string) string {
			kept := ""
			return func(page int, body string) string {
				if page == 1 {
					kept = body[strings.Index(body, "<Contents>") : strings.LastIndex(body, "</Contents>")+len("</Contents>")]
				}
				return body[:strings.Index(body, "<Contents>")] + kept + body[strings.LastIndex(body, "</Contents>")+len("</Contents>"):]
			}
		}()},
		{"keys of elsewhere", "which is not under the prefix", func(_ int, body string) string {
			return strings.Replace(body, "<Key>"+prefix, "<Key>elsewhere/", 1)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := relisted(t, c.rewrite).List(t.Context(), prefix)
			if err == nil || !strings.Contains(err.Error(), "this listing cannot be trusted: the server") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %d keys, %v; want an error with %q", len(got), err, c.want)
			}
		})
	}
}

func TestAListingGoesOnWhereTheServerForgetsToSaySo(t *testing.T) {
	prefix, keys := fill(t)
	truncated := without("IsTruncated")
	for name, rewrite := range map[string]func(int, string) string{
		"an honest server":            func(_ int, body string) string { return body },
		"a token, and no IsTruncated": truncated,
		"full pages that call themselves the last": func(_ int, body string) string {
			return without("NextContinuationToken")(0, strings.Replace(body, "<IsTruncated>true", "<IsTruncated>false", 1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			listed, err := relisted(t, rewrite).List(t.Context(), prefix)
			if err != nil {
				t.Fatal(err)
			}
			if got := namesOf(listed); !slices.Equal(got, keys) {
				t.Errorf("listed %q; want %q", got, keys)
			}
		})
	}
}

func namesOf(listed []artifact.Object) []string {
	var names []string
	for _, o := range listed {
		names = append(names, o.Key)
	}
	return names
}

func TestUnfinishedUploadsAreListedToTheEndOrNotAtAll(t *testing.T) {
	_, settings := between(t, devtest.Shared(t), (*httptest.Server).Start, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.URL.Query().Has("uploads") && r.Method == http.MethodGet {
			_, _ = bytes.NewBufferString(fmt.Sprintf(`<ListMultipartUploadsResult><Bucket>floe</Bucket><IsTruncated>true</IsTruncated>%s</ListMultipartUploadsResult>`,
				`<NextKeyMarker>k</NextKeyMarker><NextUploadIdMarker>u</NextUploadIdMarker>`)).WriteTo(w)
			return
		}
		next.ServeHTTP(w, r)
	})
	_, err := open(t, settings).CountUploads(t.Context(), time.Now())
	if err == nil || !strings.Contains(err.Error(), "cannot be trusted") {
		t.Errorf("got %v; want an error for the same marker without end", err)
	}
}
