package experiment

// Curriculum is one round's training distribution: a row per size, each with
// its share of the samples and the settings of the environment's knobs.
//
// "Size" is the environment's ladder of difficulty (map size for lake), "3x3"
// to "10x10". Rows stand in the environment's order; shares sum to 1.
type Curriculum struct {
	Rows []Row `json:"rows"`
}

// Row says how many of a round's samples one size gets and how they are drawn.
type Row struct {
	Size      string  `json:"size"`
	DataRatio float64 `json:"data_ratio"` // share of the round's samples, in [0, 1]
	Knobs     []Knob  `json:"knobs"`      // in the environment's order
}

// Knob is one setting of the generator, such as hole_ratio = 0.25.
type Knob struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

// Row finds the row of a size.
func (c Curriculum) Row(size string) (Row, bool) {
	for _, r := range c.Rows {
		if r.Size == size {
			return r, true
		}
	}
	return Row{}, false
}

// Knob returns the value of a knob and whether the row sets it.
func (r Row) Knob(name string) (float64, bool) {
	for _, k := range r.Knobs {
		if k.Name == name {
			return k.Value, true
		}
	}
	return 0, false
}

// Clone returns a copy that shares no memory with c.
func (c Curriculum) Clone() Curriculum {
	rows := make([]Row, len(c.Rows))
	for i, r := range c.Rows {
		rows[i] = r
		rows[i].Knobs = append([]Knob(nil), r.Knobs...)
	}
	return Curriculum{Rows: rows}
}

// Change is one difference between two curricula. Field is "data_ratio" or the
// name of a knob.
type Change struct {
	Size  string  `json:"size"`
	Field string  `json:"field"`
	From  float64 `json:"from"`
	To    float64 `json:"to"`
}

// Conformance says how far a generated dataset is what was ordered: requested
// and realised value of every setting, per size.
type Conformance struct {
	Requested int              `json:"requested"` // samples ordered
	Realised  int              `json:"realised"`  // samples written
	Repeats   int              `json:"repeats"`   // samples that repeat another one, because a size has too few distinct
	Rows      []ConformanceRow `json:"rows"`
}

// ConformanceRow compares one size's order with what was drawn.
type ConformanceRow struct {
	Size      string     `json:"size"`
	Requested int        `json:"requested"`
	Realised  int        `json:"realised"`
	Repeats   int        `json:"repeats"`
	Knobs     []Realised `json:"knobs"`
	// Optima counts the samples by optimal cost, ascending.
	Optima []CostCount `json:"optima"`
}

// Realised is one knob as ordered and as drawn.
type Realised struct {
	Name      string  `json:"name"`
	Requested float64 `json:"requested"`
	Realised  float64 `json:"realised"`
}

// CostCount counts samples with one optimal cost.
type CostCount struct {
	Cost  int `json:"cost"`
	Count int `json:"count"`
}
