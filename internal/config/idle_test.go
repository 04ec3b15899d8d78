package config_test

import (
	"strings"
	"testing"

	"floe/internal/config"
	"floe/internal/env/all"
)

func TestSettingsThatARuleDoesNotReadAreIdle(t *testing.T) {
	for _, c := range []struct {
		from, to string
		idle     int
	}{
		{"{kind: learnability}", "{kind: learnability, context: V3}", 1},
		{"{kind: random}", "{kind: random, context: V1}", 1},
		{"{kind: regret, context: V2}", "{kind: regret, context: V2, guidelines: be brief}", 1},
		{"{kind: linear}", "{kind: linear, details: full}", 1},
		{"{kind: replay}", "{kind: replay, context: V3}", 0}, // with round 0, which nobody designed
		{"{kind: learnability}", "{kind: learnability, min_share: 0.01}", 0},
		{"{kind: learnability}", "{kind: fixed, context: V3}", 0},
		{"{kind: openai, model: m}", "{kind: openai, model: m, context: V3}", 0},
		{"{kind: human}", "{kind: human, context: V3}", 0},
	} {
		from, err := config.Load("a", []byte("name: a\ndesigner: "+c.from+"\n"), nil, all.Open)
		if err != nil {
			t.Fatal(err)
		}
		to, err := config.Load("a", []byte("name: a\nepochs: 7\ndesigner: "+c.to+"\n"), nil, all.Open)
		if err != nil {
			continue // refused with a reason
		}
		idle := config.Idle(from, to)
		if len(idle) != c.idle {
			t.Errorf("%s to %s: idle are %q; want %d", c.from, c.to, idle, c.idle)
		}
		for _, line := range idle {
			if !strings.Contains(line, "is a rule") || !strings.HasPrefix(line, "designer.") {
				t.Errorf("%q does not say why", line)
			}
		}
	}
}
