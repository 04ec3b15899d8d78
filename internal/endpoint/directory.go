package endpoint

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sashabaranov/go-openai"

	"floe/internal/textfile"
)

// Environment variables that name an endpoint without a file.
const (
	EnvBase = "OPENAI_BASE_URL"
	EnvKey  = "OPENAI_API_KEY"
	EnvFile = "FLOE_ENDPOINTS" // the endpoints file
)

// Directory knows endpoints by name and holds, for each, where its key is found.
// A key is bound to its address: the key of a name goes to the address of that
// name, OPENAI_API_KEY to OPENAI_BASE_URL (OpenAI's own where that is not set),
// and an address that somebody types or writes into an experiment file gets no key
// but that. So nobody can have keys sent to a server of theirs.
type Directory struct {
	entries []Entry
	folder  string // relative key files are looked for here
	env     func(string) string
}

// Entry is one endpoint of the file. It holds no secret, only where one is.
type Entry struct {
	Name    string
	URL     string
	KeyEnv  string  // environment variable that holds the key
	KeyFile string  // file that holds the key
	Model   string  // asked when an experiment names none
	Prices  *Prices // nil: not known
	Timeout time.Duration
	// TokensField and Temperature are those of Endpoint.
	TokensField, Temperature string
}

// Prices are money for a million tokens, in any one currency.
type Prices struct{ Prompt, Reply float64 }

// Cost is what a call costs.
func (p Prices) Cost(promptTokens, replyTokens int) float64 {
	return (float64(promptTokens)*p.Prompt + float64(replyTokens)*p.Reply) / 1e6
}

// Place is an endpoint ready to be asked.
type Place struct {
	Endpoint Endpoint
	Model    string        // its default; may be empty
	Prices   *Prices       // nil: not known
	Timeout  time.Duration // of a call, where the file says one; Endpoint.Clock has it already
}

// Environment is the directory without a file: what OPENAI_BASE_URL and
// OPENAI_API_KEY say.
func Environment() Directory { return Directory{env: os.Getenv} }

// Names lists the named endpoints, in the file's order.
func (d Directory) Names() []string {
	names := make([]string, len(d.entries))
	for i, e := range d.entries {
		names[i] = e.Name
	}
	return names
}

// IsURL says whether an endpoint is written as an address rather than a name.
func IsURL(endpoint string) bool { return strings.Contains(endpoint, "://") }

// Open finds an endpoint by its name or address; empty means what the
// environment says. It reads the key anew each time, so that a renewed one is
// used. It calls nobody. Errors hold no secret.
func (d Directory) Open(endpoint string) (Place, error) {
	switch {
	case endpoint == "" || IsURL(endpoint):
		return d.address(endpoint)
	}
	i := slices.IndexFunc(d.entries, func(e Entry) bool { return e.Name == endpoint })
	if i >= 0 {
		return d.named(d.entries[i])
	}
	if len(d.entries) == 0 {
		return Place{}, fmt.Errorf("no endpoint is called %.60q: there is no endpoints file (--endpoints or %s)", endpoint, EnvFile)
	}
	return Place{}, fmt.Errorf("no endpoint is called %.60q; the endpoints file has %s", endpoint, strings.Join(d.Names(), ", "))
}

// address opens a base URL, with the environment's key if it is the environment's.
func (d Directory) address(base string) (Place, error) {
	own, key := strings.TrimSpace(d.env(EnvBase)), strings.TrimSpace(d.env(EnvKey))
	if base == "" && own == "" && key == "" {
		return Place{}, fmt.Errorf("no endpoint: set designer.endpoint or %s, or %s to use OpenAI", EnvBase, EnvKey)
	}
	if base == "" || same(base, own) {
		e, err := New(own, key)
		return Place{Endpoint: e}, err
	}
	e, err := New(base, "")
	e.NoKey = fmt.Sprintf("%s goes to %s only; name this server in the endpoints file to give it a key", EnvKey, EnvBase)
	return Place{Endpoint: e}, err
}

// same says whether two base URLs are one server and folder. An own one that is
// empty is OpenAI's.
func same(base, own string) bool {
	if own == "" {
		own = openai.DefaultConfig("").BaseURL
	}
	a, errA := url.Parse(strings.TrimSpace(base))
	b, errB := url.Parse(strings.TrimSpace(own))
	return errA == nil && errB == nil && strings.EqualFold(a.Scheme, b.Scheme) && origin(a) == origin(b) &&
		strings.TrimRight(a.Path, "/") == strings.TrimRight(b.Path, "/")
}

// origin is host and port, the port written out.
func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)]
	}
	return strings.ToLower(u.Hostname()) + ":" + port
}

func (d Directory) named(entry Entry) (Place, error) {
	key, from, err := d.key(entry)
	if err != nil {
		return Place{}, fmt.Errorf("endpoint %s: %w", entry.Name, err)
	}
	e, err := New(entry.URL, key)
	if err != nil {
		return Place{}, fmt.Errorf("endpoint %s: %w", entry.Name, err)
	}
	e.Name, e.KeyFrom, e.NoKey = entry.Name, from, "endpoint "+entry.Name+" has neither key_env nor key_file"
	e.TokensField, e.Temperature = entry.TokensField, entry.Temperature
	if entry.Timeout > 0 {
		e.Clock.Call = entry.Timeout
	}
	return Place{Endpoint: e, Model: entry.Model, Prices: entry.Prices, Timeout: entry.Timeout}, nil
}

// key reads an entry's key and says where it is from. Errors quote no content.
func (d Directory) key(entry Entry) (key, from string, err error) {
	switch {
	case entry.KeyEnv != "":
		key, from = d.env(entry.KeyEnv), entry.KeyEnv
		if strings.TrimSpace(key) == "" {
			return "", "", fmt.Errorf("its key is to be in %s, which is not set", entry.KeyEnv)
		}
	case entry.KeyFile != "":
		file := entry.KeyFile
		if !filepath.IsAbs(file) {
			file = filepath.Join(d.folder, file)
		}
		body, err := textfile.ReadFile(file, 1<<20)
		if err != nil {
			return "", "", fmt.Errorf("read its key: %w", err)
		}
		key, from = string(body), "the file "+entry.KeyFile
	default:
		return "", "", nil
	}
	key = strings.TrimSpace(key)
	if key == "" || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", "", fmt.Errorf("%s holds no key: want one word of plain characters", from)
	}
	return key, from, nil
}

// Missing says, for each endpoint whose key cannot be read now, why.
func (d Directory) Missing() []error {
	var errs []error
	for _, e := range d.entries {
		if _, _, err := d.key(e); err != nil {
			errs = append(errs, fmt.Errorf("endpoint %s: %w", e.Name, err))
		}
	}
	return errs
}
