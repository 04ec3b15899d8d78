package config_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"floe/internal/config"
	"floe/internal/env"
	"floe/internal/env/all"
)

var update = flag.Bool("update", false, "write golden files anew")

// These tests read what is shipped: the examples against the real environments,
// and the schema that editors use.

func TestEveryExampleLoads(t *testing.T) {
	files, err := filepath.Glob("../../examples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	names := map[string]string{}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(src, []byte("sweep.schema.json")) {
			continue // see TestEveryExampleSweepLoads
		}
		spec, err := config.Load(file, src, nil, all.Open)
		if err != nil {
			t.Error(err)
			continue
		}
		if want := strings.TrimSuffix(filepath.Base(file), ".yaml"); spec.Name != want {
			t.Errorf("%s is named %s; want %s", file, spec.Name, want)
		}
		if other, taken := names[spec.Name]; taken {
			t.Errorf("%s has the name of %s", file, other)
		}
		names[spec.Name] = file
		body, err := config.Marshal(spec)
		if err != nil {
			t.Fatal(err)
		}
		again, err := config.Load("effective.yaml", body, nil, all.Open)
		if err != nil || len(config.Diff(spec, again)) > 0 {
			t.Errorf("%s: written down it reads %v, %v", file, config.Diff(spec, again), err)
		}
	}
}

func TestTheBaselineDiffersInItsDesignerOnly(t *testing.T) {
	read := func(name string) string {
		src, err := os.ReadFile("../../examples/" + name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		return string(src)
	}
	paper, err := config.Load("paper-small.yaml", []byte(read("paper-small")), nil, all.Open)
	if err != nil {
		t.Fatal(err)
	}
	fixed, err := config.Load("baseline-fixed.yaml", []byte(read("baseline-fixed")), []string{"name=paper-small"}, all.Open)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(config.Diff(paper, fixed), "\n")
	if want := "designer.kind: learnability -> fixed"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

const schemaFile = "../../docs/experiment.schema.json"

func TestSchemaIsCurrent(t *testing.T) {
	got := schema(t)
	if *update {
		if err := os.WriteFile(schemaFile, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(schemaFile)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("docs/experiment.schema.json is not what the types say (%v); write it anew: go test ./internal/config -run Schema -update", err)
	}
}

func schema(t *testing.T) []byte {
	t.Helper()
	var envs []env.Environment
	for _, name := range all.Names() {
		e, err := all.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		envs = append(envs, e)
	}
	body, err := config.Schema(envs)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func TestSchemaKnowsTheFieldsAndTheEnvironment(t *testing.T) {
	body, err := config.Schema([]env.Environment{pond{}, pond{}})
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(body, &doc); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"$schema":                                                              `"https://json-schema.org/draft/2020-12/schema"`,
		"additionalProperties":                                                 "false",
		"required":                                                             `["name"]`,
		"properties/rounds":                                                    `{"default":3,"description":"Rounds of generate, train, validate, design (paper: 3).","maximum":100,"minimum":1,"type":"integer"}`,
		"properties/name/pattern":                                              `"^[a-z0-9]([a-z0-9-]{0,50}[a-z0-9])?$"`,
		"properties/environment/enum":                                          `["lake","lake"]`,
		"properties/designer/properties/kind/enum":                             `["fixed","random","uniform","linear","learnability","regret","replay","human","openai","trained","base"]`,
		"properties/designer/properties/sections/items":                        `{"enum":["failures","guidelines","history","designed-history","summary","training"]}`,
		"properties/designer/properties/guidelines/maxLength":                  "20000",
		"properties/trainer/additionalProperties":                              "false",
		"properties/benchmarks/properties/agents/default":                      "[3,4,5]",
		"properties/benchmarks/properties/agents/items":                        `{"maximum":5,"minimum":2,"type":"integer"}`,
		"properties/validation/properties/sizes/items/enum":                    `["2x2","3x3","4x4","10x10"]`,
		"properties/validation/properties/knobs/properties/hole_ratio/maximum": "0.5",
		"$defs/row/required":                                                   `["data_ratio"]`,
	} {
		var node any = doc
		for step := range strings.SplitSeq(path, "/") {
			node = node.(map[string]any)[step]
		}
		if got, _ := json.Marshal(node); string(got) != want {
			t.Errorf("%s is %s; want %s", path, got, want)
		}
	}
}
