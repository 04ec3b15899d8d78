// Package all is the one list of environments.
package all

import (
	"fmt"
	"strings"

	"floe/internal/config/strict"
	"floe/internal/env"
	"floe/internal/env/lake"
)

var environments = []env.Environment{
	lake.New(),
}

// Names lists the environments by name, in the list's order.
func Names() []string {
	names := make([]string, len(environments))
	for i, e := range environments {
		names[i] = e.Name()
	}
	return names
}

// Open finds an environment by its name.
func Open(name string) (env.Environment, error) {
	for _, e := range environments {
		if e.Name() == name {
			return e, nil
		}
	}
	return nil, fmt.Errorf("environment %q is not known; there is %s%s", name, strings.Join(Names(), ", "), hint(name))
}

func hint(name string) string {
	if known, ok := strict.Nearest(name, Names()); ok {
		return fmt.Sprintf(" (did you mean %q?)", known)
	}
	return ""
}
