package endpoint

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"floe/internal/config"
)

// directory reads a file among those of a folder, with an environment.
func directory(t *testing.T, text string, env map[string]string) Directory {
	t.Helper()
	entries, err := Read("endpoints.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return Directory{entries: entries, folder: t.TempDir(), env: func(name string) string { return env[name] }}
}

const twoEndpoints = `
lab:
  url: http://gpu-7.example.org:8000/v1
  key_env: LAB_KEY
  model: Qwen/Qwen3-4B
  prompt_price: 0.5
  reply_price: 2
  timeout: 90s
local: {url: "http://127.0.0.1:8080/v1"}
`

func TestAnEndpointIsFoundByItsName(t *testing.T) {
	d := directory(t, twoEndpoints, map[string]string{"LAB_KEY": " lab-secret-1234\n"})
	p, err := d.Open("lab")
	if err != nil {
		t.Fatal(err)
	}
	if p.Endpoint.Host() != "gpu-7.example.org:8000" || p.Model != "Qwen/Qwen3-4B" || p.Endpoint.Clock.Call != 90*time.Second || p.Endpoint.key != "lab-secret-1234" {
		t.Errorf("place %+v", p)
	}
	if got := p.Prices.Cost(1_000_000, 500_000); got != 1.5 {
		t.Errorf("a million tokens and a half cost %v; want 1.5", got)
	}
	p, err = d.Open("local")
	if err != nil || p.Prices != nil || p.Endpoint.key != "" || p.Endpoint.Clock.Call != realClock.Call {
		t.Errorf("place %+v, error %v", p, err)
	}
	if _, err := d.Open("lob"); err == nil || !strings.Contains(err.Error(), `"lob"; the endpoints file has lab, local`) {
		t.Errorf("error %v", err)
	}
	if _, err := Environment().Open("lab"); err == nil || !strings.Contains(err.Error(), "there is no endpoints file") {
		t.Errorf("error %v", err)
	}
}

func TestAKeyGoesToItsOwnAddressOnly(t *testing.T) {
	const key = "sk-of-the-environment"
	for name, c := range map[string]struct {
		base, endpoint string
		want           bool
	}{
		"nothing named":              {"http://a.example.org/v1", "", true},
		"the same address":           {"http://a.example.org/v1", "http://a.example.org/v1", true},
		"the same, spelt in its way": {"http://a.example.org/v1", "HTTP://A.example.org:80/v1/", true},
		"OpenAI by default":          {"", "", true},
		"OpenAI by name":             {"", "https://api.openai.com/v1", true},
		"another host":               {"http://a.example.org/v1", "http://b.example.org/v1", false},
		"another port":               {"http://a.example.org/v1", "http://a.example.org:8000/v1", false},
		"another folder":             {"http://a.example.org/v1", "http://a.example.org/v2", false},
		"no TLS":                     {"https://a.example.org/v1", "http://a.example.org/v1", false},
		"a host that begins like it": {"http://a.example.org/v1", "http://a.example.org.evil.example/v1", false},
		"a user before another host": {"http://a.example.org/v1", "http://a.example.org@evil.example/v1", false},
		"not OpenAI":                 {"", "https://api.openai.com.evil.example/v1", false},
		"OpenAI, but not the base":   {"http://a.example.org/v1", "https://api.openai.com/v1", false},
	} {
		d := Directory{env: func(v string) string { return map[string]string{EnvBase: c.base, EnvKey: key}[v] }}
		p, err := d.Open(c.endpoint)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := p.Endpoint.key == key; got != c.want {
			t.Errorf("%s: key sent %v; want %v", name, got, c.want)
		}
		if sentence := p.Endpoint.sentence("m", 401); !c.want && p.Endpoint.user == nil && !strings.Contains(sentence, "goes to OPENAI_BASE_URL only") {
			t.Errorf("%s: %s", name, sentence)
		}
	}
}

func TestWithoutAnyEndpointItIsSaidWhatToSet(t *testing.T) {
	d := Directory{env: func(string) string { return "" }}
	if _, err := d.Open(""); err == nil || !strings.Contains(err.Error(), "set designer.endpoint or OPENAI_BASE_URL") {
		t.Errorf("error %v", err)
	}
}

func TestAKeyFileIsReadEachTimeAndItsContentNeverShown(t *testing.T) {
	d := directory(t, "lab: {url: \"http://h/v1\", key_file: lab.key}\n", nil)
	file := filepath.Join(d.folder, "lab.key")
	if _, err := d.Open("lab"); err == nil || !strings.Contains(err.Error(), "endpoint lab: read its key") {
		t.Errorf("error %v", err)
	}
	if got := len(d.Missing()); got != 1 {
		t.Errorf("%d endpoints lack a key; want 1", got)
	}
	for _, key := range []string{"first-key-123", "second-key-456"} {
		write(t, file, key+"\n")
		p, err := d.Open("lab")
		if err != nil || p.Endpoint.key != key {
			t.Errorf("key %q, error %v; want %q", p.Endpoint.key, err, key)
		}
		if got := p.Endpoint.sentence("m", 401); !strings.Contains(got, "the key in the file lab.key was refused") {
			t.Error(got)
		}
	}
	for _, bad := range []string{"", " \n", "two words canary-word", "line canary-word\nline"} {
		write(t, file, bad)
		if _, err := d.Open("lab"); err == nil || strings.Contains(err.Error(), "canary-word") || !strings.Contains(err.Error(), "holds no key") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestAKeyThatIsNotSetIsNamed(t *testing.T) {
	d := directory(t, twoEndpoints, nil)
	if _, err := d.Open("lab"); err == nil || !strings.Contains(err.Error(), "LAB_KEY, which is not set") {
		t.Errorf("error %v", err)
	}
	if p, err := d.Open("local"); err != nil || !strings.Contains(p.Endpoint.sentence("m", 401), "endpoint local has neither key_env nor key_file") {
		t.Errorf("error %v", err)
	}
}

func TestAllFaultsOfAFileAreToldAtOnceAndNoSecrets(t *testing.T) {
	_, err := Read("e.yaml", []byte(`
a: {key_env: sk-canary-word, key_file: f}
"b c": {url: http://h/v1}
c: {url: "http://user:canary-word@h/v1", modl: m, prompt_price: -1}
d: {url: "http://h/v1?token=canary-word", timeout: 5}
e: {url: canary-word, timeout: 99h, reply_price: 1}
f: [1]
f: {url: "http://h/v1"}
g: {url: "http://h/v1", key: canary-word, prompt_price: 1, reply_price: 1, model: null}
`))
	faults, ok := errors.AsType[*config.Faults](err)
	if !ok {
		t.Fatalf("error %v", err)
	}
	for i, want := range []string{
		"e.yaml:2:1: a: found no url", "2:14: a.key_env: found something that is no name", "2:30: a.key_file: found key_file beside key_env",
		`3:1: found the name "b c"`,
		"4:10: c.url: found a user, query or fragment", "4:42: c.modl: found unknown key", "4:51: c.prompt_price: found prompt_price without reply_price", "4:65: c.prompt_price: found -1",
		"5:10: d.url: found a user, query", "5:52: d.timeout: found 5",
		"6:10: e.url: found something that is no http", "6:32: e.timeout: found \"99h\"", "6:37: e.reply_price: found reply_price without prompt_price",
		"7:4: f: found a list", "8:1: f: found the key \"f\" a second time",
		"9:25: g.key: found unknown key", "9:83: g.model: found nothing",
	} {
		if i >= len(faults.Lines) || !strings.Contains(faults.Lines[i], want) {
			t.Errorf("fault %d is %q; want %q in it", i, at0(faults.Lines, i), want)
		}
	}
	if len(faults.Lines) != 17 {
		t.Errorf("%d faults:\n%v", len(faults.Lines), err)
	}
	if strings.Contains(err.Error(), "canary-word") {
		t.Errorf("a secret is shown: %v", err)
	}
}

func at0(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return ""
}

func TestAFileThatCannotBeReadIsAFault(t *testing.T) {
	t.Setenv(EnvFile, filepath.Join(t.TempDir(), "none.yaml"))
	if _, err := Load(""); err == nil || !strings.Contains(err.Error(), "endpoints file: ") {
		t.Errorf("error %v", err)
	}
	file := filepath.Join(t.TempDir(), "endpoints.yaml")
	write(t, file, twoEndpoints)
	d, err := Load(file)
	if err != nil || strings.Join(d.Names(), " ") != "lab local" {
		t.Errorf("names %v, error %v", d.Names(), err)
	}
}

func FuzzReadNeverPanicsNorTakesWhatCannotBeOpened(f *testing.F) {
	f.Add(twoEndpoints)
	f.Add("a: {url: 'http://h', timeout: 1s, prompt_price: 1e3, reply_price: .5}")
	f.Fuzz(func(t *testing.T, text string) {
		entries, err := Read("f", []byte(text))
		if err != nil {
			return
		}
		for _, e := range entries {
			if _, err := New(e.URL, ""); err != nil {
				t.Errorf("%q was taken: %v", e.URL, err)
			}
		}
	})
}
