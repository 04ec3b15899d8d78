package config_test

import (
	"strings"
	"testing"

	"floe/internal/config"
)

func TestDesignersThatCouldNotWorkAreRefused(t *testing.T) {
	const base = "name: a\nbenchmarks: {agents: []}\n"
	const sections = "one of failures, guidelines, history, designed-history, summary, training"
	const orName = "want an http or https URL, or a name in the worker's endpoints file"
	for _, c := range []struct{ name, designer, want string }{
		// whom to ask
		{"no model", "{kind: openai}", "3:18: designer.model: found nothing; want the name of the model that kind openai asks"},
		{"no model, at an address", "{kind: openai, endpoint: 'http://h/v1'}", "3:18: designer.model: found nothing; want the name of the model that kind openai asks"},
		{"another scheme", "{kind: openai, model: m, endpoint: 'ftp://host/'}", `3:46: designer.endpoint: found "ftp://host/"; ` + orName},
		{"a host and port", "{kind: openai, model: m, endpoint: 'localhost:80'}", `3:46: designer.endpoint: found "localhost:80"; ` + orName},
		{"a password", "{kind: openai, model: m, endpoint: 'http://me:pw@host/'}", "3:46: designer.endpoint: found a user or password in the address, and files hold no secrets; " + orName},
		{"a password in no URL", "{kind: openai, model: m, endpoint: 'http://me:p%w@host/'}", "3:46: designer.endpoint: found an address that cannot be read; " + orName},
		{"a query", "{kind: openai, model: m, endpoint: 'http://host/?key=pw'}", "3:46: designer.endpoint: found a query or fragment in the address; " + orName},
		{
			"the trained policy", "{kind: trained}",
			"3:18: designer.kind: found trained, which asks the policy in training, but trainer.kind is embedded; want openai or a rule: the embedded policy is not a language model",
		},
		{
			"the base policy", "{kind: base}",
			"3:18: designer.kind: found base, which asks the policy in training, but trainer.kind is embedded; want openai or a rule: the embedded policy is not a language model",
		},

		// settings that nobody reads
		{"a model for a rule", "{kind: fixed, model: m}", "3:32: designer.model: found a setting that kind fixed does not read; want it only where a model is asked: kind one of openai, trained, base"},
		{
			"settings of calls for a person", "{kind: human, endpoint: here, temperature: 0.5, stop: [x], repairs: 0}",
			"3:35: designer.endpoint: found a setting that kind human does not read; want it only where a model is asked: kind one of openai, trained, base\n" +
				"f.yaml:3:54: designer.temperature: found a setting that kind human does not read; want it only where a model is asked: kind one of openai, trained, base\n" +
				"f.yaml:3:65: designer.stop: found a setting that kind human does not read; want it only where a model is asked: kind one of openai, trained, base\n" +
				"f.yaml:3:79: designer.repairs: found a setting that kind human does not read; want it only where a model is asked: kind one of openai, trained, base",
		},
		{"missing sizes of a rule", "{kind: random, missing: zero}", "3:35: designer.missing: found a setting that kind random does not read; want it only where a model is asked: kind one of openai, trained, base"},
		{"guidelines that are not shown", "{context: V1, guidelines: be bold}", "3:37: designer.guidelines: found a text, and context V1 does not show the section guidelines; want one that does, such as V2"},
		{"depth of what is not shown", "{context: V3, details: full}", "3:34: designer.details: found full, and context V3 does not show the section training; want one that does, such as V6"},

		// custom contexts
		{"no sections", "{context: custom}", "3:21: designer.sections: found nothing; want a list with at least " + sections},
		{"an empty list", "{context: custom, sections: []}", "3:39: designer.sections: found a list of length 0; want a length from 1 to 1000"},
		{"sections of a variant", "{context: V1, sections: [failures]}", "3:35: designer.sections: found a list with context V1, which has sections of its own; want it only with context custom"},
		{"a slip", "{context: custom, sections: [failures, guideline]}", `3:50: designer.sections[1]: found "guideline"; want guidelines: ` + sections},
		{"no section", "{context: custom, sections: [failures, 'hints and tips']}", `3:50: designer.sections[1]: found "hints and tips"; want ` + sections},
		{"a section twice", "{context: custom, sections: [failures, failures]}", `3:50: designer.sections[1]: found "failures" a second time; want each once`},
		{"both histories", "{context: custom, sections: [failures, designed-history, history]}", "3:50: designer.sections[1]: found designed-history beside history; want one of them: history holds all of it"},

		// rules that are shown too little
		{"replay without history", "{kind: replay, context: V1}", "3:18: designer.kind: found replay, which reads the section history or designed-history, and context V1 does not show it; want context V3, V4, V5, V6, or custom with that section"},
		{"linear without rounds", "{kind: linear, context: V5}", "3:18: designer.kind: found linear, which reads the section training, and context V5 does not show it; want context V6, or custom with that section"},
		{"learnability without results", "{context: custom, sections: [training]}", "3:11: designer.kind: found learnability, which reads the section failures, and context custom does not show it; want context V1, V2, V3, V4, V5, V6, or custom with that section"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := load(base + "designer: " + c.designer)
			checkFaults(t, err, "f.yaml:"+c.want)
		})
	}
}

func TestDesignersThatWorkAreTaken(t *testing.T) {
	for _, designer := range []string{
		"{kind: openai, model: m}",
		"{kind: openai, model: m, endpoint: 'http://127.0.0.1:8000/v1', temperature: 1, stop: [\"\\n\\n\", END], thinking: 'off', structured: json_schema, missing: refuse}",
		"{kind: openai, endpoint: lab.gpu-1}", // the worker knows its model
		"{kind: human, approve: true, min_share: 0.01}",
		"{kind: replay, context: V3}",
		"{kind: linear}",
		"{kind: uniform, context: V1, trivial: stop}",
		"{kind: regret, context: custom, sections: [training, failures], details: full}",
		"{kind: replay, context: custom, sections: [designed-history]}",
		"{kind: openai, model: m, context: V2, guidelines: \"- Be bold.\\n- Then rest.\\n\\tDeeply.\"}",
		"{kind: fixed, temperature: 0, max_tokens: 4096, repairs: 2, missing: keep, thinking: default}", // as effective files say it
	} {
		spec := mustLoad(t, "name: a\nbenchmarks: {agents: []}\ndesigner: "+designer)
		body, err := config.Marshal(spec)
		if err != nil {
			t.Fatal(err)
		}
		if again := mustLoad(t, string(body)); len(config.Diff(spec, again)) > 0 {
			t.Errorf("%s: written down it reads %v", designer, config.Diff(spec, again))
		}
	}
}

func TestGuidelinesMayBeLongButNotEndless(t *testing.T) {
	file := func(n int) string {
		return "name: a\nbenchmarks: {agents: []}\ndesigner:\n  context: V2\n  guidelines: |\n    " + strings.Repeat("x", n)
	}
	mustLoad(t, file(19_000))
	_, err := load(file(20_001))
	checkFaults(t, err, "f.yaml:5:15: designer.guidelines: found 20001 characters; want at most 20000")
}
