package experiment

// Scorecard is what an evaluation found: counts per size and group, never
// rates, so that cards can be pooled and intervals computed.
type Scorecard struct {
	Policy string   `json:"policy"` // "base" or "round 1"
	Set    string   `json:"set"`    // "validation" or "benchmark-3"
	Checks []string `json:"checks"` // the environment's checks, in the order of Cell.Errors
	Cells  []Cell   `json:"cells"`  // in the environment's order of sizes, then groups
}

// Cell counts the outcomes of one size and group (for lake: instances that need
// a wait and those that do not).
type Cell struct {
	Size      string `json:"size"`
	Group     string `json:"group"`
	N         int    `json:"n"`
	Valid     int    `json:"valid"`
	Optimal   int    `json:"optimal"`
	Truncated int    `json:"truncated"` // answers cut off by the token limit
	Errors    []int  `json:"errors"`    // answers that failed each check; one answer can fail several
	Tokens    int64  `json:"tokens"`    // sum over answers
	Cost      int64  `json:"cost"`      // sum of costs over valid answers
	Optimum   int64  `json:"optimum"`   // sum of the optimal costs of those same answers
}

// Rates are the two figures the field reports, with the number they rest on.
type Rates struct {
	N       int `json:"n"`
	Valid   int `json:"valid"`
	Optimal int `json:"optimal"`
}

// ValidRate is the valid path rate (VPR) in [0, 1]; 0 when nothing was scored.
func (r Rates) ValidRate() float64 { return share(r.Valid, r.N) }

// OptimalRate is the optimal path rate (OPR) in [0, 1]; 0 when nothing was scored.
func (r Rates) OptimalRate() float64 { return share(r.Optimal, r.N) }

func share(k, n int) float64 {
	if n == 0 {
		return 0
	}
	return float64(k) / float64(n)
}

// Total pools all cells, as the paper's totals do.
func (s Scorecard) Total() Rates { return s.pool(func(Cell) bool { return true }) }

// Of pools the cells of one size.
func (s Scorecard) Of(size string) Rates {
	return s.pool(func(c Cell) bool { return c.Size == size })
}

// OfGroup pools the cells of one size and group.
func (s Scorecard) OfGroup(size, group string) Rates {
	return s.pool(func(c Cell) bool { return c.Size == size && c.Group == group })
}

func (s Scorecard) pool(in func(Cell) bool) Rates {
	var r Rates
	for _, c := range s.Cells {
		if in(c) {
			r.N += c.N
			r.Valid += c.Valid
			r.Optimal += c.Optimal
		}
	}
	return r
}

// Sizes lists the sizes that have cells, each once, in order.
func (s Scorecard) Sizes() []string {
	var sizes []string
	for _, c := range s.Cells {
		if len(sizes) == 0 || sizes[len(sizes)-1] != c.Size {
			sizes = append(sizes, c.Size)
		}
	}
	return sizes
}
