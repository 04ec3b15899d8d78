package endpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// reading is what floe takes from a response. Servers are loose with the types of the
// rest, so nothing else is looked at.
type reading struct {
	model, fingerprint string
	choices            int
	text, reasoning    string
	refusal            string
	finish             string
	prompt, completion *int            // nil: not counted
	failure            json.RawMessage // an error in the choice or beside it; nil: none
}

// errNoJSON is a response that is no JSON object.
var errNoJSON = errors.New("no JSON object")

// oddError is a field with a type that means nothing there.
type oddError struct{ Field, Found, Want string }

func (e *oddError) Error() string {
	return fmt.Sprintf("%s is %s; want %s", e.Field, e.Found, e.Want)
}

type object map[string]json.RawMessage

func objectOf(raw json.RawMessage) (object, bool) {
	var o object
	err := json.Unmarshal(raw, &o)
	return o, err == nil && o != nil
}

// whole is a response as an object; nil if it is none.
func whole(response []byte) object {
	o, _ := objectOf(unmarked(response))
	return o
}

// unmarked is a text without a byte order mark.
func unmarked(text []byte) []byte { return bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")) }

// read understands a response. Beside an error there is what could be read of the
// rest: a failure that the server reports needs no choice.
func read(response []byte) (r reading, err error) {
	body := whole(response)
	if body == nil {
		return r, errNoJSON
	}
	r.model, r.fingerprint = text(body["model"]), text(body["system_fingerprint"])
	r.failure = something(body["error"])
	usage, _ := objectOf(body["usage"])
	r.prompt, r.completion = count(usage["prompt_tokens"]), count(usage["completion_tokens"])
	var choices []json.RawMessage
	if raw := body["choices"]; json.Unmarshal(raw, &choices) != nil && len(raw) > 0 {
		return r, odd("choices", raw, "a list")
	}
	if r.choices = len(choices); r.choices == 0 {
		return r, nil
	}
	return r, r.choice(choices[0])
}

func (r *reading) choice(raw json.RawMessage) error {
	choice, ok := objectOf(raw)
	if !ok {
		return odd("choices[0]", raw, "an object")
	}
	if r.failure == nil {
		r.failure = something(choice["error"])
	}
	message, ok := objectOf(choice["message"])
	if !ok && r.failure == nil {
		return odd("choices[0].message", choice["message"], "an object")
	}
	r.refusal = text(message["refusal"])
	r.reasoning = both(thought(message["reasoning_content"]), thought(message["reasoning"]))
	var err error
	r.finish, err = reason(choice["finish_reason"])
	return errors.Join(r.content(message["content"]), err)
}

// content takes a message's text; some servers send it in parts, thoughts among them.
func (r *reading) content(raw json.RawMessage) error {
	var parts []json.RawMessage
	switch {
	case missing(raw):
		return nil
	case json.Unmarshal(raw, &r.text) == nil:
		return nil
	case json.Unmarshal(raw, &parts) != nil:
		return odd("choices[0].message.content", raw, "a text")
	}
	var said strings.Builder
	for _, part := range parts {
		said.WriteString(text(part))
		if o, ok := objectOf(part); ok {
			said.WriteString(text(o["text"]))
			r.reasoning = both(r.reasoning, thought(o["thinking"]))
		}
	}
	r.text = said.String()
	return nil
}

// reason takes why a reply ended: a word, or an object with the word as its type.
func reason(raw json.RawMessage) (string, error) {
	var word string
	if missing(raw) || json.Unmarshal(raw, &word) == nil {
		return word, nil
	}
	if o, ok := objectOf(raw); ok && text(o["type"]) != "" {
		return text(o["type"]), nil
	}
	return "", odd("choices[0].finish_reason", raw, "a word")
}

// tokens are those that were counted, or else these estimates.
func (r reading) tokens(prompt, completion int) (int, int) {
	if r.prompt != nil && r.completion != nil && *r.prompt+*r.completion == 0 {
		return prompt, completion
	}
	if r.prompt != nil {
		prompt = *r.prompt
	}
	if r.completion != nil {
		completion = *r.completion
	}
	return prompt, completion
}

// count takes a number of tokens, also one that is a fraction or a text; nil for
// anything that is no number.
func count(raw json.RawMessage) *int {
	const most = 1e9
	n, err := strconv.ParseFloat(strings.Trim(string(raw), `" `), 64)
	if err != nil || !(n >= 0 && n <= most) {
		return nil
	}
	tokens := int(math.Round(n))
	return &tokens
}

// text is a JSON string's text, and nothing for any other value.
func text(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s) // another type has no text
	return s
}

// thought is a JSON string's text; anything else that says something stays JSON.
func thought(raw json.RawMessage) string {
	if something(raw) == nil {
		return ""
	}
	return plain(raw)
}

// plain is a JSON string's text; anything else stays JSON, and null is nothing.
func plain(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s // null too
	}
	return string(raw)
}

// something is a value that says something, nil for all others: null, false, 0, "", [], {}.
func something(raw json.RawMessage) json.RawMessage {
	var short bytes.Buffer
	if json.Compact(&short, raw) != nil {
		return nil
	}
	switch short.String() {
	case "", "null", "false", "0", `""`, "[]", "{}":
		return nil
	}
	return raw
}

func missing(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// both joins two thoughts, which some servers send under two names.
func both(first, second string) string {
	if first == "" || first == second {
		return second
	}
	return strings.TrimSpace(first + "\n\n" + second)
}

// present are the texts that are not empty.
func present(texts ...string) []string {
	var some []string
	for _, t := range texts {
		if t != "" {
			some = append(some, t)
		}
	}
	return some
}

// odd describes a value by its type; its content may be long, or a secret.
func odd(field string, raw json.RawMessage, want string) error {
	found := "missing"
	if len(raw) > 0 {
		found = map[byte]string{'"': "a text", '{': "an object", '[': "a list", 't': "true", 'f': "false", 'n': "null"}[raw[0]]
		if found == "" {
			found = "a number"
		}
	}
	return &oddError{field, found, want}
}
