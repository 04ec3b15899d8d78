package openai

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/sashabaranov/go-openai"

	"floe/internal/designer"
)

// endpoint is where a model is, split into what may be shown and what may not.
type endpoint struct {
	base string // without user and query
	host string
	path string

	key   string
	user  *url.Userinfo
	query string
}

func newEndpoint(base, key string) (endpoint, error) {
	if base == "" {
		if key == "" {
			return endpoint{}, &designer.FinalError{Reason: "no endpoint: set designer.endpoint or OPENAI_BASE_URL, or OPENAI_API_KEY to use OpenAI"}
		}
		base = openai.DefaultConfig("").BaseURL
	}
	u, err := url.Parse(strings.TrimSpace(base))
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		// The cause would quote the URL, and with it what is secret in it.
		return endpoint{}, &designer.FinalError{Reason: "the endpoint is no URL like http://127.0.0.1:8000/v1"}
	}
	e := endpoint{host: u.Host, path: u.Path, key: key, user: u.User, query: u.RawQuery}
	e.base = (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: strings.TrimRight(u.Path, "/")}).String()
	return e, nil
}

// client speaks to the endpoint over one exchange. Redirects are not followed: a
// key must not travel on.
func (e endpoint) client(x *exchange) *openai.Client {
	config := openai.DefaultConfig(e.key)
	config.BaseURL = e.base
	config.HTTPClient = &http.Client{
		Transport:     x,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return openai.NewClientWithConfig(config)
}

// prepare puts back what base leaves out. A key wins over a user in the URL.
func (e endpoint) prepare(r *http.Request) {
	r.URL.RawQuery = e.query
	if e.key == "" && e.user != nil {
		password, _ := e.user.Password()
		r.SetBasicAuth(e.user.Username(), password)
	}
}

// shortestSecret keeps placeholders such as "EMPTY", which local servers are
// given for a key, from being cut out of everything.
const shortestSecret = 8

const redacted = "[redacted]"

// scrub cuts the key and the secret parts of the URL out of a text.
func (e endpoint) scrub(text string) string {
	for _, secret := range e.secrets() {
		if len(secret) >= shortestSecret {
			text = strings.ReplaceAll(text, secret, redacted)
			text = strings.ReplaceAll(text, inJSON(secret), redacted)
		}
	}
	return text
}

func (e endpoint) secrets() []string {
	secrets := []string{e.key, e.query}
	if e.user != nil {
		password, _ := e.user.Password()
		secrets = append(secrets, e.user.String(), password, e.user.Username())
	}
	values, _ := url.ParseQuery(e.query) // what cannot be parsed is covered as a whole
	for _, vs := range values {
		secrets = append(secrets, vs...)
	}
	return secrets
}

// inJSON is how a text stands inside a JSON string.
func inJSON(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		return text
	}
	return strings.Trim(string(quoted), `"`)
}
