package endpoint

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Trouble is why a call brought no reply to read.
type Trouble struct {
	Reason string        // a sentence without secrets
	Final  bool          // asking again cannot help
	After  time.Duration // how long the endpoint asks to wait; 0 if it does not say
	// Filtered says that the prompt was refused for what is in it: trouble of this
	// request, not of the endpoint.
	Filtered bool
}

func (t *Trouble) Error() string { return t.Reason }

// judge says what went wrong with a call, or nil. It reads the exchange and not
// the client's error, which may quote URLs and bodies.
func (e Endpoint) judge(r Request, x *exchange, choices int, err error) *Trouble {
	switch {
	case x.err != nil:
		return e.broken(x)
	case x.status == 0:
		return &Trouble{Reason: e.Scrub(fmt.Sprintf("the request could not be made: %v", cause(err))), Final: true}
	case x.status >= http.StatusMultipleChoices:
		return e.refused(r, x)
	case err == nil && choices > 0:
		return nil
	}
	return e.strange(r, x, err)
}

// broken is a call without a whole response.
func (e Endpoint) broken(x *exchange) *Trouble {
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	said := e.Scrub(cause(x.err).Error())
	switch {
	case errors.Is(x.err, context.DeadlineExceeded):
		return &Trouble{Reason: e.host + " did not answer in time"}
	case errors.Is(x.err, errTooLarge):
		return &Trouble{Reason: e.host + " answered too much: " + said, Final: true}
	case errors.As(x.err, &certificate), errors.As(x.err, &record):
		return &Trouble{Reason: e.host + " cannot be trusted: " + said, Final: true}
	case x.status != 0:
		return &Trouble{Reason: e.host + " broke off its response: " + said}
	}
	return &Trouble{Reason: e.host + " cannot be reached: " + said}
}

// cause is an error without the URL it happened at.
func cause(err error) error {
	if at, ok := errors.AsType[*url.Error](err); ok {
		return at.Err
	}
	return err
}

// refused is a response that is an error by its status.
func (e Endpoint) refused(r Request, x *exchange) *Trouble {
	said := e.message(x.response)
	t := &Trouble{Reason: fmt.Sprintf("%d: %s", x.status, e.sentence(r.Model, x.status)) + said, Final: true, Filtered: filtered(x)}
	if x.status == http.StatusBadRequest || x.status == http.StatusUnprocessableEntity || x.status == http.StatusNotImplemented {
		t.Reason += r.optional()
	}
	switch s := x.status; {
	case s >= http.StatusInternalServerError && r.blamed(string(x.response)):
		t.Reason += r.optional() // some servers fall over settings that they do not know
	case s == http.StatusTooManyRequests && !strings.Contains(string(x.response), "insufficient_quota"),
		s == http.StatusRequestTimeout, s == http.StatusTooEarly, s >= 500 && s != http.StatusNotImplemented:
		t.Final, t.After = false, retryAfter(x.retryAfter, time.Now())
	}
	return t
}

// filtered says whether a content filter refused the request; OpenAI and Azure
// name it so.
func filtered(x *exchange) bool {
	var body struct {
		Error struct {
			Code any `json:"code"`
		} `json:"error"`
	}
	if x.status != http.StatusBadRequest || json.Unmarshal(x.response, &body) != nil {
		return false
	}
	return body.Error.Code == "content_filter" || body.Error.Code == "content_policy_violation"
}

// sentence says what a status means here, and what to change.
func (e Endpoint) sentence(model string, status int) string {
	switch {
	case status == http.StatusUnauthorized && e.key == "" && e.user == nil:
		return e.host + " wants a key, and " + e.noKey()
	case status == http.StatusUnauthorized && e.key == "":
		return "the user in the URL was refused by " + e.host
	case status == http.StatusUnauthorized:
		return fmt.Sprintf("the key in %s was refused by %s", e.keyFrom(), e.host)
	case status == http.StatusForbidden && e.key == "" && e.user == nil:
		return e.host + " refused the request, which had no key: " + e.noKey()
	case status == http.StatusForbidden:
		return fmt.Sprintf("the key in %s may not use model %s at %s", e.keyFrom(), model, e.host)
	case status == http.StatusNotFound:
		return fmt.Sprintf("%s has no model %s, or no chat completions under %s (base URLs mostly end in /v1)", e.host, model, e.path+"/")
	case status == http.StatusTooManyRequests:
		return e.host + " takes no more requests now"
	case status < http.StatusBadRequest:
		return e.host + " redirects elsewhere; give the address it points to"
	case status >= http.StatusInternalServerError:
		return e.host + " has trouble of its own"
	}
	return e.host + " refused the request"
}

// optional names the settings of a request that not every endpoint takes: a
// refused request may have been refused for them.
func (r Request) optional() string {
	var sent []string
	if r.Schema != nil {
		sent = append(sent, "a response_format of json_schema (designer.structured: none leaves it out)")
	}
	if r.Thinking != nil {
		sent = append(sent, "chat_template_kwargs (designer.thinking: default leaves it out)")
	}
	if len(r.Stop) > 0 {
		sent = append(sent, "stop (designer.stop)")
	}
	if len(sent) == 0 {
		return ""
	}
	return "; not every endpoint takes what was sent: " + strings.Join(sent, ", ")
}

// blamed says whether an error names one of the settings that not every endpoint
// takes. A server that does not know one may well call that its own trouble.
func (r Request) blamed(said string) bool {
	return r.Schema != nil && (strings.Contains(said, "response_format") || strings.Contains(said, "json_schema")) ||
		r.Thinking != nil && strings.Contains(said, "chat_template_kwargs")
}

// strange is a success that is no chat completion.
func (e Endpoint) strange(r Request, x *exchange, err error) *Trouble {
	var body struct {
		Error *struct {
			Code json.RawMessage `json:"code"`
		} `json:"error"`
	}
	if json.Unmarshal(x.response, &body) == nil && body.Error != nil { // some gateways report errors with status 200
		status, _ := strconv.Atoi(strings.Trim(string(body.Error.Code), `"`))
		return e.refused(r, &exchange{status: max(status, http.StatusBadRequest), response: x.response, retryAfter: x.retryAfter})
	}
	if len(x.response) == 0 || errors.Is(err, io.ErrUnexpectedEOF) {
		return &Trouble{Reason: e.host + " broke off its response"}
	}
	return &Trouble{Final: true, Reason: fmt.Sprintf("%s answered something that is no chat completion (base URLs mostly end in /v1); it begins %q",
		e.host, Head(e.Scrub(string(x.response)), 80))}
}

// message quotes what an error response says, for people.
func (e Endpoint) message(response []byte) string {
	var body struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Detail  string          `json:"detail"`
	}
	text := string(response)
	if json.Unmarshal(response, &body) == nil {
		var inner struct {
			Message string `json:"message"`
		}
		_ = json.Unmarshal(body.Error, &inner) // an error that is a text is taken below
		text = firstOf(inner.Message, plain(body.Error), body.Message, body.Detail, text)
	}
	text = strings.Join(strings.FieldsFunc(e.Scrub(text), func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	if text == "" {
		return ""
	}
	return fmt.Sprintf("; it says: %s", Head(text, 300))
}

func firstOf(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// retryAfter reads the header: seconds or an HTTP date (RFC 9110, 10.2.3); 0 for
// anything else.
func retryAfter(header string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseFloat(header, 64); err == nil && seconds > 0 && seconds < 1e6 {
		return time.Duration(seconds * float64(time.Second))
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}
