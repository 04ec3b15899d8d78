package endpoint

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"floe/internal/ending"
)

// Trouble is why a call brought no reply to read.
type Trouble struct {
	Reason string        // a sentence without secrets
	Final  bool          // asking again cannot help
	After  time.Duration // how long the endpoint asks to wait; 0 if it does not say
	// Served says that the endpoint was at work on the call, or may have been: it may
	// charge for it. Trouble that is neither served nor final is an outage.
	Served bool
	// Filtered says that the prompt was refused for what is in it, and TooLong that it
	// was for its length: trouble of this request, not of the endpoint.
	Filtered, TooLong bool
}

func (t *Trouble) Error() string { return t.Reason }

// judge reads what came of a call, or says what went wrong with it.
func (e Endpoint) judge(r Request, x *exchange) (reading, *Trouble) {
	switch {
	case x.unmade != nil:
		return reading{}, &Trouble{Reason: e.Scrub(fmt.Sprintf("the request could not be made: %v", x.unmade)), Final: true}
	case x.err != nil:
		return reading{}, e.broken(x)
	case x.status >= http.StatusMultipleChoices:
		return reading{}, e.refused(r, x, x.status)
	}
	got, err := read(x.response)
	switch {
	case got.failure != nil || err == nil && got.choices == 0 && complains(x.response):
		return got, e.failed(r, x, got)
	case err != nil || got.choices == 0:
		return got, e.strange(x, err)
	}
	return got, e.ended(got)
}

// ended says whether a reply was broken off.
func (e Endpoint) ended(got reading) *Trouble {
	switch {
	case ending.Of(got.finish) == ending.Broken:
		return &Trouble{Reason: fmt.Sprintf("%s broke off its reply (finish_reason %.40q)", e.host, e.Scrub(got.finish)), Served: true}
	case got.finish == "" && got.text == "" && got.refusal == "":
		return &Trouble{Reason: e.host + " broke off its reply: it has neither text nor finish_reason", Served: true}
	}
	return nil
}

// broken is a call without a whole response.
func (e Endpoint) broken(x *exchange) *Trouble {
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	said := e.Scrub(cause(x.err).Error())
	t := &Trouble{Served: x.begun()}
	switch {
	case errors.Is(x.err, context.DeadlineExceeded):
		t.Reason = e.host + " did not answer in time"
	case errors.Is(x.err, errTooLarge):
		t.Reason, t.Final = e.host+" answered too much: "+said, true
	case errors.As(x.err, &certificate), errors.As(x.err, &record):
		t.Reason, t.Final = e.host+" cannot be trusted: "+said, true
	case x.status != 0:
		t.Reason = e.host + " broke off its response: " + said
	default:
		t.Reason = e.host + " cannot be reached: " + said
	}
	return t
}

// cause is an error without the URL it happened at.
func cause(err error) error {
	if at, ok := errors.AsType[*url.Error](err); ok {
		return at.Err
	}
	return err
}

// refused is a response that is an error by its status.
func (e Endpoint) refused(r Request, x *exchange, status int) *Trouble {
	t := &Trouble{
		Reason: fmt.Sprintf("%d: %s", status, e.sentence(r.Model, status)) + e.message(x.response),
		Final:  true, Filtered: status == http.StatusBadRequest && filtered(x.response), TooLong: refusesLength(status, x.response),
	}
	if t.TooLong {
		return t
	}
	if status == http.StatusBadRequest || status == http.StatusUnprocessableEntity || status == http.StatusNotImplemented {
		t.Reason += r.blames()
	}
	switch s := status; {
	case s >= http.StatusInternalServerError && r.blamed(string(x.response)):
		t.Reason += r.blames() // some servers fall over settings that they do not know
	case s == http.StatusTooManyRequests && !strings.Contains(string(x.response), "insufficient_quota"),
		s == http.StatusRequestTimeout, s == http.StatusTooEarly, s >= 500 && s != http.StatusNotImplemented:
		t.Final, t.After = false, retryAfter(x.retryAfter, time.Now())
	}
	return t
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

// blames names the settings of a request that not every endpoint takes: a refused
// request may have been refused for them.
func (r Request) blames() string {
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
