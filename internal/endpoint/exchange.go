package endpoint

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// mostResponse bounds what is read of a response. The longest reply of a million
// tokens is about half of it.
const mostResponse = 8 << 20

var errTooLarge = fmt.Errorf("the response is larger than %d MiB", mostResponse>>20)

// transport keeps as many connections open as there are calls at one time; the
// default of two would dial anew for most of them.
var transport = pooled()

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

// exchange is the transport of one call. It writes the exact settings into the
// request, and keeps both bodies as they went over the wire.
type exchange struct {
	endpoint Endpoint
	fields   map[string]any

	request, response []byte
	status            int    // 0 if no response came
	server            string // the Server header
	retryAfter        string // the header as sent
	err               error  // of sending or reading
}

// RoundTrip sends a copy of r with the fields set. It reads the whole body, so
// that a cut connection is seen here and what came of it is kept.
func (x *exchange) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := x.send(r)
	if err != nil {
		x.err = err
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // read to its end, or given up
	x.status, x.server, x.retryAfter = resp.StatusCode, resp.Header.Get("Server"), resp.Header.Get("Retry-After")
	x.response, x.err = io.ReadAll(io.LimitReader(resp.Body, mostResponse+1))
	if len(x.response) > mostResponse {
		x.response, x.err = x.response[:mostResponse], errTooLarge
	}
	if x.err != nil {
		return nil, x.err
	}
	whole := *resp
	whole.Body = io.NopCloser(bytes.NewReader(x.response))
	return &whole, nil
}

// begun says of a call that broke whether the endpoint may have been at work.
func (x *exchange) begun() bool {
	return x.err != nil && (x.status != 0 || errors.Is(x.err, context.DeadlineExceeded))
}

func (x *exchange) send(r *http.Request) (*http.Response, error) {
	if r.Body == nil {
		return nil, errors.New("a request without a body")
	}
	defer func() { _ = r.Body.Close() }() // a reader in memory
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if x.request, err = with(body, x.fields); err != nil {
		return nil, err
	}
	out := r.Clone(r.Context())
	out.Body = io.NopCloser(bytes.NewReader(x.request))
	out.ContentLength = int64(len(x.request))
	out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(x.request)), nil }
	x.endpoint.prepare(out)
	return transport.RoundTrip(out)
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
