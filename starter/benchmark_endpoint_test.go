package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const labKey = "lab-canary-5d02c1"

// endpointsFile has two names for a model: one with a key, one without.
func endpointsFile(t *testing.T, m *model) string {
	t.Helper()
	t.Setenv("LAB_KEY", labKey)
	text := fmt.Sprintf(`lab: {url: %[1]q, key_env: LAB_KEY, model: lab/model, prompt_price: 1000, reply_price: 2000}
open: {url: %[1]q}
`, m.URL)
	return put(t, "endpoints.yaml", text)
}

// TestAKeyGoesToNoOtherAddressThanItsOwn looks at what servers are really sent.
func TestAKeyGoesToNoOtherAddressThanItsOwn(t *testing.T) {
	for name, c := range map[string]struct {
		base  string // OPENAI_BASE_URL; SERVER is the server that is asked
		args  []string
		wants string
	}{
		"a typed address":                  {"", []string{"--endpoint", "SERVER"}, ""},
		"a typed address, another base":    {"http://127.0.0.1:1/v1", []string{"--endpoint", "SERVER"}, ""},
		"a typed address, the base":        {"SERVER", []string{"--endpoint", "SERVER/"}, "Bearer " + canary},
		"a typed address, a folder of it":  {"SERVER", []string{"--endpoint", "SERVER/v2"}, ""},
		"nothing typed":                    {"SERVER", nil, "Bearer " + canary},
		"a name":                           {"SERVER", []string{"--endpoint", "lab"}, "Bearer " + labKey},
		"a name without a key":             {"SERVER", []string{"--endpoint", "open"}, ""},
		"the address of a name":            {"", []string{"--endpoint", "SERVER"}, ""},
		"a typed address with a user only": {"", []string{"--endpoint", "http://someone:password-1@HOST"}, "Basic c29tZW9uZTpwYXNzd29yZC0x"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, m := t.TempDir(), newModel(t)
			withSet(t, dir)
			here := strings.NewReplacer("SERVER", m.URL, "HOST", strings.TrimPrefix(m.URL, "http://"))
			t.Setenv("OPENAI_API_KEY", canary)
			t.Setenv("OPENAI_BASE_URL", here.Replace(c.base))
			t.Setenv("FLOE_ENDPOINTS", endpointsFile(t, m))
			args := []string{"benchmark", "--out", dir}
			for _, arg := range c.args {
				args = append(args, here.Replace(arg))
			}
			out, errOut, code := cli(t, args...)
			if code != exitOK || len(m.auth) != 1 || !m.auth[c.wants] {
				t.Errorf("exit code %d, Authorization %v; want %q: %s", code, m.auth, c.wants, errOut)
			}
			foundNowhere(t, dir, out, errOut)
		})
	}
}

// foundNowhere fails where a key is in a text or in a file of a folder.
func foundNowhere(t *testing.T, dir string, texts ...string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		body, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(body))
	}
	for _, text := range texts {
		for _, secret := range []string{canary, labKey, "password-1", "c29tZW9uZTpwYXNzd29yZC0x"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s is in\n%s", secret, text)
			}
		}
	}
}

func TestAKeyThatIsEchoedIsFoundNowhere(t *testing.T) {
	dir, m := t.TempDir(), newModel(t)
	withSet(t, dir)
	t.Setenv("OPENAI_API_KEY", canary)
	t.Setenv("OPENAI_BASE_URL", m.URL)
	m.answer = func(string) (string, string) { return "your key is " + canary, "stop" }
	m.first(func(_ int, w http.ResponseWriter, _ *http.Request) bool {
		http.Error(w, "the key "+canary+" is bad", http.StatusUnauthorized)
		return true
	})
	_, refusal, code := cli(t, "benchmark", "--out", dir)
	if code != exitFailed || !strings.Contains(refusal, "the key in OPENAI_API_KEY was refused") {
		t.Errorf("exit code %d: %s", code, refusal)
	}
	m.first(nil)
	out, errOut, code := cli(t, "benchmark", "--out", dir)
	if code != exitOK {
		t.Errorf("exit code %d: %s", code, errOut)
	}
	foundNowhere(t, dir, refusal, out, errOut)
}

func TestAServerThatWantsAKeyIsNamedWithTheWayToGiveItOne(t *testing.T) {
	for status, says := range map[int]string{
		http.StatusUnauthorized: "wants a key, and OPENAI_API_KEY goes to OPENAI_BASE_URL only; name this server in the endpoints file",
		http.StatusForbidden:    "had no key: OPENAI_API_KEY goes to OPENAI_BASE_URL only; name this server in the endpoints file",
	} {
		m := newModel(t)
		m.first(func(_ int, w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(status)
			return true
		})
		if _, errOut, code := smallBench(t, m, t.TempDir()); code != exitFailed || !strings.Contains(errOut, says) {
			t.Errorf("%d: exit code %d, no %q: %s", status, code, says, errOut)
		}
	}
}

func TestANamedEndpointBringsItsModelAndItsPrices(t *testing.T) {
	dir, m := t.TempDir(), newModel(t)
	file := endpointsFile(t, m)
	t.Chdir(dir) // the folder is named after the model, here
	args := []string{"benchmark", "--endpoint", "lab", "--endpoints", file, "--agents", "3", "--instances", "1", "--max-tokens", "100", "-o", "json"}
	const each = (300*1000 + 50*2000) / 1e6 // money
	out, errOut, code := cli(t, append(args, "--max-cost", "2.5")...)
	r := parsed(t, out)
	if code != exitFailed || r.Complete || r.Tally.Cost == 0 || r.Tally.Cost > 2.5 || !strings.Contains(errOut, "budget of 2.5 money") || !strings.Contains(errOut, "a larger --max-cost goes on") {
		t.Errorf("exit code %d, %+v: %s", code, r.Tally, errOut)
	}
	out, errOut, code = cli(t, args...)
	r = parsed(t, out)
	if cost := float64(r.Tally.Cost) / float64(r.Tally.Answered); code != exitOK || !r.Complete || r.Model != "lab/model" || cost < 0.999*each || cost > 1.001*each {
		t.Errorf("exit code %d, model %s, %v for an answer; want %v: %s", code, r.Model, cost, each, errOut)
	}
	table, _, _ := cli(t, "benchmark", "--out", "benchmark-lab-model", "--endpoint", "lab", "--endpoints", file)
	if want := fmt.Sprintf("; cost %.4f", each*float64(r.Tally.Answered)); !strings.Contains(table, want) {
		t.Errorf("no %q in\n%s", want, table)
	}
	m.askedOnce(t, r.Total.N)
	if got := m.bodies[0]["model"]; got != "lab/model" {
		t.Errorf("asked %v", got)
	}
}

func TestAFolderKnowsItsModelBetterThanTheEndpoint(t *testing.T) {
	dir, m := t.TempDir(), newModel(t)
	withSet(t, dir) // of tiny/model
	file := endpointsFile(t, m)
	if _, errOut, code := cli(t, "benchmark", "--out", dir, "--endpoint", "lab", "--endpoints", file); code != exitOK || m.bodies[0]["model"] != "tiny/model" {
		t.Errorf("exit code %d: %s", code, errOut)
	}
}

func TestWhatIsWrongWithAnEndpointIsToldBeforeAnythingIsMade(t *testing.T) {
	m := newModel(t)
	file, dir := endpointsFile(t, m), filepath.Join(t.TempDir(), "none")
	t.Setenv("OPENAI_BASE_URL", "")
	t.Setenv("OPENAI_API_KEY", "")
	for _, c := range []struct{ args, says []string }{
		{nil, []string{"no endpoint: set --endpoint or OPENAI_BASE_URL, or OPENAI_API_KEY"}},
		{[]string{"--endpoint", "lob", "--endpoints", file}, []string{`"lob"; the endpoints file has lab, open`}},
		{[]string{"--endpoint", "lab"}, []string{"there is no endpoints file"}},
		{[]string{"--endpoint", "me:password-1@host/v1"}, []string{"no name of an endpoint and no URL"}},
		{[]string{"--endpoint", "open", "--endpoints", file, "--max-cost", "1", "--instances", "0"}, []string{"--max-cost counts by prices", "--instances is 0"}},
		{[]string{"--endpoint", "lab", "--endpoints", file, "--max-cost", "NaN"}, []string{"--max-cost is NaN"}},
		{[]string{"--endpoint", "lab", "--endpoints", put(t, "bad.yaml", "lab: {urll: x}\n")}, []string{"bad.yaml:1:7: lab.urll: found unknown key", "found no url"}},
		{[]string{"--score-only", "--endpoints", file, "--max-cost", "1"}, []string{"leave out --endpoints", "leave out --max-cost"}},
	} {
		_, errOut, code := cli(t, append([]string{"benchmark", "--model", "m", "--out", dir}, c.args...)...)
		for _, want := range c.says {
			if code != exitUsage || !strings.Contains(errOut, want) || strings.Contains(errOut, "password-1") {
				t.Errorf("%v: exit code %d, no %q: %s", c.args, code, want, errOut)
			}
		}
	}
	t.Setenv("LAB_KEY", "")
	if _, errOut, code := cli(t, "benchmark", "--model", "m", "--out", dir, "--endpoint", "lab", "--endpoints", file); code != exitUsage || !strings.Contains(errOut, "LAB_KEY, which is not set") {
		t.Errorf("exit code %d: %s", code, errOut)
	}
	if _, errOut, code := cli(t, "benchmark", "--endpoint", "open", "--endpoints", file); code != exitUsage || !strings.Contains(errOut, "name the model with --model") {
		t.Errorf("exit code %d: %s", code, errOut)
	}
	if _, err := os.Stat(dir); err == nil || m.requests() > 0 {
		t.Errorf("%d requests; or %s was made", m.requests(), dir)
	}
}

// TestACallIsGivenUpAfterItsEndpointsTimeout also counts what it may have cost.
func TestACallIsGivenUpAfterItsEndpointsTimeout(t *testing.T) {
	dir, m := t.TempDir(), newModel(t)
	withSet(t, dir)
	m.first(func(n int, _ http.ResponseWriter, r *http.Request) bool {
		if n == 1 {
			<-r.Context().Done()
		}
		return n == 1
	})
	file := put(t, "endpoints.yaml", fmt.Sprintf("slow: {url: %q, timeout: 1s}\n", m.URL))
	table, errOut, code := cli(t, "benchmark", "--out", dir, "--endpoint", "slow", "--endpoints", file)
	if code != exitOK || !strings.Contains(errOut, "did not answer in time") || !strings.Contains(table, "more in calls that broke off") {
		t.Errorf("exit code %d: %s%s", code, errOut, table)
	}
	m.askedOnce(t, smallTasks)
}
