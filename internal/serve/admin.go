package serve

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"floe/internal/endpoint"
	"floe/internal/outage"
)

// admin speaks to a server outside of questions: health, models, adapters, sleep.
type admin struct {
	name   string // of the server, for errors
	at     endpoint.Endpoint
	theirs bool // somebody else runs it: it comes back by itself
}

// statusError is an answer that is no success.
type statusError struct {
	code int
	said string
}

func (e *statusError) Error() string { return fmt.Sprintf("status %d: %s", e.code, e.said) }

const (
	mostAnswer  = 4 << 20
	quickCall   = 30 * time.Second
	adapterCall = 10 * time.Minute // it reads the adapter from the disk
)

// adminClient follows no redirect: what it sends is meant for the server alone.
var adminClient = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// call sends a body, if there is one, and decodes what comes back, if wanted.
func (a admin) call(ctx context.Context, within time.Duration, method, path string, body, into any) error {
	asked := ctx
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	content := []byte(nil)
	if body != nil {
		var err error
		if content, err = json.Marshal(body); err != nil {
			return err
		}
	}
	r, err := a.at.Aside(ctx, method, path, content)
	if err != nil {
		return fmt.Errorf("%s: %w", a.name, err)
	}
	r.Header.Set("Content-Type", "application/json")
	text, err := a.send(r)
	if err == nil && into != nil {
		if err = json.Unmarshal(text, into); err != nil {
			err = fmt.Errorf("the answer is not what was expected: %w", err)
		}
	}
	if err != nil {
		return a.marked(asked, fmt.Errorf("%s: %s %s: %w", a.name, method, path, err))
	}
	return nil
}

// marked makes an outage of a call that a server of others did not serve.
func (a admin) marked(asked context.Context, err error) error {
	if !a.theirs || asked.Err() != nil || !unserved(err) {
		return err
	}
	return outage.Of("the model server at "+a.at.Host(), err)
}

func unserved(err error) bool {
	if status, ok := errors.AsType[*statusError](err); ok {
		return status.code == http.StatusTooManyRequests || status.code >= http.StatusInternalServerError && status.code != http.StatusNotImplemented
	}
	var certificate *tls.CertificateVerificationError
	_, network := errors.AsType[net.Error](err)
	return network && !errors.As(err, &certificate) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

func (a admin) send(r *http.Request) ([]byte, error) {
	resp, err := adminClient.Do(r) //nolint:gosec // the server that settings name
	if err != nil {
		if at, ok := errors.AsType[*url.Error](err); ok {
			err = at.Err // without the URL
		}
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // read to its end, or given up
	text, err := io.ReadAll(io.LimitReader(resp.Body, mostAnswer))
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= http.StatusMultipleChoices {
		return nil, &statusError{resp.StatusCode, a.clean(text)}
	}
	return text, nil
}

// clean is the start of what a server said, on one line and without secrets.
func (a admin) clean(text []byte) string {
	const most = 300
	said := strings.Join(strings.Fields(strings.ToValidUTF8(a.at.Scrub(string(text)), "")), " ")
	if len(said) > most {
		said = strings.ToValidUTF8(said[:most], "") + "..."
	}
	return said
}

// listed is one model of /v1/models.
type listed struct {
	ID     string `json:"id"`
	Root   string `json:"root"`
	Parent string `json:"parent"`
}

func (a admin) models(ctx context.Context) ([]listed, error) {
	var body struct {
		Data []listed `json:"data"`
	}
	err := a.call(ctx, quickCall, http.MethodGet, "/v1/models", nil, &body)
	return body.Data, err
}

// find looks for a served name.
func (a admin) find(ctx context.Context, name string) (listed, bool, error) {
	models, err := a.models(ctx)
	if err != nil {
		return listed{}, false, err
	}
	i := slices.IndexFunc(models, func(m listed) bool { return m.ID == name })
	if i < 0 {
		return listed{}, false, nil
	}
	return models[i], true, nil
}

// listedAs finds a served name or says that there is none.
func (a admin) listedAs(ctx context.Context, name, want string) (listed, error) {
	m, ok, err := a.find(ctx, name)
	if err == nil && !ok {
		err = &WrongModelError{a.name, name, "nothing", want}
	}
	return m, err
}

// adapters are the names of what is loaded beside the base model.
func (a admin) adapters(ctx context.Context, base string) ([]string, error) {
	models, err := a.models(ctx)
	var names []string
	for _, m := range models {
		if m.ID != base {
			names = append(names, m.ID)
		}
	}
	return names, err
}

// version asks a path for a server's version; empty where it does not say.
func (a admin) version(ctx context.Context, path string) string {
	var body struct {
		Version string `json:"version"`
	}
	if path == "" || a.call(ctx, quickCall, http.MethodGet, path, nil, &body) != nil {
		return ""
	}
	return body.Version
}
