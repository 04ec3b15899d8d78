package devtest

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
)

// Between is an HTTP proxy before a server, not started yet. See gets every
// request and may pass it on by calling next, more than once or not at all; a
// panic with http.ErrAbortHandler breaks the connection. The host of a request
// stays as the client sent it, since S3 requests are signed with it.
func Between(target string, see func(w http.ResponseWriter, r *http.Request, next http.Handler)) (*httptest.Server, error) {
	to, err := url.Parse(target)
	if err != nil {
		return nil, fmt.Errorf("proxy before %s: %w", target, err)
	}
	next := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Host = r.In.Host
		},
		// A server that is gone looks like one: no answer, and not the proxy's 502.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		ErrorLog:     log.New(io.Discard, "", 0),
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { see(w, r, next) }))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	return server, nil
}
