// Package sweep is the arithmetic of sweeps: from what a file declares to arms
// and cells, and from how the cells stand to what may start and what is given up.
// It knows no file format and no server.
package sweep

import (
	"fmt"
	"slices"
	"strings"

	"floe/internal/experiment"
)

// Bounds on names and numbers.
const (
	MaxName  = 52    // characters of a cell's name, which is an experiment's
	MaxCells = 10000 // of one sweep: all of them travel between the runs of its workflow
)

// Fault is something wrong with a declaration. At is what the declarer gave to
// the part it lies in.
type Fault struct {
	At      int
	Path    string
	Message string // "found X; want Y"
}

// Setting is a field with a value. Value is compared, and named after; At says
// where it was declared.
type Setting struct {
	experiment.Setting
	At int
}

// Arm is an arm as declared: its name, its settings, and its seeds (those of the
// declaration when nil).
type Arm struct {
	Name     string
	Settings []Setting
	Seeds    []int64
	At       int
}

// Axis is a field of the matrix with its values.
type Axis struct {
	Field  string
	Values []Setting
	At     int
}

// Filter leaves out the cells of which all it says is true. An Arm of "" and a
// nil Seed say nothing.
type Filter struct {
	Arm      string
	Seed     *int64
	Settings []Setting
	At       int
}

// Declaration is all that a file says of arms and seeds.
type Declaration struct {
	Seeds   []int64
	Arms    []Arm
	Matrix  []Axis
	Include []Arm
	Exclude []Filter
}

// Expand crosses arms and matrix, leaves out what is excluded, and adds what is
// included. Arms that lost all their seeds are gone. An arm without a name is
// named by its settings.
func (d Declaration) Expand() ([]Arm, []Fault) {
	var faults []Fault
	if err := d.tooMany(); err != nil {
		return nil, append(faults, *err)
	}
	faults = append(faults, d.twice()...)
	arms := d.crossed()
	for i := range arms {
		arms[i].Seeds = d.Seeds
	}
	arms, more := leaveOut(arms, d.Exclude)
	faults = append(faults, more...)
	for _, a := range d.Include {
		if a.Seeds == nil {
			a.Seeds = d.Seeds
		}
		arms = append(arms, a)
	}
	seen := map[string]bool{}
	for _, a := range arms {
		if seen[a.Name] {
			faults = append(faults, Fault{a.At, "", fmt.Sprintf("found two arms called %s; want different names", a.Name)})
		}
		seen[a.Name] = true
	}
	if len(arms) == 0 && len(faults) == 0 {
		faults = append(faults, Fault{0, "arms", "found no arm; want at least one in arms, matrix or include"})
	}
	return arms, faults
}

// tooMany refuses a matrix before it is multiplied out.
func (d Declaration) tooMany() *Fault {
	n := max(1, len(d.Arms)) * max(1, len(d.Seeds))
	for _, axis := range d.Matrix {
		if n *= max(1, len(axis.Values)); n > MaxCells {
			return &Fault{axis.At, "matrix", fmt.Sprintf("found more than %d cells; want fewer", MaxCells)}
		}
	}
	return nil
}

// twice refuses an arm that sets what the matrix varies.
func (d Declaration) twice() []Fault {
	var faults []Fault
	for _, a := range d.Arms {
		for _, axis := range d.Matrix {
			if _, both := a.value(axis.Field); both {
				faults = append(faults, Fault{axis.At, "", fmt.Sprintf("found %s both in the arm %s and in the matrix; want it in one of them", axis.Field, a.Name)})
			}
		}
	}
	return faults
}

// crossed is every arm with every combination of the matrix, the last axis
// running fastest.
func (d Declaration) crossed() []Arm {
	arms := d.Arms
	if len(arms) == 0 && len(d.Matrix) > 0 {
		arms = []Arm{{At: d.Matrix[0].At}}
	}
	for _, axis := range d.Matrix {
		var next []Arm
		for _, a := range arms {
			for _, v := range axis.Values {
				next = append(next, Arm{
					Name: joinName(a.Name, Word(axis.Field, v.Value)), At: a.At,
					Settings: append(slices.Clone(a.Settings), v),
				})
			}
		}
		arms = next
	}
	return slices.Clone(arms)
}

func joinName(a, b string) string {
	if a == "" {
		return b
	}
	return a + "-" + b
}

// Word names a value of a field in an arm's name: a word by itself, V3 -> v3, and
// a number behind the last part of its field, trainer.rollouts = 16 -> rollouts-16.
func Word(field, value string) string {
	word := slug(value)
	if word == "" || (word[0] >= '0' && word[0] <= '9') || word == "true" || word == "false" {
		last := field[strings.LastIndexByte(field, '.')+1:]
		word = strings.TrimSuffix(slug(last)+"-"+word, "-")
	}
	return word
}

// slug keeps lower-case letters and digits, with single dashes for all else.
func slug(s string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(s) {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	return strings.TrimSuffix(b.String(), "-")
}

// leaveOut drops excluded seeds. A filter that matches nothing is a fault: it is
// a typo, or says what is so anyway.
func leaveOut(arms []Arm, filters []Filter) ([]Arm, []Fault) {
	hit := make([]bool, len(filters))
	var kept []Arm
	for _, a := range arms {
		var seeds []int64
		for _, seed := range a.Seeds {
			out := false
			for i, f := range filters {
				if f.matches(a, seed) {
					out, hit[i] = true, true
				}
			}
			if !out {
				seeds = append(seeds, seed)
			}
		}
		if a.Seeds = seeds; len(seeds) > 0 {
			kept = append(kept, a)
		}
	}
	var faults []Fault
	for i, f := range filters {
		if !hit[i] {
			faults = append(faults, Fault{f.At, fmt.Sprintf("exclude[%d]", i), "found an entry that no cell matches; want one that leaves something out"})
		}
	}
	return kept, faults
}

func (f Filter) matches(a Arm, seed int64) bool {
	if (f.Arm != "" && f.Arm != a.Name) || (f.Seed != nil && *f.Seed != seed) {
		return false
	}
	for _, want := range f.Settings {
		if value, ok := a.value(want.Field); !ok || value != want.Value {
			return false
		}
	}
	return true
}

// value is what the arm sets a field to; the last setting counts.
func (a Arm) value(field string) (string, bool) {
	for _, s := range slices.Backward(a.Settings) {
		if s.Field == field {
			return s.Value, true
		}
	}
	return "", false
}
