package config

import (
	"strings"

	"floe/internal/env"
	"floe/internal/experiment"
)

// Amend reads an effective spec anew with sets, as strictly as a file. An
// effective spec says everything, also settings that it has only because of, say,
// its designer's kind. Where sets change that to one that does not read them, they
// are forgotten: in a file, where somebody wrote them, they would be faults.
func Amend(name string, old experiment.Spec, sets []string, open func(string) (env.Environment, error)) (experiment.Spec, error) {
	root, err := tree(old)
	if err != nil {
		return old, err
	}
	forget(root, func(field string) (value string, ok bool) {
		for _, s := range sets {
			if text, is := strings.CutPrefix(strings.TrimSpace(s), field+"="); is {
				value, ok = strings.Trim(text, " \"'"), true
			}
		}
		return value, ok
	})
	src, err := encode(root, old.Name)
	if err != nil {
		return old, err
	}
	return Load(name, src, sets, open)
}
