package ray

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"floe/internal/outage"
)

const mostAnswer = 256 << 20 // a log comes in one piece

// answerError is an answer that says no.
type answerError struct {
	what string
	code int
	said string
}

// Error implements error.
func (e *answerError) Error() string { return fmt.Sprintf("%s: HTTP %d: %s", e.what, e.code, e.said) }

// call sends a request with a JSON body, if there is one, and decodes the
// answer, if it is wanted.
func (b *Backend) call(ctx context.Context, method, path string, in, out any) error {
	asked := ctx
	ctx, cancel := context.WithTimeout(ctx, b.settings.Timeout)
	defer cancel()
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, b.settings.Address+path, body)
	if err != nil {
		return err
	}
	req.Header = b.header()
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	answer, err := b.client.Do(req)
	if err != nil {
		return b.outage(asked, err)
	}
	defer func() { _ = answer.Body.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(answer.Body, mostAnswer))
	if err != nil {
		return b.outage(asked, fmt.Errorf("%s %s: %w", method, path, err))
	}
	if answer.StatusCode/100 != 2 {
		err := &answerError{method + " " + path, answer.StatusCode, brief(string(text))}
		if unserved(method, answer.StatusCode) {
			return b.outage(asked, err)
		}
		return err
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("%s %s: what answers is no Ray: %w", method, path, err)
	}
	return nil
}

// outage marks an error of a call that was not served; one that the caller has ended is
// none.
func (b *Backend) outage(asked context.Context, err error) error {
	if asked.Err() != nil {
		return asked.Err()
	}
	return outage.Of("Ray at "+b.settings.Address, err)
}

// unserved says of a status whether nobody looked at the call. Ray wraps its answers to
// what changes something, refusals too, as internal errors.
func unserved(method string, status int) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	case http.StatusInternalServerError:
		return method == http.MethodGet
	}
	return false
}

func (b *Backend) header() http.Header {
	h := http.Header{}
	if b.settings.Token != "" {
		h.Set("Authorization", "Bearer "+b.settings.Token)
	}
	return h
}

// brief is the last line of what Ray says, which may be a whole traceback.
func brief(text string) string {
	const most = 400
	lines := strings.Split(strings.TrimSpace(text), "\n")
	text = strings.TrimSpace(lines[len(lines)-1])
	if len(text) > most {
		text = "..." + text[len(text)-most:]
	}
	return text
}
