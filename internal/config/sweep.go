package config

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"gopkg.in/yaml.v3"

	"floe/internal/config/strict"
	"floe/internal/experiment"
	"floe/internal/sweep"
)

// OpenFile reads the experiment file that a sweep names as its base.
type OpenFile func(name string) ([]byte, error)

// LoadSweep reads a sweep file and expands it to arms with effective specs. File
// is its name, for faults; open reads the base file if it names one. The error is
// a *Faults.
func LoadSweep(file string, src []byte, open OpenFile, lookup Lookup) (experiment.Sweep, error) {
	s := source{file: file}
	root, faults := s.parse(src)
	if root == nil {
		return experiment.Sweep{}, s.faults(faults)
	}
	f, d := decode[experiment.SweepFile](root)
	r := &sweepReader{decoder: d, lookup: lookup}
	r.base(&s, open)
	arms := r.expand(f)
	loaded := experiment.Sweep{Name: f.Name, Baseline: f.Baseline, Limits: f.Limits, Stop: f.Stop}
	if r.root != nil {
		loaded.Arms = r.specs(arms)
	}
	if len(faults)+len(d.Faults) == 0 {
		r.check(loaded, arms)
		r.checkLimits(loaded)
		if loaded.Baseline == "" && len(loaded.Arms) > 0 {
			loaded.Baseline = loaded.Arms[0].Name
		}
	}
	if err := s.faults(once(append(faults, d.Faults...))); err != nil {
		return experiment.Sweep{}, err
	}
	return loaded, nil
}

// once keeps the first of equal faults: one slip in the base shows in every arm.
func once(faults []strict.Fault) []strict.Fault {
	seen := map[strict.Fault]bool{}
	return slices.DeleteFunc(faults, func(f strict.Fault) bool {
		again := seen[f]
		seen[f] = true
		return again
	})
}

// sweepReader reads what a sweep file says of the fields of experiments.
type sweepReader struct {
	*decoder
	lookup Lookup
	root   *yaml.Node   // the base
	places []*yaml.Node // of what is declared; a declaration's At counts from 1
}

// mark gives a node a place for faults of the expansion.
func (r *sweepReader) mark(n *yaml.Node) int {
	r.places = append(r.places, n)
	return len(r.places)
}

func (r *sweepReader) tell(faults []sweep.Fault, place func(at int) *yaml.Node) {
	for _, f := range faults {
		r.Add(place(f.At), f.Path, "%s", f.Message)
	}
}

// place is the node of an At; the document where there is none.
func (r *sweepReader) place(at int) *yaml.Node {
	if at < 1 {
		return r.at("")
	}
	return r.places[at-1]
}

// base finds the base's tree: what the file holds, or another file. Name and seed
// are the sweep's to give.
func (r *sweepReader) base(s *source, open OpenFile) {
	e, ok := r.given["base"]
	switch {
	case !ok: // told already
	case e.Value.Kind == yaml.MappingNode:
		r.root = e.Value
		for i := 0; i+1 < len(r.root.Content); i += 2 {
			r.refuseOwn(r.root.Content[i], "base")
		}
		r.dropOwn()
	default:
		name, ok := r.Text(e.Value, "base", "a mapping, or the name of an experiment file", maxText)
		if ok {
			r.baseFile(s, e.Value, name, open)
		}
	}
}

// ownKeys are what the sweep decides for each cell, and where it does.
var ownKeys = map[string]string{
	"name": "it left out: cells are named by sweep, arm and seed",
	"seed": "it in seeds of the sweep",
}

func (r *sweepReader) refuseOwn(key *yaml.Node, path string) bool {
	want, own := ownKeys[key.Value]
	if own {
		r.Add(key, path, "found the key %s; want %s", key.Value, want)
	}
	return own
}

func (r *sweepReader) baseFile(s *source, at *yaml.Node, name string, open OpenFile) {
	src, err := open(name)
	if err != nil {
		r.Add(at, "base", "found %.60q, which cannot be read: %v; want an experiment file beside this one", name, reason(err))
		return
	}
	root, faults := strict.Parse(src)
	for _, f := range faults {
		f.Line += baseLines
		r.Faults = append(r.Faults, f)
	}
	s.base = name
	switch {
	case root == nil:
	case root.Kind != yaml.MappingNode:
		r.Add(at, "base", "found %.60q, which holds %s; want an experiment file", name, strict.Describe(root))
	default:
		shift(root, baseLines)
		r.root = root
		r.dropOwn()
	}
}

// reason is an error without the path that the fault names anyway.
func reason(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	return err
}

// shift moves a tree to lines that belong to the base file.
func shift(n *yaml.Node, by int) {
	n.Line += by
	for _, c := range n.Content {
		shift(c, by)
	}
}

func (r *sweepReader) dropOwn() {
	r.root = clone(r.root)
	drop(r.root, "name")
	drop(r.root, "seed")
}

func drop(mapping *yaml.Node, key string) {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			mapping.Content = slices.Delete(mapping.Content, i, i+2)
			return
		}
	}
}

// specs reads the effective spec of every arm.
func (r *sweepReader) specs(arms []sweep.Arm) []experiment.Arm {
	var out []experiment.Arm
	for _, a := range arms {
		spec, faults := r.spec(a)
		r.Faults = append(r.Faults, faults...)
		arm := experiment.Arm{Name: a.Name, Seeds: a.Seeds, Spec: spec}
		for _, s := range a.Settings {
			arm.Settings = append(arm.Settings, s.Setting)
		}
		out = append(out, arm)
	}
	return out
}

// spec reads the base with an arm's settings as an experiment file of its own.
func (r *sweepReader) spec(a sweep.Arm) (experiment.Spec, []strict.Fault) {
	root := clone(r.root)
	strict.Put(root, "name", strict.PlainNode("cell")) // a cell's own name is checked with all the others
	forget(root, func(field string) (value string, ok bool) {
		for _, s := range a.Settings {
			if s.Field == field {
				value, ok = s.Value, true
			}
		}
		return value, ok
	})
	var faults []strict.Fault
	for _, s := range a.Settings {
		if err := set(root, s.Field, clone(r.place(s.At))); err != nil {
			at := r.place(s.At)
			faults = append(faults, strict.Fault{Line: at.Line, Column: at.Column, Path: s.Field, Message: err.Error()})
		}
	}
	spec, d := decode[experiment.Spec](root)
	checkTrainer(d, &spec)
	checkSpec(d, spec)
	settle(d, &spec, r.lookup)
	spec.Name, spec.Seed = "", 0
	return spec, append(faults, d.Faults...)
}

func clone(n *yaml.Node) *yaml.Node {
	c := *n
	c.Content = make([]*yaml.Node, len(n.Content))
	for i, child := range n.Content {
		c.Content[i] = clone(child)
	}
	return &c
}

// set puts a value at a dotted path.
func set(root *yaml.Node, path string, value *yaml.Node) error {
	parent, key := root, path
	for head, rest, ok := cutPath(key); ok; head, rest, ok = cutPath(key) {
		if parent = child(parent, head, value.Line); parent.Kind != yaml.MappingNode {
			return fmt.Errorf("found %s in the base, which has no keys to set; want a mapping", strict.Describe(parent))
		}
		key = rest
	}
	assign(parent, key, value)
	return nil
}

// check looks at all cells together.
func (r *sweepReader) check(s experiment.Sweep, arms []sweep.Arm) {
	r.tell(sweep.Check(s), func(arm int) *yaml.Node {
		if arm < 0 {
			return r.at("baseline")
		}
		if arm < len(arms) {
			return r.place(arms[arm].At)
		}
		return r.at("")
	})
}
