package endpoint

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// full is a reply with all that servers send, of which floe reads a little.
const full = `{"id":"c-1","object":"chat.completion","created":1748694614,"model":"m-7b","system_fingerprint":"fp","service_tier":"default",
"choices":[{"index":0,"message":{"role":"assistant","content":"yes","refusal":null,"reasoning":"hm","annotations":[],"audio":null,
"function_call":null,"tool_calls":[{"id":"t","type":"function","index":0,"function":{"name":"f","arguments":"{}"}}]},
"logprobs":null,"finish_reason":"stop","stop_reason":null,"matched_stop":null,"token_ids":null,
"content_filter_results":{"hate":{"filtered":false,"severity":"safe"}}}],
"usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10,"prompt_tokens_details":{"cached_tokens":0},"completion_tokens_details":null},
"prompt_logprobs":null,"kv_transfer_params":null,"timings":{"prompt_ms":1.5}}`

// other are values of every type.
var other = []any{nil, true, false, 0, -1, 1748694614.85, 1e300, "", "text", "12", []any{}, []any{1, "x", nil}, map[string]any{}, map[string]any{"a": 1}}

// paths lists where the values of a JSON document are.
func paths(v any, at string) []string {
	var all []string
	switch v := v.(type) {
	case map[string]any:
		for k, inner := range v {
			all = append(append(all, at+"/"+k), paths(inner, at+"/"+k)...)
		}
	case []any:
		for i, inner := range v {
			here := fmt.Sprintf("%s/%d", at, i)
			all = append(append(all, here), paths(inner, here)...)
		}
	}
	return all
}

// put replaces the value at a path.
func put(v any, path string, value any) any {
	first, rest, more := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if !more {
		rest = ""
	}
	set := func(old any) any {
		if rest == "" {
			return value
		}
		return put(old, "/"+rest, value)
	}
	switch v := v.(type) {
	case map[string]any:
		v[first] = set(v[first])
	case []any:
		i := int(first[0] - '0')
		v[i] = set(v[i])
	}
	return v
}

func parse(t testing.TB, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// matters says whether a change at a path may change text, end or tokens of a reply,
// or refuse it.
func matters(path string) bool {
	return slices.Contains([]string{
		"/choices", "/choices/0", "/choices/0/message", "/choices/0/message/content", "/choices/0/finish_reason",
		"/usage", "/usage/prompt_tokens", "/usage/completion_tokens",
	}, path)
}

func answering(t *testing.T, body string) (Reply, *Trouble) {
	t.Helper()
	e, _ := at(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })
	return e.Call(t.Context(), Request{Model: "m", Messages: []Message{{RoleUser, "hello"}}})
}

func TestNoFieldThatIsNotReadMatters(t *testing.T) {
	n := 0
	for _, path := range paths(parse(t, full), "") {
		for _, value := range other {
			body, err := json.Marshal(put(parse(t, full), path, value))
			if err != nil {
				t.Fatal(err)
			}
			r, err := read(body)
			if matters(path) {
				continue
			}
			n++
			if prompt, reply := r.tokens(1, 1); err != nil || r.failure != nil || r.text != "yes" || r.finish != "stop" || prompt != 7 || reply != 3 {
				t.Errorf("%s = %v: %v, %+v", path, value, err, r)
			}
		}
	}
	if n < 300 {
		t.Errorf("%d changes were tried", n)
	}
}

func TestRepliesOfLooseServersAreRead(t *testing.T) {
	for name, body := range map[string]string{
		"a fraction for a time":  strings.Replace(full, `1748694614`, `1748694614.85`, 1),
		"fractions for tokens":   strings.Replace(full, `"prompt_tokens":7,"completion_tokens":3`, `"prompt_tokens":7.0,"completion_tokens":3.0`, 1),
		"texts for tokens":       strings.Replace(full, `"prompt_tokens":7,"completion_tokens":3`, `"prompt_tokens":"7","completion_tokens":"3"`, 1),
		"a number for an id":     strings.Replace(full, `"c-1"`, `12345`, 1),
		"a list for logprobs":    strings.Replace(full, `"logprobs":null`, `"logprobs":[]`, 1),
		"false for a refusal":    strings.Replace(full, `"refusal":null`, `"refusal":false`, 1),
		"a list for details":     strings.Replace(full, `{"cached_tokens":0}`, `[]`, 1),
		"an object of arguments": strings.Replace(full, `"arguments":"{}"`, `"arguments":{}`, 1),
		"a byte order mark":      "\xef\xbb\xbf" + full,
		"an error that is none":  strings.Replace(full, `"id":`, `"error":null,"id":`, 1),
		"content in parts":       strings.Replace(full, `"content":"yes"`, `"content":["y",{"type":"text","text":"es"}]`, 1),
		"an object for a reason": strings.Replace(full, `"finish_reason":"stop"`, `"finish_reason":{"type":"stop","matched":2}`, 1),
	} {
		if r, trouble := answering(t, body); trouble != nil || r.Text != "yes" || r.Reasoning != "hm" || r.PromptTokens != 7 || r.CompletionTokens != 3 {
			t.Errorf("%s: trouble %v, reply %+v", name, trouble, r)
		}
	}
}

func TestAFieldThatCannotBeReadIsNamed(t *testing.T) {
	for want, body := range map[string]string{
		"choices[0].message.content is a number; want a text":     strings.Replace(full, `"content":"yes"`, `"content":7`, 1),
		"choices[0].message is missing; want an object":           `{"choices":[{"text":"yes"}]}`,
		"choices is an object; want a list":                       `{"choices":{"message":{"content":"yes"}}}`,
		"choices[0].finish_reason is a number; want a word":       strings.Replace(full, `"finish_reason":"stop"`, `"finish_reason":7`, 1),
		"choices[0] is a text; want an object":                    `{"choices":["yes"]}`,
		"something that is no chat completion (base URLs mostly ": `{"hello":"world"}`,
	} {
		if _, trouble := answering(t, body); trouble == nil || !trouble.Final || !strings.Contains(trouble.Reason, want) {
			t.Errorf("%v; want %q", trouble, want)
		}
	}
}

func TestThoughtsInPartsAreReasoning(t *testing.T) {
	r, trouble := answering(t, `{"choices":[{"message":{"content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"yes"}]},"finish_reason":"stop"}]}`)
	if trouble != nil || r.Text != "yes" || r.Reasoning != "hm" {
		t.Errorf("trouble %v, reply %+v", trouble, r)
	}
}

func FuzzReplies(f *testing.F) {
	f.Add(0, full)
	for i, body := range []string{``, `null`, `[]`, `{"choices":[null]}`, `{"choices":[{"message":{"content":[[[]]]}}]}`, "\xef\xbb\xbf{}"} {
		f.Add(i, body)
	}
	all := paths(parse(f, full), "")
	f.Fuzz(func(t *testing.T, i int, text string) {
		_, _ = read([]byte(text)) // anything may come
		var value any
		if json.Unmarshal([]byte(text), &value) != nil {
			return
		}
		path := all[max(0, i)%len(all)]
		body, err := json.Marshal(put(parse(t, full), path, value))
		if err != nil {
			t.Fatal(err)
		}
		r, err := read(body)
		if !matters(path) && !strings.HasPrefix(path, "/choices/0/message/reasoning") && (err != nil || r.text != "yes" || r.finish != "stop") {
			t.Errorf("%s = %s: %v, %+v", path, text, err, r)
		}
	})
}
