package endpoint

import (
	"cmp"
	"fmt"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"gopkg.in/yaml.v3"

	"floe/internal/config"
	"floe/internal/config/strict"
	"floe/internal/textfile"
)

// Load reads an endpoints file; without one, the file that FLOE_ENDPOINTS names,
// and without that the environment alone. All faults of the file come at
// once, as a *config.Faults.
func Load(file string) (Directory, error) {
	d := Environment()
	if file = cmp.Or(file, os.Getenv(EnvFile)); file == "" {
		return d, nil
	}
	src, err := textfile.ReadFile(file, 1<<20)
	if err != nil {
		return Directory{}, &config.Faults{Lines: []string{fmt.Sprintf("endpoints file: %v", err)}}
	}
	d.folder = filepath.Dir(file)
	d.entries, err = Read(file, src)
	return d, err
}

// Read understands the text of an endpoints file. File is its name, for faults;
// the error is a *config.Faults.
func Read(file string, src []byte) ([]Entry, error) {
	root, faults := strict.Parse(src)
	r := &entryReader{strict.Reader{Faults: faults}}
	var entries []Entry
	if root != nil {
		entries = r.entries(root)
	}
	if len(r.Faults) == 0 {
		return entries, nil
	}
	strict.Sort(r.Faults)
	lines := make([]string, len(r.Faults))
	for i, f := range r.Faults {
		lines[i] = fmt.Sprintf("%s:%s", file, f)
	}
	return nil, &config.Faults{Lines: lines}
}

type entryReader struct{ strict.Reader }

var (
	entryName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)
	envName   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	entryKeys = []string{"url", "key_env", "key_file", "model", "prompt_price", "reply_price", "timeout", "tokens_field", "temperature"}
)

func (r *entryReader) entries(root *yaml.Node) []Entry {
	named, ok := r.Mapping(root, "", "a mapping of names to endpoints")
	if !ok {
		return nil
	}
	entries := make([]Entry, 0, len(named))
	for _, n := range named {
		if !entryName.MatchString(n.Key) {
			r.Add(n.At, "", "found the name %.60q; want letters, digits, dots, dashes and underscores, at most 63", n.Key)
			continue
		}
		entries = append(entries, r.entry(n))
	}
	return entries
}

func (r *entryReader) entry(n strict.Entry) Entry {
	e := Entry{Name: n.Key}
	fields, ok := r.Mapping(n.Value, n.Key, "a mapping with url and the like")
	if !ok {
		return e
	}
	at := map[string]*yaml.Node{}
	var prices Prices
	for _, f := range fields {
		at[f.Key] = f.At
		r.field(&e, &prices, f, strict.Join(n.Key, f.Key))
	}
	r.together(n, at)
	if at["prompt_price"] != nil {
		e.Prices = &prices
	}
	return e
}

func (r *entryReader) field(e *Entry, prices *Prices, f strict.Entry, path string) {
	money := strict.Range{Min: 0, Max: math.Inf(1)}
	switch f.Key {
	case "url":
		e.URL = r.url(f.Value, path)
	case "key_env":
		if s, ok := r.Text(f.Value, path, "the name of an environment variable", 200); ok && !envName.MatchString(s) {
			r.Add(f.Value, path, "found something that is no name of an environment variable; want one, such as LAB_KEY, and never the key itself")
		} else {
			e.KeyEnv = s
		}
	case "key_file":
		e.KeyFile, _ = r.Text(f.Value, path, "the name of a file", 1000)
	case "model":
		e.Model, _ = r.Text(f.Value, path, "the name of a model", 500)
	case "prompt_price":
		prices.Prompt, _ = r.Number(f.Value, path, money)
	case "reply_price":
		prices.Reply, _ = r.Number(f.Value, path, money)
	case "timeout":
		e.Timeout = r.duration(f.Value, path)
	case "tokens_field":
		e.TokensField = r.oneOf(f.Value, path, MaxTokens, MaxCompletionTokens)
	case temperature:
		e.Temperature = r.oneOf(f.Value, path, TemperatureSend, TemperatureOmit)
	default:
		r.Unknown(f.At, path, entryKeys)
	}
}

// oneOf takes one of two words; auto is the same as no word at all.
func (r *entryReader) oneOf(n *yaml.Node, path, a, b string) string {
	want := fmt.Sprintf("auto, %s or %s", a, b)
	switch word, ok := r.Text(n, path, want, 40); {
	case !ok || word == "auto":
		return ""
	case word == a || word == b:
		return word
	}
	r.Refuse(n, path, want)
	return ""
}

// together checks what fields ask of each other.
func (r *entryReader) together(n strict.Entry, at map[string]*yaml.Node) {
	if at["url"] == nil {
		r.Add(n.At, n.Key, "found no url; want the base URL of a server, such as http://127.0.0.1:8000/v1")
	}
	if at["key_env"] != nil && at["key_file"] != nil {
		r.Add(at["key_file"], strict.Join(n.Key, "key_file"), "found key_file beside key_env; want one of them")
	}
	for have, lacks := range map[string]string{"prompt_price": "reply_price", "reply_price": "prompt_price"} {
		if at[have] != nil && at[lacks] == nil {
			r.Add(at[have], strict.Join(n.Key, have), "found %s without %s; want both (0 for what is free)", have, lacks)
		}
	}
}

// url takes a base URL without secrets. What could be one is never repeated.
func (r *entryReader) url(n *yaml.Node, path string) string {
	text, ok := r.Text(n, path, "a base URL, such as http://127.0.0.1:8000/v1", 1000)
	if !ok {
		return ""
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		r.Add(n, path, "found something that is no http or https URL; want a base URL, such as http://127.0.0.1:8000/v1")
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		r.Add(n, path, "found a user, query or fragment in the URL; want the base URL alone, and the key in key_env or key_file")
	default:
		return text
	}
	return ""
}

// Bounds of a call's time.
const shortestCall, longestCall = time.Second, 24 * time.Hour

func (r *entryReader) duration(n *yaml.Node, path string) time.Duration {
	const want = "a duration from 1s to 24h, such as 90s or 10m"
	text, ok := r.Text(n, path, want, 40)
	if !ok {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < shortestCall || d > longestCall {
		r.Refuse(n, path, want)
		return 0
	}
	return d
}
