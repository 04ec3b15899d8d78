package lake

import (
	"errors"
	"fmt"
	"strings"
)

// check says everything that is wrong with an instance, or nil.
func (in Instance) check() error {
	var errs []error
	if in.N < MinSize || in.N > MaxSize {
		errs = append(errs, fmt.Errorf("n = %d; want %d to %d", in.N, MinSize, MaxSize))
	}
	if k := len(in.Starts); k < MinAgents || k > MaxAgents {
		errs = append(errs, fmt.Errorf("%d starts; want %d to %d", k, MinAgents, MaxAgents))
	}
	if len(in.Goals) != len(in.Starts) {
		errs = append(errs, fmt.Errorf("%d goals for %d starts", len(in.Goals), len(in.Starts)))
	}
	errs = append(errs, in.checkGrid()...)
	if len(errs) > 0 { // cells can only be looked up on a sound grid
		return errors.Join(errs...)
	}
	errs = append(errs, in.checkCells("start", in.Starts)...)
	errs = append(errs, in.checkCells("goal", in.Goals)...)
	return errors.Join(errs...)
}

func (in Instance) checkGrid() (errs []error) {
	if len(in.Grid) != in.N {
		errs = append(errs, fmt.Errorf("grid has %d rows; want n = %d", len(in.Grid), in.N))
	}
	for r, row := range in.Grid {
		if len(row) != in.N || strings.Trim(row, string([]rune{frozen, hole})) != "" {
			errs = append(errs, fmt.Errorf("grid row %d is %.40q; want %d letters F or H", r, row, in.N))
		}
	}
	return errs
}

func (in Instance) checkCells(what string, cells []Cell) (errs []error) {
	owner := map[Cell]int{}
	for i, c := range cells {
		switch {
		case !in.Inside(c):
			errs = append(errs, fmt.Errorf("%s of agent %d, %s, is off the map", what, i, c))
		case in.Hole(c):
			errs = append(errs, fmt.Errorf("%s of agent %d, %s, is a hole", what, i, c))
		}
		if j, taken := owner[c]; taken {
			errs = append(errs, fmt.Errorf("agents %d and %d have the same %s %s", j, i, what, c))
		}
		owner[c] = i
	}
	return errs
}
