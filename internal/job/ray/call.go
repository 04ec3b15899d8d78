package ray

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
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
		return err
	}
	defer func() { _ = answer.Body.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(answer.Body, mostAnswer))
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	if answer.StatusCode/100 != 2 {
		return &answerError{method + " " + path, answer.StatusCode, brief(string(text))}
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("%s %s: what answers is no Ray: %w", method, path, err)
	}
	return nil
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
