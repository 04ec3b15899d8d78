// Package lake is MAPF-FrozenLake: several agents cross a square grid with holes
// without colliding (arXiv:2606.17682).
//
// Time is synchronous. Each step every agent moves to one of its four
// neighbours or waits. No two agents may be in one cell at one time (vertex
// collision) or exchange cells in one step (swap collision). Following into a
// cell that another agent leaves in the same step is legal, and so is rotation.
// An agent that has arrived stays on its goal and still blocks it.
package lake

import (
	"fmt"
	"strings"
)

// Limits of the family.
const (
	MinSize   = 3
	MaxSize   = 10
	MinAgents = 2
	MaxAgents = 5
)

// Cell is a position, [row, col] from the top left, 0-based.
type Cell [2]int

// String writes a cell as the prompt does, "(row, col)".
func (c Cell) String() string { return fmt.Sprintf("(%d, %d)", c[0], c[1]) }

// Instance is one map with its agents. Grid is N strings of N letters, F frozen
// (passable) or H hole. Its JSON form is the instance in a dataset's row.
type Instance struct {
	N      int      `json:"n"`
	Grid   []string `json:"grid"`
	Starts []Cell   `json:"starts"`
	Goals  []Cell   `json:"goals"`
}

// Agents is the number of agents.
func (in Instance) Agents() int { return len(in.Starts) }

// Inside says whether a cell is on the map.
func (in Instance) Inside(c Cell) bool {
	return c[0] >= 0 && c[0] < in.N && c[1] >= 0 && c[1] < in.N
}

// Hole says whether a cell on the map is a hole.
func (in Instance) Hole(c Cell) bool { return in.Grid[c[0]][c[1]] == 'H' }

// Holes counts the holes.
func (in Instance) Holes() int {
	return strings.Count(strings.Join(in.Grid, ""), "H")
}

// SizeName is the size as curricula name it, "5x5".
func (in Instance) SizeName() string { return sizeName(in.N) }

func sizeName(n int) string { return fmt.Sprintf("%dx%d", n, n) }

// Plan is a joint plan: Plan[agent][t] is the agent's cell at time t, from its
// start on. Paths may differ in length: an agent stays on its last cell.
type Plan [][]Cell
