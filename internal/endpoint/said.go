package endpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"unicode"
)

// Some gateways report errors under status 200, some of them in a choice that has the
// start of a reply. What such an error means is in its code, else in its words.
var meanings = []struct {
	words  *regexp.Regexp
	status int // that would mean the same
}{
	{regexp.MustCompile(`(?i)insufficient.?quota|billing|credit balance|payment`), http.StatusPaymentRequired},
	{regexp.MustCompile(`(?i)rate.?limit|too.?many.?requests|throttl`), http.StatusTooManyRequests},
	{regexp.MustCompile(`(?i)api.?key|unauthori[sz]ed|unauthenticated|authentication`), http.StatusUnauthorized},
	{passing, http.StatusServiceUnavailable},
	{regexp.MustCompile(`(?i)permission|forbidden`), http.StatusForbidden},
	{regexp.MustCompile(`(?i)not.?found|does not exist|no such model`), http.StatusNotFound},
	{regexp.MustCompile(`(?i)invalid|unsupported|bad.?request|content.?(filter|policy)|not supported`), http.StatusBadRequest},
}

// failed is an error under status 200. One that names nothing final may pass.
func (e Endpoint) failed(r Request, x *exchange, got reading) *Trouble {
	t := e.reported(r, x, got.failure)
	t.Served = got.choices > 0 // it had begun to answer
	return t
}

func (e Endpoint) reported(r Request, x *exchange, failure json.RawMessage) *Trouble {
	about := whole(x.response)
	if inner, ok := objectOf(failure); ok {
		about = inner
	}
	for _, field := range []string{"code", "status", "status_code", "http_code"} {
		if n := count(about[field]); n != nil && *n >= http.StatusBadRequest && *n < 600 {
			return e.refused(r, x, *n)
		}
	}
	said := string(failure)
	if failure == nil {
		said = string(x.response)
	}
	status, long := meaning(text(about["code"])+" "+text(about["type"]), said), tooLong(said)
	return &Trouble{
		Reason:   e.host + " reports an error under status 200" + e.message(orBody(failure, x.response)),
		Final:    long || status != 0 && status != http.StatusTooManyRequests && status != http.StatusServiceUnavailable,
		Filtered: filtered(x.response), TooLong: long,
		After: retryAfter(x.retryAfter, e.Clock.Now()),
	}
}

// orBody is a response with nothing but a failure in it, so that what else it holds
// is not quoted.
func orBody(failure json.RawMessage, response []byte) []byte {
	if failure == nil {
		return response
	}
	return append(append([]byte(`{"error":`), failure...), '}')
}

// meaning is the status that words stand for, code and type before the message; 0 if
// none of them is known.
func meaning(said ...string) int {
	for _, s := range said {
		for _, m := range meanings {
			if m.words.MatchString(s) {
				return m.status
			}
		}
	}
	return 0
}

// complains says whether a response without choices is an error in another form.
func complains(response []byte) bool {
	body := whole(response)
	return text(body["message"]) != "" || something(body["detail"]) != nil || text(body["object"]) == "error"
}

// passing are words for an endpoint that is away or busy.
var passing = regexp.MustCompile(`(?i)upstream|connection|time.?out|timed out|overloaded|unavailable|try again|bad.?gateway|server.?error|internal.?error|abort|cancell?ed`)

// strange is a success that is no chat completion.
func (e Endpoint) strange(x *exchange, err error) *Trouble {
	start := bytes.TrimSpace(unmarked(x.response))
	_, isOdd := errors.AsType[*oddError](err)
	switch {
	case isOdd:
		return &Trouble{Final: true, Served: true, Reason: fmt.Sprintf("%s answered a chat completion that cannot be read: %v", e.host, err)}
	case len(start) == 0, cutOff(start):
		return &Trouble{Reason: e.host + " broke off its response", Served: len(start) > 0}
	case start[0] != '<' && start[0] != '{' && !bytes.HasPrefix(start, []byte("data:")) && passing.Match(start[:min(len(start), 500)]):
		return &Trouble{Reason: e.host + " answered with an error under status 200" + e.message(x.response)}
	}
	return &Trouble{Final: true, Reason: fmt.Sprintf("%s answered something that is no chat completion (base URLs mostly end in /v1); it begins %q",
		e.host, Head(e.Scrub(string(x.response)), 80))}
}

// cutOff says whether a text is the start of a JSON object.
func cutOff(text []byte) bool {
	var o object
	return text[0] == '{' && errors.Is(json.NewDecoder(bytes.NewReader(text)).Decode(&o), io.ErrUnexpectedEOF)
}

// filtered says whether a content filter refused the request; OpenAI and Azure
// name it so.
func filtered(response []byte) bool {
	failure, _ := objectOf(whole(response)["error"])
	code := text(failure["code"])
	return code == "content_filter" || code == "content_policy_violation"
}

// longer are the ways in which servers say that a prompt, with room for the reply, is
// longer than the model takes: OpenAI, vLLM and llama.cpp, SGLang, TGI, Anthropic,
// Google, Mistral, Cohere, LM Studio, LiteLLM.
var longer = regexp.MustCompile(`(?i)context.?(length|window|size)|maximum (sequence|prompt|input|model) length|` +
	`(prompt|input|request)[^.]{0,60} (is|are) too (long|large)|too large for model|too many (input )?tokens|` +
	`(input|prompt) token count|must have less than \d+ tokens|inputs.{0,3} tokens \+|reduce the length`)

var excess = regexp.MustCompile(`(?i)exceed|too (long|large|many)|longer|larger|less than|maximum|reduce|<=`)

func tooLong(said string) bool { return longer.MatchString(said) && excess.MatchString(said) }

// refusesLength says whether a request was refused for its length. A proxy that takes
// no body of its size says 413.
func refusesLength(status int, response []byte) bool {
	switch status {
	case http.StatusRequestEntityTooLarge:
		return true
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusTooManyRequests:
		return false
	}
	return tooLong(string(response))
}

// message quotes what an error response says, for people.
func (e Endpoint) message(response []byte) string {
	said := string(response)
	if body := whole(response); body != nil {
		failure, _ := objectOf(body["error"])
		said = firstOf(text(failure["message"]), plain(body["error"]), text(body["message"]), plain(body["detail"]), said)
	}
	said = strings.Join(strings.FieldsFunc(e.Scrub(said), func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	if said == "" {
		return ""
	}
	return fmt.Sprintf("; it says: %s", Head(said, 300))
}

func firstOf(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}
