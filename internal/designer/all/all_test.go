package all_test

import (
	"errors"
	"strings"
	"testing"

	"floe/internal/designer"
	"floe/internal/designer/all"
	"floe/internal/endpoint"
	"floe/internal/experiment"
)

func TestRulesAndModelsAreMadeFromOneList(t *testing.T) {
	t.Setenv(endpoint.EnvBase, "http://127.0.0.1:1/v1")
	t.Setenv(endpoint.EnvKey, "")
	makes := all.With(endpoint.Environment())
	for _, k := range designer.Kinds {
		if !k.Rule && k.Name != "openai" {
			continue
		}
		if d, err := makes(experiment.DesignerSpec{Kind: k.Name, Model: "m"}); err != nil || d == nil {
			t.Errorf("%s: %v", k.Name, err)
		}
	}
	for kind, spec := range map[string]experiment.DesignerSpec{
		"no such kind":     {Kind: "oracle"},
		"no such endpoint": {Kind: "openai", Endpoint: "lab", Model: "m"},
		"no model":         {Kind: "openai"},
	} {
		if _, err := makes(spec); err == nil {
			t.Errorf("%s is taken", kind)
		}
	}
	_, err := makes(experiment.DesignerSpec{Kind: "openai", Endpoint: "lab", Model: "m"})
	if _, final := errors.AsType[*designer.FinalError](err); !final || !strings.Contains(err.Error(), `no endpoint is called "lab"`) {
		t.Errorf("error %v", err)
	}
}
