package endpoint

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"

	"github.com/sashabaranov/go-openai"
)

// mostResponse bounds what is read of a response. The longest reply of a million
// tokens is about half of it.
const mostResponse = 8 << 20

var errTooLarge = fmt.Errorf("the response is larger than %d MiB", mostResponse>>20)

// client follows no redirect: a key must not travel on. It keeps as many connections
// open as there are calls at one time; the default of two would dial anew for most
// of them.
var client = &http.Client{
	Transport:     pooled(),
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

func pooled() http.RoundTripper {
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport
	}
	t = t.Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 0, MostConcurrent
	return t
}

// MostConcurrent is how many calls at one time make sense for one endpoint.
const MostConcurrent = 1024

// exchange is one request and what came of it, both bodies as they went over the wire.
type exchange struct {
	request, response []byte
	status            int    // 0 if no response came
	server            string // the Server header
	retryAfter        string // the header as sent
	unmade            error  // why no request could be made
	err               error  // of sending or reading
	sent              bool   // the request went out whole
}

// exchange puts a question in one form. It reads the whole body, so that a cut
// connection is seen here and what came of it is kept.
func (e Endpoint) exchange(ctx context.Context, r Request, f form) *exchange {
	x := &exchange{}
	body, err := json.Marshal(openai.ChatCompletionRequest{Model: r.Model, Messages: r.messages()})
	if err == nil {
		body, err = with(body, r.fields(f))
	}
	if err != nil {
		return &exchange{unmade: err}
	}
	x.request = body
	out, err := http.NewRequestWithContext(ctx, http.MethodPost, e.base+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return &exchange{unmade: errURL}
	}
	out.Header.Set("Content-Type", "application/json")
	e.authorize(out)
	x.do(out)
	return x
}

func (x *exchange) do(r *http.Request) {
	var sent atomic.Bool
	r.Header.Set("Accept", "application/json")
	r = r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		WroteRequest: func(w httptrace.WroteRequestInfo) { sent.Store(w.Err == nil) },
	}))
	resp, err := client.Do(r)
	if x.sent = sent.Load(); err != nil {
		x.err = err
		return
	}
	defer func() { _ = resp.Body.Close() }() // read to its end, or given up
	x.status, x.server, x.retryAfter = resp.StatusCode, resp.Header.Get("Server"), resp.Header.Get("Retry-After")
	x.response, x.err = io.ReadAll(io.LimitReader(resp.Body, mostResponse+1))
	if len(x.response) > mostResponse {
		x.response, x.err = x.response[:mostResponse], errTooLarge
	}
}

// begun says of a call that broke whether the endpoint may have been at work.
func (x *exchange) begun() bool {
	return x.status == http.StatusOK || x.sent && errors.Is(x.err, context.DeadlineExceeded)
}

// with sets fields of a JSON object.
func with(body []byte, fields map[string]any) ([]byte, error) {
	object := map[string]json.RawMessage{}
	if err := json.Unmarshal(body, &object); err != nil {
		return nil, fmt.Errorf("read the request to be sent: %w", err)
	}
	for name, value := range fields {
		raw, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("set %s in the request: %w", name, err)
		}
		object[name] = raw
	}
	return json.Marshal(object)
}
