package lake

// The solver's board is the map with a border of walls around it, so that a step
// off the map needs no check: cell (row, col) stands at place
// (row+1)*stride + col+1.
const stride = MaxSize + 2

// place is a cell of the board.
type place = uint8

// The four steps; places are bytes and wrap around.
var steps = [4]place{256 - stride, 256 - 1, 1, stride}

func placeOf(c Cell) place { return place((c[0]+1)*stride + c[1] + 1) }

func cellOf(p place) Cell { return Cell{int(p)/stride - 1, int(p)%stride - 1} }

// field holds a number for every place, such as its distance to a goal.
type field [256]uint8

// Values of a field of distances that are no distance: no path on the map is
// longer than 99 steps.
const (
	unseen = 254 // a frozen cell that is cut off
	wall   = 255 // a hole, or off the map
)

// measure fills the field with distances to a place, going through what is
// unseen in ground.
func (f *field) measure(ground *field, to place) {
	*f = *ground
	var queue [128]place // of at most 100 cells
	queue[0], f[to] = to, 0
	for head, tail := 0, 1; head < tail; head++ {
		p := queue[head&127]
		d := f[p] + 1
		for _, step := range steps {
			if q := p + step; f[q] == unseen {
				f[q] = d
				queue[tail&127] = q
				tail++
			}
		}
	}
}

// puzzle is an instance on the board.
type puzzle struct {
	n, agents int
	ground    field // unseen where agents may go, wall elsewhere
	starts    [MaxAgents]place
	goals     [MaxAgents]place
}

// walled is the ground with nothing but walls.
var walled = func() (f field) {
	for i := range f {
		f[i] = wall
	}
	return f
}()

func puzzleOf(in Instance) *puzzle {
	p := &puzzle{n: in.N, agents: in.Agents(), ground: walled}
	for r, row := range in.Grid {
		for c := range row {
			if row[c] == frozen {
				p.ground[placeOf(Cell{r, c})] = unseen
			}
		}
	}
	for i := range p.agents {
		p.starts[i], p.goals[i] = placeOf(in.Starts[i]), placeOf(in.Goals[i])
	}
	return p
}

// instance is the puzzle as datasets keep it.
func (p *puzzle) instance() Instance {
	in := Instance{N: p.n, Grid: make([]string, p.n)}
	row := make([]byte, p.n)
	for r := range p.n {
		for c := range p.n {
			row[c] = hole
			if p.ground[placeOf(Cell{r, c})] == unseen {
				row[c] = frozen
			}
		}
		in.Grid[r] = string(row)
	}
	for i := range p.agents {
		in.Starts = append(in.Starts, cellOf(p.starts[i]))
		in.Goals = append(in.Goals, cellOf(p.goals[i]))
	}
	return in
}
