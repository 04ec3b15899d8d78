// Package endpoint asks a language model behind any server that speaks OpenAI's
// chat completions: OpenAI, vLLM, SGLang, llama.cpp, Ollama and the like.
//
// What goes over the wire is kept byte for byte; keys travel in headers only and
// are cut out of whatever an endpoint echoes. Trouble that may pass is waited out with
// patience; trouble that will not pass is final.
package endpoint

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/sashabaranov/go-openai"
)

// Endpoint is where a model is, split into what may be shown and what may not.
type Endpoint struct {
	Clock Clock
	// KeyFrom says where the key is from, and NoKey why there is none, for people;
	// without them it is OPENAI_API_KEY that is meant.
	KeyFrom, NoKey string
	Name           string // in the endpoints file; may be empty
	// TokensField is the field for the length of a reply, and Temperature whether one is
	// sent: MaxTokens or MaxCompletionTokens, TemperatureSend or TemperatureOmit. Empty:
	// found out by asking.
	TokensField, Temperature string
	// Keeper loads the model again when the server has forgotten it; nil: nobody does.
	Keeper Keeper

	base string // without user and query
	host string
	path string

	key   string
	user  *url.Userinfo
	query string
}

// errURL does not quote the URL: there may be secrets in it.
var errURL = errors.New("the endpoint is no URL like http://127.0.0.1:8000/v1")

// New reads a base URL, such as http://127.0.0.1:8000/v1. User and query in it are
// sent and never shown. An empty one means OpenAI itself. The key may be empty for
// servers that want none. New makes no call.
func New(base, key string) (Endpoint, error) {
	if base == "" {
		base = openai.DefaultConfig("").BaseURL
	}
	u, err := url.Parse(strings.TrimSpace(base))
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return Endpoint{}, errURL
	}
	e := Endpoint{Clock: realClock, host: u.Host, path: u.Path, key: key, user: u.User, query: u.RawQuery}
	e.base = (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: strings.TrimRight(u.Path, "/")}).String()
	return e, nil
}

func (e Endpoint) keyFrom() string { return cmp.Or(e.KeyFrom, EnvKey) }

func (e Endpoint) noKey() string { return cmp.Or(e.NoKey, EnvKey+" is not set") }

// Host is the server's host and port, for people.
func (e Endpoint) Host() string { return e.host }

// Service names the endpoint for people.
func (e Endpoint) Service() string {
	if e.Name == "" {
		return "the model endpoint " + e.host
	}
	return "the model endpoint " + e.Name + " (" + e.host + ")"
}

// authorize adds the key, and puts back what base leaves out. A key wins over a user
// in the URL.
func (e Endpoint) authorize(r *http.Request) {
	r.URL.RawQuery = e.query
	switch {
	case e.key != "":
		r.Header.Set("Authorization", "Bearer "+e.key)
	case e.user != nil:
		password, _ := e.user.Password()
		r.SetBasicAuth(e.user.Username(), password)
	}
}

// shortestSecret keeps placeholders such as "EMPTY", which local servers are
// given for a key, from being cut out of everything.
const shortestSecret = 8

const redacted = "[redacted]"

// Scrub cuts the key and the secret parts of the URL out of a text.
func (e Endpoint) Scrub(text string) string {
	for _, secret := range e.secrets() {
		if len(secret) >= shortestSecret {
			for _, form := range forms(secret) {
				text = strings.ReplaceAll(text, form, redacted)
			}
		}
	}
	return text
}

// scrubBody is Scrub for a body as it came: it also finds a secret that was cut
// off at the end of the body, and one that is spelt with JSON's escapes. Only such
// a spelling changes the body beside the secret itself.
func (e Endpoint) scrubBody(body string) string {
	body = e.Scrub(body)
	for _, secret := range e.secrets() {
		for n := len(secret) - 1; n >= shortestSecret; n-- {
			if cut, ok := strings.CutSuffix(body, secret[:n]); ok {
				body = cut + redacted
				break
			}
		}
	}
	var value any
	if json.Unmarshal([]byte(body), &value) != nil {
		return body
	}
	plain, err := json.Marshal(value)
	if text := e.Scrub(string(plain)); err == nil && text != string(plain) {
		return text
	}
	return body
}

func (e Endpoint) secrets() []string {
	secrets := []string{e.key, e.query}
	if e.user != nil {
		password, _ := e.user.Password()
		basic := base64.StdEncoding.EncodeToString([]byte(e.user.Username() + ":" + password)) // the header's form
		secrets = append(secrets, e.user.String(), basic, password, e.user.Username())
	}
	values, _ := url.ParseQuery(e.query) // what cannot be parsed is covered as a whole
	for _, vs := range values {
		secrets = append(secrets, vs...)
	}
	return secrets
}

// forms are the ways in which an endpoint may echo a secret: as it is, inside a
// JSON string (some servers escape slashes there), and inside a URL.
func forms(secret string) []string {
	quoted := inJSON(secret)
	return []string{secret, quoted, strings.ReplaceAll(quoted, "/", `\/`), url.QueryEscape(secret), url.PathEscape(secret)}
}

// inJSON is how a text stands inside a JSON string.
func inJSON(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		return text
	}
	return string(quoted[1 : len(quoted)-1])
}
