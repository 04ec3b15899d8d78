package experiment

import "strconv"

// SweepFile is what a sweep file says, as far as fields can say it. Base, arms,
// matrix, include and exclude speak of the fields of a Spec; internal/config reads
// them against it. The field tags are those of Spec.
type SweepFile struct {
	Name     string          `yaml:"name" required:"true" pattern:"^[a-z0-9]([a-z0-9-]{0,46}[a-z0-9])?$" want:"lower-case letters, digits and inner dashes, at most 48" doc:"Name of the sweep: lower-case letters, digits and dashes, at most 48. The same name is the same sweep; its cells are called NAME-ARM-sSEED."`
	Base     SweepBase       `yaml:"base" required:"true" doc:"What all cells have in common: the fields of an experiment without name and seed, or the name of an experiment file beside this one, whose name and seed do not count."`
	Seeds    []int64         `yaml:"seeds" default:"0" min:"1" each_min:"0" doc:"Every arm runs once with each of these seeds."`
	Arms     []SweepSettings `yaml:"arms" doc:"Arms by name; each says the fields in which it differs from the base, nested or with dotted keys."`
	Matrix   []SweepSettings `yaml:"matrix" doc:"Fields with a list of values each; every combination is an arm, and all arms above are crossed with it."`
	Include  []SweepSettings `yaml:"include" doc:"Further arms that are not crossed with the matrix: a list of {arm, seeds, set}."`
	Exclude  []SweepSettings `yaml:"exclude" doc:"Cells to leave out: a list of {arm, seed, FIELD} with values; an entry leaves out the cells that match all of them."`
	Baseline string          `yaml:"baseline" doc:"The arm that the others are compared with; the first when absent."`
	Limits   SweepLimits     `yaml:"limits" doc:"Bounds on the whole sweep."`
	Stop     SweepStop       `yaml:"stop" doc:"When to stop an arm."`
}

// SweepBase marks the field with what all cells have in common, an experiment.
type SweepBase struct{}

// SweepSettings marks fields that speak of the fields of an experiment.
type SweepSettings struct{}

// SweepLimits bound a sweep. A cell is started only if the most it can need still
// fits; what it really needed is counted once it has ended.
type SweepLimits struct {
	Parallel   int     `json:"parallel" yaml:"parallel" default:"4" min:"1" max:"1000" doc:"Experiments at the same time. One that is paused or needs attention does not count."`
	Jobs       int     `json:"jobs" yaml:"jobs" default:"0" min:"0" max:"1000000" doc:"Most trainings of the sweep; 0 for no bound."`
	ModelCalls int     `json:"model_calls" yaml:"model_calls" default:"0" min:"0" max:"10000000" doc:"Most designer calls of the sweep, repairs included; 0 for no bound."`
	Cost       float64 `json:"cost" yaml:"cost" default:"0" min:"0" max:"1000000000" doc:"Most that trainings and designer calls may cost by the prices below; 0 for no bound."`
	PriceJob   float64 `json:"price_job" yaml:"price_job" default:"0" min:"0" max:"1000000" doc:"Price of one training, in the currency of cost."`
	PriceCall  float64 `json:"price_call" yaml:"price_call" default:"0" min:"0" max:"1000000" doc:"Price of one designer call, in the currency of cost."`
	Deadline   string  `json:"deadline,omitempty" yaml:"deadline" pattern:"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(Z|[+-][0-9]{2}:[0-9]{2})$" want:"a time such as \"2026-12-31T18:00:00Z\", in quotes" doc:"No cell starts after this time; running cells finish. RFC 3339."`
}

// SweepStop says when an arm is given up. The rule is ours.
type SweepStop struct {
	BelowStart bool    `json:"below_start" yaml:"below_start" default:"false" doc:"Stop an arm whose mean valid rate falls below that of its untrained start: waiting cells do not start, running cells end after their round."`
	Margin     float64 `json:"margin" yaml:"margin" default:"0" min:"0" max:"1" doc:"How far below the start it must fall."`
	AfterRound int     `json:"after_round" yaml:"after_round" default:"0" min:"0" max:"100" doc:"The first round whose validation counts."`
	Cells      int     `json:"cells" yaml:"cells" default:"1" min:"1" max:"1000" doc:"How many of the arm's cells must have a validation from that round on."`
}

// Sweep is a sweep file read and expanded: arms with their effective specs.
type Sweep struct {
	Name     string      `json:"name"`
	Baseline string      `json:"baseline"`
	Arms     []Arm       `json:"arms"`
	Limits   SweepLimits `json:"limits"`
	Stop     SweepStop   `json:"stop"`
}

// Arm is what is varied: one spec, with each of its seeds.
type Arm struct {
	Name     string    `json:"name"`
	Settings []Setting `json:"settings"` // in which it differs from the base
	Seeds    []int64   `json:"seeds"`
	Spec     Spec      `json:"spec"` // effective, without name and seed
}

// Setting is one field and its value as a file would say it, on one line.
type Setting struct {
	Field string `json:"field"`
	Value string `json:"value"`
}

// CellName is the name of the experiment that runs an arm with a seed.
func CellName(sweep, arm string, seed int64) string {
	return sweep + "-" + arm + "-s" + strconv.FormatInt(seed, 10)
}

// SweepCell is one experiment of a sweep.
type SweepCell struct {
	Arm  int   `json:"arm"` // index of the arm
	Seed int64 `json:"seed"`
}

// Cells lists the experiments in the order in which they are started: seed by
// seed, so that all arms can be compared early, and share what is equal.
func (s Sweep) Cells() []SweepCell {
	var cells []SweepCell
	for rank, more := 0, true; more; rank++ {
		more = false
		for i, a := range s.Arms {
			if rank < len(a.Seeds) {
				cells = append(cells, SweepCell{i, a.Seeds[rank]})
				more = true
			}
		}
	}
	return cells
}

// NameOf is the name of a cell's experiment.
func (s Sweep) NameOf(c SweepCell) string { return CellName(s.Name, s.Arms[c.Arm].Name, c.Seed) }

// SpecOf is the effective spec of a cell.
func (s Sweep) SpecOf(c SweepCell) Spec {
	spec := s.Arms[c.Arm].Spec
	spec.Name, spec.Seed = s.NameOf(c), c.Seed
	return spec
}
