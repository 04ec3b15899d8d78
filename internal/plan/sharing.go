package plan

import (
	"cmp"
	"slices"

	"floe/internal/experiment"
)

// Sharing says how much work several experiments have in common. Sharing may
// turn out to be more than this, never less.
type Sharing struct {
	Steps    int         `json:"steps"`    // of all experiments together
	Distinct int         `json:"distinct"` // different ones: the rest is shared
	Done     int         `json:"done"`     // distinct ones that are in the store already
	Todo     int         `json:"todo"`     // distinct ones that are not
	Kinds    []KindCount `json:"kinds"`
}

// KindCount is Sharing for one kind of step.
type KindCount struct {
	Kind     string `json:"kind"`
	Steps    int    `json:"steps"`
	Distinct int    `json:"distinct"`
	Done     int    `json:"done"`
}

// Saved is how many steps need not run because another experiment of these has
// them too, or because they are done.
func (s Sharing) Saved() int { return s.Steps - s.Todo }

// Share counts the steps of several plans.
func Share(plans ...[]Step) Sharing {
	var s Sharing
	seen := map[experiment.StepID]bool{}
	kinds := map[string]*KindCount{}
	for _, p := range plans {
		for _, step := range p {
			k := kinds[step.ID.Kind]
			if k == nil {
				k = &KindCount{Kind: step.ID.Kind}
				kinds[step.ID.Kind] = k
			}
			s.Steps++
			k.Steps++
			if seen[step.ID] {
				continue
			}
			seen[step.ID] = true
			s.Distinct++
			k.Distinct++
			if step.Done {
				s.Done++
				k.Done++
			}
		}
	}
	s.Todo = s.Distinct - s.Done
	for _, k := range kinds {
		s.Kinds = append(s.Kinds, *k)
	}
	slices.SortFunc(s.Kinds, func(a, b KindCount) int { return cmp.Compare(a.Kind, b.Kind) })
	return s
}
