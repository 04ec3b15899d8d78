package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"floe/internal/artifact"
	"floe/internal/config"
	"floe/internal/designer"
	"floe/internal/designer/replay"
	"floe/internal/env/all"
	"floe/internal/experiment"
)

// replayCells are all contexts with all designers that were asked for. Each is
// checked as if it stood in an experiment file; the error has all faults of all.
func replayCells(spec experiment.Spec, f replayFlags) ([]replay.Cell, error) {
	defaults, err := config.Load("defaults", []byte("name: defaults\n"), nil, all.Open)
	if err != nil {
		return nil, err
	}
	variants := f.variants
	if len(variants) == 0 {
		variants = []string{spec.Designer.Context}
	}
	who := f.designers
	if len(who) == 0 {
		who = []string{spec.Designer.Kind}
	}
	var cells []replay.Cell
	var lines []string
	for _, w := range who {
		for _, v := range variants {
			c := replay.Cell{Name: v + " " + w, Spec: replaySpec(spec.Designer, defaults.Designer, f, v, w)}
			if again := named(cells, c.Name); again {
				lines = append(lines, c.Name+" is asked for twice; want it once")
				continue
			}
			if c.Spec, err = checkedCell(spec, c); err != nil {
				lines = append(lines, cellFaults(c.Name, err)...)
			}
			cells = append(cells, c)
		}
	}
	if len(lines) > 0 {
		return nil, &config.Faults{Lines: lines}
	}
	return cells, nil
}

func named(cells []replay.Cell, name string) bool {
	for _, c := range cells {
		if c.Name == name {
			return true
		}
	}
	return false
}

// replaySpec is the experiment's designer with another context and another
// designer. Settings that those do not read are left out: a model's, for a rule;
// the experiment's own guidelines and depth of details where the context shows
// neither.
func replaySpec(own, defaults experiment.DesignerSpec, f replayFlags, variant, who string) experiment.DesignerSpec {
	kind, where, _ := strings.Cut(who, ":")
	s := defaults
	if asks(kind) && asks(own.Kind) {
		s = own
	}
	s.Kind, s.Context, s.MinShare, s.Trivial, s.Approve = kind, variant, own.MinShare, own.Trivial, false
	s.Sections, s.Guidelines, s.Details = nil, own.Guidelines, own.Details
	if variant == designer.CustomContext {
		s.Sections = own.Sections
	}
	context, _ := designer.ContextOf(s) // a context that is none is told by the check
	if !context.Shows("guidelines") {
		s.Guidelines = ""
	}
	if !context.Shows("training") {
		s.Details = defaults.Details
	}
	if kind != "openai" {
		s.Endpoint, s.Model = "", ""
		if where != "" {
			s.Endpoint = where // the check says that nobody reads it
		}
		return s
	}
	if where != "" && where != own.Endpoint {
		s.Endpoint, s.Model = where, ""
	}
	s.Model = cmp.Or(f.model, s.Model)
	if f.tempGiven {
		s.Temperature = f.temperature
	}
	return s
}

func asks(kind string) bool {
	k, _ := designer.KindOf(kind)
	return k.Asks
}

// checkedCell reads a cell's settings as an experiment file's.
func checkedCell(spec experiment.Spec, c replay.Cell) (experiment.DesignerSpec, error) {
	if c.Spec.Kind == "human" {
		return c.Spec, fmt.Errorf("designer.kind: found human; want a rule or a model: a person is asked once")
	}
	spec.Designer = c.Spec
	src, err := config.Marshal(spec)
	if err != nil {
		return c.Spec, err
	}
	checked, err := config.Load(c.Name, src, nil, all.Open)
	if err != nil {
		return c.Spec, err
	}
	return checked.Designer, nil
}

var place = regexp.MustCompile(`:\d+:\d+: `)

// cellFaults are faults without their places in a file that nobody wrote.
func cellFaults(name string, err error) []string {
	lines := faultsOf(err)
	if lines == nil {
		return []string{name + ": " + err.Error()}
	}
	for i, l := range lines {
		if at := place.FindStringIndex(l); at != nil {
			lines[i] = name + ": " + l[at[1]:]
		}
	}
	return lines
}

// waits says whether a designer's note is about waiting, which people want to know.
func waits(note string) bool { return strings.HasPrefix(note, "waiting ") }

func docKey(name, id string) string { return artifact.DocKey(name, replay.Doc(id)) }

func indented(v any) ([]byte, error) {
	body, err := json.MarshalIndent(v, "", "  ")
	return append(body, '\n'), err
}
