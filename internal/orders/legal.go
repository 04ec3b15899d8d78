package orders

import (
	"floe/internal/curriculum"
	"floe/internal/env"
	"floe/internal/experiment"
)

// Legal brings a curriculum that a person asks for into what a round can be
// trained on: the environment's legal space, the experiment's least shares, and
// what can be drawn. Each repair is a sentence. It fails if no row can be drawn.
func Legal(spec experiment.Spec, e env.Environment, round int, asked, present experiment.Curriculum) (used experiment.Curriculum, repairs []string, err error) {
	space := e.Space()
	used, repairs = curriculum.Project(asked, present, space, spec.Designer.MinShare)
	used, more, err := curriculum.Fit(used, space, curriculum.Feasible(e, Training(spec, round, used)))
	return used, append(repairs, more...), err
}
