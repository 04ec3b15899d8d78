package endpoint

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// canary is a key with characters that are written in several ways.
const canary = `sk-canary/7f3a+"9c`

// bare are the parts of the canary that no spelling changes.
var bare = []string{"sk-canary", "7f3a"}

func TestAnEchoedKeyIsCutOutInWhateverWayItIsSpelt(t *testing.T) {
	quoted, _ := json.Marshal(canary)
	escaped := strings.ReplaceAll(string(quoted), "/", `\/`)
	points := `"`
	for _, r := range canary {
		points += fmt.Sprintf(`\u%04x`, r)
	}
	points += `"`
	for name, body := range map[string]string{
		"as it is":                  "your key " + canary + " is wrong",
		"in JSON":                   `{"error":{"message":` + string(quoted) + `}}`,
		"in JSON, slashes escaped":  `{"error":{"message":` + escaped + `}}`,
		"in JSON, all escaped":      `{"error":{"message":` + points + `}}`,
		"in a URL":                  `{"error":{"message":"GET /?key=` + url.QueryEscape(canary) + `"}}`,
		"in a path":                 `{"detail":"` + url.PathEscape(canary) + `"}`,
		"in a header":               `Authorization: Bearer ` + canary,
		"across the quoted part":    strings.Repeat("x", 70) + canary,
		"in a page that ends in it": strings.Repeat("x", 290) + canary,
	} {
		for _, status := range []int{200, 400, 401, 404, 429, 500} {
			e, _ := at(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(status)
				_, _ = io.WriteString(w, body)
			})
			e.key = canary
			r, trouble := e.Call(t.Context(), Request{Model: "m", Messages: []Message{{RoleUser, "hello"}}})
			shown := fmt.Sprintf("%+v %v", r, trouble)
			for _, part := range bare {
				if strings.Contains(shown, part) {
					t.Errorf("%s, status %d: %s", name, status, shown)
				}
			}
		}
	}
}

func TestAKeyCutOffWithItsResponseIsCutOutToo(t *testing.T) {
	e, _ := at(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, "your key is "+canary[:14])
	})
	e.key = canary
	r, trouble := e.Call(t.Context(), Request{Model: "m"})
	if trouble == nil || strings.Contains(r.Response, bare[0]) || !strings.HasSuffix(r.Response, redacted) {
		t.Errorf("trouble %v, response %q", trouble, r.Response)
	}
}

func TestAKeyThatAModelRepeatsIsCutOutOfReplyAndReasoning(t *testing.T) {
	quoted, _ := json.Marshal("the key " + canary)
	e, _ := at(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Server", canary)
		_, _ = fmt.Fprintf(w, `{"model":%[1]s,"choices":[{"message":{"content":%[1]s,"reasoning":%[1]s},"finish_reason":"stop"}]}`, quoted)
	})
	e.key = canary
	r, trouble := e.Call(t.Context(), Request{Model: "m"})
	if shown := fmt.Sprintf("%+v %v", r, trouble); strings.Contains(shown, bare[0]) || r.Text != "the key [redacted]" || r.Reasoning != "the key [redacted]" {
		t.Error(shown)
	}
}

func TestABasicHeaderThatIsEchoedIsCutOut(t *testing.T) {
	e, err := New("http://someuser:somepassword@h/v1", "")
	if err != nil {
		t.Fatal(err)
	}
	header := base64.StdEncoding.EncodeToString([]byte("someuser:somepassword"))
	if got := e.Scrub("Basic " + header); got != "Basic "+redacted {
		t.Error(got)
	}
}

func TestOtherTextsAreLeftAsTheyAre(t *testing.T) {
	e, err := New("http://h/v1", canary)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "{\"a\" : 1.50 , \"b\":\"\\u00e9\"}\n", "sk-", "sk-canar", `{"a":[1e5]} `} {
		if got := e.scrubBody(text); got != text && text != "sk-canar" {
			t.Errorf("%q became %q", text, got)
		}
	}
}
