package lake

import (
	"fmt"

	"floe/internal/env"
)

// Names of the knobs.
const (
	knobHoles = "hole_ratio"
	knobWaits = "wait_ratio"
)

// space is the legal space of the paper: sizes 3x3 to 10x10, each with a share
// of holes and a share of instances that need a wait. Holes end at one half
// (the densest benchmark); easy, hard and default are ours.
func space() env.Space {
	var s env.Space
	for n := MinSize; n <= MaxSize; n++ {
		s.Sizes = append(s.Sizes, sizeName(n))
	}
	s.Knobs = []env.Knob{
		{
			Name: knobHoles, Doc: "share of cells that are holes; floor(ratio * n * n) of them",
			Min: 0, Max: 0.5, Default: 0.25, Easy: 0.1, Hard: 0.25, Tests: "valid",
		},
		{
			Name: knobWaits, Doc: "share of instances in which every optimal plan has a wait",
			Min: 0, Max: 1, Default: 0.25, Easy: 0.05, Hard: 0.25, Tests: "optimal",
		},
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

func mustSize(name string) int {
	n, ok := parseSize(name)
	if !ok {
		panic(fmt.Sprintf("lake: size %q passed the check of its order", name))
	}
	return n
}
