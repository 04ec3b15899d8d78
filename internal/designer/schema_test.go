package designer_test

import (
	"encoding/json"
	"strings"
	"testing"

	"floe/internal/designer"
	"floe/internal/env"
)

func TestTheSchemaOfAnAnswerHasAllSizesAndSettingsInOrder(t *testing.T) {
	space := env.Space{Sizes: []string{"3x3", "10x10", `a"b`}, Knobs: []env.Knob{{Name: "hole_ratio"}, {Name: "wait_ratio"}}}
	schema := designer.Schema(space)
	type node struct {
		Type       string
		Properties map[string]node
		Required   []string
		Additional *bool `json:"additionalProperties"`
	}
	var root node
	if err := json.Unmarshal(schema, &root); err != nil {
		t.Fatalf("%v in %s", err, schema)
	}
	if root.Required[0] != "rationale" || root.Properties["rationale"].Type != "string" {
		t.Errorf("the rationale does not come first: %s", schema)
	}
	sizes := root.Properties["sizes"]
	if got := strings.Join(sizes.Required, " "); got != `3x3 10x10 a"b` {
		t.Errorf("sizes %s", got)
	}
	for name, row := range sizes.Properties {
		if got := strings.Join(row.Required, " "); got != "data_ratio hole_ratio wait_ratio" || row.Properties["wait_ratio"].Type != "number" {
			t.Errorf("%s has %s", name, got)
		}
		if row.Additional == nil || *row.Additional {
			t.Errorf("%s takes other settings", name)
		}
	}
	if strings.Index(string(schema), `"3x3":`) > strings.Index(string(schema), `"10x10":`) {
		t.Errorf("the properties are out of order: %s", schema)
	}
}
