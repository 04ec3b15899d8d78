package config

import (
	"floe/internal/env"
	"floe/internal/experiment"
)

// Lookup opens an environment by the name that a file gives; its error says
// which names there are.
type Lookup func(name string) (env.Environment, error)

// Load reads an experiment file. File is its name, for faults; sets are
// overrides "key=value" with dotted keys and YAML values, the last of a key
// counts. The spec is effective: sizes, knobs and curriculum are filled in from
// the environment and stand in its order. The error is a *Faults.
func Load(file string, src []byte, sets []string, lookup Lookup) (experiment.Spec, error) {
	s := source{file: file, sets: sets}
	root, faults := s.parse(src)
	if root == nil {
		return experiment.Spec{}, s.faults(faults)
	}
	spec, d := decode[experiment.Spec](root)
	checkTrainer(d, &spec)
	checkSpec(d, spec)
	settle(d, &spec, lookup)
	if err := s.faults(append(faults, d.Faults...)); err != nil {
		return experiment.Spec{}, err
	}
	return spec, nil
}
