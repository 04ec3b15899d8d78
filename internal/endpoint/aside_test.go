package endpoint_test

import (
	"testing"

	"floe/internal/endpoint"
)

func TestARequestAsideHasWhatQuestionsHave(t *testing.T) {
	e, err := endpoint.New("http://user:password@127.0.0.1:1/lab/v1?token=x", "")
	if err != nil {
		t.Fatal(err)
	}
	r, err := e.Aside(t.Context(), "GET", "/v1/models?all=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	if user, password, ok := r.BasicAuth(); !ok || user != "user" || password != "password" || r.URL.String() != "http://127.0.0.1:1/lab/v1/models?all=1&token=x" {
		t.Errorf("%s with %s %s", r.URL, user, password)
	}
	if e, err = endpoint.New("http://127.0.0.1:1", "a-key"); err != nil {
		t.Fatal(err)
	}
	if r, err = e.Aside(t.Context(), "GET", "/version", nil); err != nil || r.Header.Get("Authorization") != "Bearer a-key" || r.URL.Path != "/version" {
		t.Errorf("%v, %v", r, err)
	}
	if _, err := (endpoint.Endpoint{}).Aside(t.Context(), "GET", "/", nil); err == nil {
		t.Error("a request to nowhere was made")
	}
}
