package sweep

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"floe/internal/designer"
	"floe/internal/experiment"
)

var armName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)

// Check says everything that is wrong with a sweep's cells: names that are too
// long, that are no names, or that two cells share, and cells that are equal in
// all but their name. At of a fault is the index of the arm.
func Check(s experiment.Sweep) []Fault {
	var faults []Fault
	add := func(arm int, format string, args ...any) {
		faults = append(faults, Fault{arm, "", fmt.Sprintf(format, args...)})
	}
	for i, a := range s.Arms {
		if !armName.MatchString(a.Name) {
			add(i, "found the arm %.60q; want a name of lower-case letters, digits and inner dashes", a.Name)
		} else if name := longest(s.Name, a); len(name) > MaxName {
			add(i, "found the cell %s of %d characters; want at most %d: shorten the name of the sweep or of the arm", name, len(name), MaxName)
		}
	}
	names, equal := map[string]int{}, map[string]string{}
	for _, c := range s.Cells() {
		name := s.NameOf(c)
		if other, taken := names[name]; taken && other != c.Arm {
			add(c.Arm, "found the cell %s in the arms %s and %s; want different names", name, s.Arms[other].Name, s.Arms[c.Arm].Name)
			continue
		}
		names[name] = c.Arm
		digest := Digest(s.Arms[c.Arm].Spec, c.Seed)
		if other, taken := equal[digest]; taken {
			add(c.Arm, "found the cells %s and %s equal in all fields; want each once", other, name)
			continue
		}
		equal[digest] = name
	}
	if n := len(s.Cells()); n > MaxCells {
		add(0, "found %d cells; want at most %d", n, MaxCells)
	}
	if s.Baseline != "" && !slices.ContainsFunc(s.Arms, func(a experiment.Arm) bool { return a.Name == s.Baseline }) {
		add(-1, "found the baseline %.60q; want the name of an arm", s.Baseline)
	}
	return faults
}

func longest(sweep string, a experiment.Arm) string {
	return experiment.CellName(sweep, a.Name, slices.Max(append([]int64{0}, a.Seeds...)))
}

// Digest tells specs apart: equal for two cells exactly when they are equal in
// all but their name.
func Digest(spec experiment.Spec, seed int64) string {
	spec.Name, spec.Seed = "", seed
	body, err := json.Marshal(spec)
	if err != nil {
		panic(fmt.Sprintf("a spec that came from a file cannot be written: %v", err)) // no NaN passes the decoder
	}
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:6])
}

// Need is the most that one cell can use.
type Need struct {
	Jobs  int `json:"jobs"`  // trainings, the embedded policy's warm start included
	Calls int `json:"calls"` // designer calls, repairs included
}

// Plus adds.
func (n Need) Plus(o Need) Need { return Need{n.Jobs + o.Jobs, n.Calls + o.Calls} }

// Cost is what it costs by the prices of the limits.
func (n Need) Cost(l experiment.SweepLimits) float64 {
	return float64(n.Jobs)*l.PriceJob + float64(n.Calls)*l.PriceCall
}

// NeedOf bounds what a cell with this spec uses.
func NeedOf(spec experiment.Spec) Need {
	n := Need{Jobs: spec.Rounds}
	if !spec.Trainer.TrainsModel() {
		n.Jobs++ // the warm start
	}
	if kind, known := designer.KindOf(spec.Designer.Kind); kind.Asks || !known {
		n.Calls = min(spec.Rounds*(1+spec.Designer.Repairs), spec.Limits.ModelCalls)
	}
	return n
}

// Exceeds says in words which limit a use would exceed; "" if none.
func Exceeds(l experiment.SweepLimits, use Need) string {
	switch {
	case l.Jobs > 0 && use.Jobs > l.Jobs:
		return fmt.Sprintf("jobs: %d of %d", use.Jobs, l.Jobs)
	case l.ModelCalls > 0 && use.Calls > l.ModelCalls:
		return fmt.Sprintf("model calls: %d of %d", use.Calls, l.ModelCalls)
	case l.Cost > 0 && use.Cost(l) > l.Cost:
		return fmt.Sprintf("cost: %.2f of %.2f", use.Cost(l), l.Cost)
	}
	return ""
}

// Metered says whether a limit needs to know what was used.
func Metered(l experiment.SweepLimits) bool { return l.Jobs > 0 || l.ModelCalls > 0 || l.Cost > 0 }

// Fresh are a sweep's cells before anything has happened to them.
func Fresh(s experiment.Sweep) []Cell {
	var cells []Cell
	for _, c := range s.Cells() {
		cells = append(cells, Cell{Arm: c.Arm, Seed: c.Seed, Digest: Digest(s.Arms[c.Arm].Spec, c.Seed), State: Waiting, Round: -1})
	}
	return cells
}
