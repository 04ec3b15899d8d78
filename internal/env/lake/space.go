package lake

import "floe/internal/env"

// Names of the knobs.
const (
	knobHoles = "hole_ratio"
	knobWaits = "wait_ratio"
)

// space is the legal space of curricula: the paper's sizes and ratios. Easy, hard
// and default values are ours.
func space() env.Space {
	s := env.Space{Knobs: []env.Knob{
		{
			Name: knobHoles, Doc: "share of the cells that are holes: floor(ratio * n * n) of them",
			Min: 0, Max: 0.5, Default: 0.25, Easy: 0.1, Hard: 0.25, Tests: "valid",
		},
		{
			Name: knobWaits, Doc: "share of the instances in which every optimal plan has a wait",
			Min: 0, Max: 1, Default: 0.25, Easy: 0.05, Hard: 0.25, Tests: "optimal",
		},
	}}
	for n := MinSize; n <= MaxSize; n++ {
		s.Sizes = append(s.Sizes, sizeName(n))
	}
	return s
}

// parseSize reads a size's name.
func parseSize(name string) (n int, ok bool) {
	for n := MinSize; n <= MaxSize; n++ {
		if sizeName(n) == name {
			return n, true
		}
	}
	return 0, false
}
