package config

import (
	"fmt"
	"slices"
	"strings"

	"floe/internal/designer"
	"floe/internal/experiment"
)

// contextSettings decide what a designer is shown.
var contextSettings = []string{"context", "sections", "guidelines", "details"}

// Idle says which differences between two specs change nothing of what is done,
// and why: settings that a strict reading allows, and nobody reads.
func Idle(old, spec experiment.Spec) []string {
	kind, known := designer.KindOf(spec.Designer.Kind)
	if !known || !kind.Rule || old.Designer.Kind != spec.Designer.Kind || !sameNeeds(kind, old.Designer, spec.Designer) {
		return nil
	}
	why := fmt.Sprintf("designer.kind %s is a rule and reads no context", kind.Name)
	if len(kind.Needs) > 0 {
		why = fmt.Sprintf("designer.kind %s is a rule and reads only the section %s", kind.Name, strings.Join(kind.Needs, " or "))
	}
	var idle []string
	for _, change := range Diff(old, spec) {
		path, _, _ := strings.Cut(change, ":")
		head, _, _ := strings.Cut(strings.TrimPrefix(path, "designer."), "[")
		if strings.HasPrefix(path, "designer.") && slices.Contains(contextSettings, head) {
			idle = append(idle, change+": no effect; "+why)
		}
	}
	return idle
}

// sameNeeds says whether two contexts show a rule the same.
func sameNeeds(kind designer.Kind, a, b experiment.DesignerSpec) bool {
	x, errX := designer.ContextOf(a)
	y, errY := designer.ContextOf(b)
	if errX != nil || errY != nil {
		return false
	}
	return !slices.ContainsFunc(kind.Needs, func(section string) bool { return x.Shows(section) != y.Shows(section) })
}

// ReadsContext says whether a kind of designer is shown anything.
func ReadsContext(name string) bool {
	kind, known := designer.KindOf(name)
	return !known || !kind.Rule || len(kind.Needs) > 0
}
