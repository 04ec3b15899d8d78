package endpoint

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"strings"
)

// Aside makes a request to the endpoint's server that is no question, such as GET
// /v1/models: below the base URL without its /v1, and with the same key, user and
// query as questions have. Texts that come back need Scrub before they are
// shown, and redirects are not to be followed.
func (e Endpoint) Aside(ctx context.Context, method, path string, body []byte) (*http.Request, error) {
	u, err := url.Parse(strings.TrimSuffix(e.base, "/v1") + path)
	if err != nil || u.Host == "" {
		return nil, errURL
	}
	r, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, errURL
	}
	own := r.URL.RawQuery
	e.authorize(r)
	if own != "" {
		r.URL.RawQuery = strings.Trim(own+"&"+e.query, "&")
	}
	return r, nil
}
