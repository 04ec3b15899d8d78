package openai_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"floe/internal/designer"
)

// asked is the request that a changed spec sends.
func asked(t *testing.T, change func()) map[string]json.RawMessage {
	t.Helper()
	defer func(was []string, thinking, structured string) {
		spec.Stop, spec.Thinking, spec.Structured = was, thinking, structured
	}(spec.Stop, spec.Thinking, spec.Structured)
	change()
	_, s, _ := done(t, reply(good))
	return fields(t, s.bodies[0])
}

func TestStopThinkingAndSchemaAreSentWhenAskedForOnly(t *testing.T) {
	bare := asked(t, func() { spec.Thinking, spec.Structured = "default", "none" })
	for _, field := range []string{"stop", "chat_template_kwargs", "response_format"} {
		if bare[field] != nil {
			t.Errorf("%s was sent though nobody asked for it", field)
		}
	}
	f := asked(t, func() { spec.Stop, spec.Thinking, spec.Structured = []string{"END", "\n\n"}, "off", "json_schema" })
	if got := string(f["stop"]); got != `["END","\n\n"]` {
		t.Errorf("stop %s", got)
	}
	if got := string(f["chat_template_kwargs"]); got != `{"enable_thinking":false}` {
		t.Errorf("chat_template_kwargs %s", got)
	}
	if got := string(asked(t, func() { spec.Thinking = "on" })["chat_template_kwargs"]); got != `{"enable_thinking":true}` {
		t.Errorf("chat_template_kwargs %s", got)
	}
	var format struct {
		Type   string
		Schema struct {
			Name   string
			Strict bool
			Schema json.RawMessage
		} `json:"json_schema"`
	}
	if err := json.Unmarshal(f["response_format"], &format); err != nil {
		t.Fatal(err)
	}
	if format.Type != "json_schema" || !format.Schema.Strict || format.Schema.Name == "" || string(format.Schema.Schema) != string(designer.Schema(space())) {
		t.Errorf("response_format %s", f["response_format"])
	}
}

func TestAnEndpointThatRefusesASettingSaysWhichMayBeWrong(t *testing.T) {
	defer func() { spec.Structured, spec.Thinking = "", "" }()
	spec.Structured, spec.Thinking = "json_schema", "on"
	for _, status := range []int{400, 422, 501} {
		_, _, _, err := ask(t, plenty, raw(status, `{"error":{"message":"response_format: unknown"}}`), reply(good))
		var final *designer.FinalError
		if !errors.As(err, &final) || !strings.Contains(err.Error(), "designer.structured: none") || !strings.Contains(err.Error(), "designer.thinking: default") {
			t.Errorf("%d: error %v", status, err)
		}
	}
	// As llama-cpp-python 0.3.36 refuses a schema.
	body := `{"error":{"message":"1 validation error:\n  {'type': 'literal_error', 'loc': ('body', 'response_format', 'type'), 'msg': \"Input should be 'text' or 'json_object'\"}","type":"internal_server_error","code":null}}`
	_, s, _, err := ask(t, plenty, raw(500, body), reply(good))
	var final *designer.FinalError
	if !errors.As(err, &final) || s.requests() != 1 || !strings.Contains(err.Error(), "designer.structured: none") {
		t.Errorf("after %d requests: %v", s.requests(), err)
	}
	if got, _, _ := done(t, raw(500, "cannot read the model"), reply(good)); len(got.Attempts) != 2 {
		t.Errorf("another 500 was not waited out: %+v", got)
	}
	spec.Structured, spec.Thinking = "none", "default"
	if _, _, _, err := ask(t, plenty, raw(400, "no")); err == nil || strings.Contains(err.Error(), "designer.") {
		t.Errorf("error %v", err)
	}
}

func TestAReplyHeldToTheSchemaIsRead(t *testing.T) {
	got, _, _ := done(t, reply(`{"rationale":"because","sizes":{"low":{"data_ratio":0.7,"knob":0.2},"high":{"data_ratio":0.3,"knob":0.1}}}`))
	if got.Outcome != designer.OutcomeOK || got.Used.Rows[0].DataRatio != 0.7 || got.Rationale != "because" {
		t.Errorf("transcript %+v", got)
	}
}

func TestATranscriptSaysWhatAnsweredAndWhen(t *testing.T) {
	got, _, _ := done(t, raw(200, `{"model":"served-7b","system_fingerprint":"fp-9","choices":[{"message":{"content":`+quoted(good)+`},"finish_reason":"stop"}]}`, "Server", "llama.cpp"))
	a := got.Attempts[0]
	if a.Server != "served-7b · fp-9 · llama.cpp" {
		t.Errorf("server %q", a.Server)
	}
	if at, err := time.Parse(time.RFC3339, a.At); err != nil || at.Location() != time.UTC {
		t.Errorf("at %q: %v", a.At, err)
	}
	if len(a.Trace) == 0 {
		t.Error("the reader's trace is lost")
	}
}

func quoted(text string) string {
	b, _ := json.Marshal(text) // a string always marshals
	return string(b)
}
