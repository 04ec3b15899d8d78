package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestTheGuideNamesWhatThereIs: docs/gpu.md cannot be run without a GPU, so at least
// its commands, settings, files and links are those that exist.
func TestTheGuideNamesWhatThereIs(t *testing.T) {
	body, err := os.ReadFile("../docs/gpu.md")
	if err != nil {
		t.Fatal(err)
	}
	guide := string(body)

	fields := schemaFields(t)
	commands := regexp.MustCompile("(?:bin/|`)starter ([a-z][^`#\n]*)").FindAllStringSubmatch(guide, -1)
	for _, c := range commands {
		args := strings.Fields(strings.ReplaceAll(c[1], "…", "x"))
		cmd, rest, err := (&app{}).root().Find(args)
		if err != nil || !cmd.Runnable() || cmd.Name() == "starter" {
			t.Errorf("starter %s: %v; want a command", c[1], err)
			continue
		}
		cmd.InheritedFlags() // makes those of its parents known
		if err := cmd.ParseFlags(rest); err != nil {
			t.Errorf("starter %s: %v", c[1], err)
		}
		checkSets(t, c[1], cmd, fields)
	}

	settings := regexp.MustCompile("`((?:trainer|job|serve|ask|limits|designer)\\.[a-z_.]+)`").FindAllStringSubmatch(guide, -1)
	for _, s := range settings {
		if !fields[s[1]] {
			t.Errorf("the setting %s is none of an experiment file", s[1])
		}
	}

	files := regexp.MustCompile(`examples/[a-z-]+\.yaml|trainer/requirements/[a-z]+\.txt`).FindAllString(guide, -1)
	for _, f := range files {
		if _, err := os.Stat(filepath.Join("..", f)); err != nil {
			t.Error(err)
		}
	}
	links := regexp.MustCompile(`\]\(([^)#]+)\)`).FindAllStringSubmatch(guide, -1)
	for _, l := range links {
		if _, err := os.Stat(filepath.Join("../docs", l[1])); err != nil {
			t.Error(err)
		}
	}
	if len(commands) < 12 || len(settings) < 12 || len(files) < 5 || len(links) < 5 {
		t.Errorf("found %d commands, %d settings, %d files and %d links; has the guide another form now?", len(commands), len(settings), len(files), len(links))
	}
}

// checkSets looks at the overrides of a command line.
func checkSets(t *testing.T, line string, cmd *cobra.Command, fields map[string]bool) {
	t.Helper()
	if sets, err := cmd.Flags().GetStringArray("set"); err == nil {
		for _, s := range sets {
			if key, _, ok := strings.Cut(s, "="); !ok || !fields[key] {
				t.Errorf("starter %s: --set %s is no setting of an experiment file", line, s)
			}
		}
	}
}

// schemaFields are the dotted fields of experiment files.
func schemaFields(t *testing.T) map[string]bool {
	t.Helper()
	body, err := os.ReadFile("../docs/experiment.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	type node struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	fields := map[string]bool{}
	var walk func(path string, raw json.RawMessage)
	walk = func(path string, raw json.RawMessage) {
		var n node
		if err := json.Unmarshal(raw, &n); err != nil {
			t.Fatal(err)
		}
		for key, inner := range n.Properties {
			at := strings.TrimPrefix(path+"."+key, ".")
			fields[at] = true
			walk(at, inner)
		}
	}
	walk("", body)
	return fields
}
