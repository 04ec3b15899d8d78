// Package all is the one list of environments.
package all

import (
	"fmt"
	"strings"

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

// hint suggests the name that was meant, if one is at most two slips away.
func hint(name string) string {
	for _, known := range Names() {
		if slips(strings.ToLower(name), known) <= 2 {
			return fmt.Sprintf(" (did you mean %q?)", known)
		}
	}
	return ""
}

// slips is the number of letters to insert, delete or replace (Levenshtein).
func slips(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
