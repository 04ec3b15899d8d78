package command

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"floe/internal/job"
	"floe/internal/job/backend/internal/cli"
)

// names of the placeholders, with what they stand for.
func values(r job.Request, id string) placeholders {
	env := make([]string, 0, 8)
	for _, v := range r.Environ() {
		env = append(env, v.Name+"="+v.Value)
	}
	seconds := func(d time.Duration) string { return strconv.FormatInt(int64(d.Round(time.Second)/time.Second), 10) }
	return placeholders{
		single: map[string]string{
			"name": r.Name(), "id": id, "spec": r.Spec, "dir": r.Dir, "output": r.Output, "sha256": r.SpecSHA256,
			"attempt": strconv.Itoa(r.Attempt), "gpus": strconv.Itoa(r.Resources.GPUs), "cpus": strconv.Itoa(r.Resources.CPUs),
			"memory_bytes": strconv.FormatInt(r.Resources.MemoryBytes, 10), "wall_seconds": seconds(r.Resources.Wall),
			"grace_seconds": seconds(r.Grace), "from": "0", "command": cli.QuoteAll(r.Command), "env": cli.QuoteAll(env),
		},
		many: map[string][]string{"command": r.Command, "env": env},
	}
}

type placeholders struct {
	single map[string]string
	many   map[string][]string
}

var place = regexp.MustCompile(`\{\{|\}\}|\{[^{}]*\}|[{}]`)

// checkWord says what is wrong with one argument of a template.
func checkWord(word string) error {
	known := values(job.Request{}, "")
	if name, ok := spread(word); ok {
		if _, ok := known.many[name]; !ok {
			return fmt.Errorf("%q; want {command...} or {env...}", word)
		}
		return nil
	}
	for _, p := range place.FindAllString(word, -1) {
		if p == "{{" || p == "}}" {
			continue
		}
		if _, ok := known.single[strings.Trim(p, "{}")]; !ok || len(p) < 2 {
			return fmt.Errorf("%q in %q is no placeholder; {{ and }} are braces, and {command...} stands alone", p, word)
		}
	}
	return nil
}

// spread is the name in a word that becomes several arguments.
func spread(word string) (string, bool) {
	inner, ok := strings.CutSuffix(word, "...}")
	if !ok || !strings.HasPrefix(inner, "{") {
		return "", false
	}
	return inner[1:], true
}

// fill puts values into a template that was checked.
func fill(argv []string, v placeholders) []string {
	var out []string
	for _, word := range argv {
		if name, ok := spread(word); ok {
			out = append(out, v.many[name]...)
			continue
		}
		out = append(out, place.ReplaceAllStringFunc(word, func(p string) string {
			if p == "{{" || p == "}}" {
				return p[:1]
			}
			return v.single[p[1:len(p)-1]]
		}))
	}
	return out
}
