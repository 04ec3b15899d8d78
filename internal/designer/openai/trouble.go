package openai

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

// trouble is why a call brought no reply to read. reason is a sentence without
// secrets.
type trouble struct {
	reason string
	final  bool          // asking again cannot help
	after  time.Duration // how long the endpoint asks to wait; 0 if it does not say
}

// judge says what went wrong with a call, or nil. It reads the exchange and not
// the client's error, which may quote URLs and bodies.
func (e endpoint) judge(model string, x *exchange, choices int, err error) *trouble {
	switch {
	case x.err != nil:
		return e.broken(x)
	case x.status == 0:
		return &trouble{reason: e.scrub(fmt.Sprintf("the request could not be made: %v", cause(err))), final: true}
	case x.status >= http.StatusMultipleChoices:
		return e.refused(model, x)
	case err == nil && choices > 0:
		return nil
	}
	return e.strange(model, x, err)
}

// broken is a call without a whole response.
func (e endpoint) broken(x *exchange) *trouble {
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	said := e.scrub(cause(x.err).Error())
	switch {
	case errors.Is(x.err, context.DeadlineExceeded):
		return &trouble{reason: e.host + " did not answer in time"}
	case errors.Is(x.err, errTooLarge):
		return &trouble{reason: e.host + " answered too much: " + said, final: true}
	case errors.As(x.err, &certificate), errors.As(x.err, &record):
		return &trouble{reason: e.host + " cannot be trusted: " + said, final: true}
	case x.status != 0:
		return &trouble{reason: e.host + " broke off its response: " + said}
	}
	return &trouble{reason: e.host + " cannot be reached: " + said}
}

// cause is an error without the URL it happened at.
func cause(err error) error {
	if at, ok := errors.AsType[*url.Error](err); ok {
		return at.Err
	}
	return err
}

// refused is a response that is an error by its status.
func (e endpoint) refused(model string, x *exchange) *trouble {
	said := e.message(x.response)
	t := &trouble{reason: fmt.Sprintf("%d: %s", x.status, e.sentence(model, x.status)) + said, final: true}
	switch s := x.status; {
	case s == http.StatusTooManyRequests && !strings.Contains(string(x.response), "insufficient_quota"),
		s == http.StatusRequestTimeout, s == http.StatusTooEarly, s >= 500 && s != http.StatusNotImplemented:
		t.final, t.after = false, retryAfter(x.retryAfter, time.Now())
	}
	return t
}

// sentence says what a status means here, and what to change.
func (e endpoint) sentence(model string, status int) string {
	switch {
	case status == http.StatusUnauthorized && e.key == "" && e.user == nil:
		return e.host + " wants a key, and OPENAI_API_KEY is not set"
	case status == http.StatusUnauthorized:
		return "the key in OPENAI_API_KEY was refused by " + e.host
	case status == http.StatusForbidden:
		return fmt.Sprintf("the key in OPENAI_API_KEY may not use model %s at %s", model, e.host)
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

// strange is a success that is no chat completion.
func (e endpoint) strange(model string, x *exchange, err error) *trouble {
	var body struct {
		Error *struct {
			Code json.RawMessage `json:"code"`
		} `json:"error"`
	}
	if json.Unmarshal(x.response, &body) == nil && body.Error != nil { // some gateways report errors with status 200
		status, _ := strconv.Atoi(strings.Trim(string(body.Error.Code), `"`))
		return e.refused(model, &exchange{status: max(status, http.StatusBadRequest), response: x.response, retryAfter: x.retryAfter})
	}
	if len(x.response) == 0 || errors.Is(err, io.ErrUnexpectedEOF) {
		return &trouble{reason: e.host + " broke off its response"}
	}
	return &trouble{final: true, reason: fmt.Sprintf("%s answered something that is no chat completion (base URLs mostly end in /v1); it begins %q",
		e.host, e.scrub(head(string(x.response), 80)))}
}

// message quotes what an error response says, for people.
func (e endpoint) message(response []byte) string {
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
	text = strings.Join(strings.FieldsFunc(e.scrub(text), func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	if text == "" {
		return ""
	}
	return fmt.Sprintf("; it says: %s", head(text, 300))
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
