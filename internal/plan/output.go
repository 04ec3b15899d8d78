package plan

import (
	"slices"

	"floe/internal/artifact"
	"floe/internal/experiment"
)

// output is a step as later ones see it.
type output struct {
	id       experiment.StepID
	manifest *artifact.Manifest // nil until it is done
}

func (o output) done() bool { return o.manifest != nil }

// sum is the sha256 of a file, or a name that stands for it until it is known.
func (o output) sum(file string) string {
	if o.manifest != nil {
		if f, ok := o.manifest.File(file); ok {
			return f.SHA256
		}
	}
	return o.id.Kind + "/" + o.id.Key + "/" + file
}

// step adds a step whose inputs are complete but for sums of what it works on.
func (d *draft) step(path, kind string, inputs any, after ...output) output {
	if slices.ContainsFunc(after, func(o output) bool { return !o.done() }) {
		return d.open(path, kind, inputs, after...)
	}
	return d.known(path, kind, inputs, after...)
}

// known adds a step whose inputs are complete.
func (d *draft) known(path, kind string, inputs any, after ...output) output {
	identity, err := Identify(d.spec, kind, inputs, 0)
	d.fail(err)
	return d.add(path, identity.ID, false, after)
}

// unfinished is what stands in place of inputs that are not known yet.
type unfinished struct {
	Inputs any                 `json:"inputs"`
	After  []experiment.StepID `json:"after"`
}

// open adds a step whose key cannot be known yet.
func (d *draft) open(path, kind string, inputs any, after ...output) output {
	identity, err := Identify(d.spec, kind, unfinished{inputs, ids(after)}, 0)
	d.fail(err)
	return d.add(path, identity.ID, true, after)
}

// taken adds a step of another experiment. Without a path it stands in the plan
// already.
func (d *draft) taken(path string, id experiment.StepID) output {
	if path == "" {
		return output{id, d.look(id)}
	}
	return d.add(path, id, false, nil)
}

func (d *draft) add(path string, id experiment.StepID, open bool, after []output) output {
	s := Step{Path: path, ID: id, Open: open, After: ids(after)}
	var m *artifact.Manifest
	if !open {
		m = d.look(id)
	}
	if m != nil {
		s.Done, s.Seconds = true, m.Finished.Sub(m.Started).Seconds()
	}
	d.steps = append(d.steps, s)
	return output{id, m}
}

// look asks the store once for each step.
func (d *draft) look(id experiment.StepID) *artifact.Manifest {
	p := d.planner
	m, asked := p.found[id]
	if asked || p.steps == nil || d.err != nil {
		return m
	}
	found, ok, err := p.steps.Find(d.ctx, id)
	d.fail(err)
	if ok {
		m = &found
	}
	p.found[id] = m
	return m
}

func (d *draft) fail(err error) {
	if d.err == nil {
		d.err = err
	}
}

func ids(list []output) []experiment.StepID {
	out := make([]experiment.StepID, len(list))
	for i, o := range list {
		out[i] = o.id
	}
	return out
}
