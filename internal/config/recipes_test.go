package config_test

import (
	"cmp"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// setting is what the documentation says of one: its default, as one spelling of
// it, and its choices.
type setting struct{ fallback, choices string }

// settingsOf are the settings that a type of a recipe has.
func settingsOf(t reflect.Type) map[string]setting {
	settings := map[string]setting{}
	for f := range t.Fields() {
		if f.Type.Kind() == reflect.Pointer {
			continue // a section
		}
		name := f.Tag.Get("yaml")
		if json, _, _ := strings.Cut(f.Tag.Get("json"), ","); json != name {
			name = fmt.Sprintf("%s, but %s in JSON", name, json)
		}
		fallback := f.Tag.Get("default")
		switch {
		case f.Tag.Get("llm") != "":
			fallback = f.Tag.Get("llm")
		case fallback == "" && f.Type.Kind() == reflect.Slice:
			fallback = "[]"
		case fallback == "":
			fallback = "null"
		}
		settings[name] = setting{plainNumber(fallback), strings.ReplaceAll(f.Tag.Get("enum"), "|", ", ")}
	}
	return settings
}

var (
	settingsRow = regexp.MustCompile("^\\| `([^`]+)` \\| `([^`]+)` \\| (.*) \\|$")
	choicesOf   = regexp.MustCompile(`One of ([^.]*)\.$`)
)

// recipeTables are the three tables of docs/trainer.md: shared, trl, verl.
func recipeTables(t *testing.T) []map[string]setting {
	t.Helper()
	body, err := os.ReadFile("../../docs/trainer.md")
	if err != nil {
		t.Fatal(err)
	}
	var tables []map[string]setting
	for line := range strings.Lines(string(body)) {
		if strings.HasPrefix(line, "| setting | default |") {
			tables = append(tables, map[string]setting{})
		}
		row := settingsRow.FindStringSubmatch(strings.TrimSpace(line))
		if row == nil || len(tables) == 0 {
			continue
		}
		s := setting{fallback: plainNumber(row[2])}
		if of := choicesOf.FindStringSubmatch(row[3]); of != nil {
			s.choices = strings.ReplaceAll(of[1], "`", "")
		}
		tables[len(tables)-1][row[1]] = s
	}
	if len(tables) != 3 {
		t.Fatalf("docs/trainer.md has %d tables of settings; want 3", len(tables))
	}
	return tables
}

// plainNumber spells numbers alike.
func plainNumber(s string) string {
	if x, err := strconv.ParseFloat(s, 64); err == nil {
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	return s
}

func unequal(a, b map[string]setting) []string {
	var lines []string
	for _, names := range []map[string]setting{a, b} {
		for name := range names {
			x, inTypes := a[name]
			y, inTable := b[name]
			if x != y || inTypes != inTable {
				lines = append(lines, fmt.Sprintf("%s: types %+v (%v), table %+v (%v)", name, x, inTypes, y, inTable))
			}
		}
	}
	slices.SortFunc(lines, cmp.Compare[string])
	return slices.Compact(lines)
}
