package openai_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"floe/internal/designer"
)

func TestSecretsOfTheURLAreUsedAndNeverShown(t *testing.T) {
	echo := func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		raw(401, user+" "+password+" "+r.URL.RawQuery)(w, r)
	}
	s := serve(t, echo)
	d := newDesigner(t, strings.Replace(s.URL, "http://", "http://longuser:longpassword@", 1)+"/v1/?token=longtoken", "m", "")
	_, err := designer.Design(t.Context(), d, spec, evidence(), plenty)
	if s.urls[0] != "/v1/chat/completions?token=longtoken" || !strings.HasPrefix(s.auth[0], "Basic ") {
		t.Errorf("sent %s with %q", s.urls[0], s.auth[0])
	}
	if text := fmt.Sprint(err); strings.Contains(text, "long") || !strings.Contains(text, "[redacted]") {
		t.Errorf("error %v", err)
	}
}

func TestAnEchoedKeyIsCutOutOfTheTranscript(t *testing.T) {
	body, err := json.Marshal(good + "# " + secret + "\n")
	if err != nil {
		t.Fatal(err)
	}
	got, _, _ := done(t, raw(200, `{"choices":[{"message":{"content":`+string(body)+`,"reasoning":`+string(body)+`},"finish_reason":"stop"}]}`))
	if got.Outcome != designer.OutcomeOK || !strings.Contains(got.Attempts[0].Reply, "[redacted]") || !strings.Contains(got.Attempts[0].Response, "[redacted]") {
		t.Errorf("transcript %+v", got)
	}
}

func TestAPlaceholderForAKeyIsNoSecret(t *testing.T) {
	s := serve(t, reply(good))
	d := newDesigner(t, s.URL, "m", "low")
	got, err := designer.Design(t.Context(), d, spec, evidence(), plenty)
	if err != nil || got.Outcome != designer.OutcomeOK || strings.Contains(got.Attempts[0].Reply, "redacted") {
		t.Errorf("error %v, transcript %+v", err, got)
	}
}
