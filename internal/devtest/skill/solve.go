package skill

import (
	"context"
	"fmt"

	"floe/internal/env"
	"floe/internal/env/all"
	"floe/internal/experiment"
)

// Solve answers a task. The draw, a name, decides whether it is one of those that
// the model solves: under equal draws a larger skill solves all that a smaller one
// does.
func (s Skill) Solve(e env.Playable, p env.Problem, draw string) (string, error) {
	plan, err := p.Demonstration()
	if err != nil {
		return "", err
	}
	r := experiment.Rand("skill", draw)
	if r.Float64() < float64(s) {
		return play(p, plan), nil
	}
	switch r.IntN(3) {
	case 0:
		return "I see no way across the ice.", nil
	case 1:
		return play(p, plan[:len(plan)/2]), nil // on the way
	}
	wrong := make([]int, len(plan))
	for i := range wrong {
		wrong[i] = r.IntN(e.Actions())
	}
	return play(p, wrong), nil
}

func play(p env.Problem, actions []int) string {
	episode := p.Episode()
	for _, action := range actions {
		episode.Act(action)
	}
	return episode.Answer()
}

// Open opens a task of an environment that the model can act in.
func Open(environment string, t env.Task) (env.Playable, env.Problem, error) {
	e, err := all.Open(environment)
	if err != nil {
		return nil, nil, err
	}
	playable, ok := e.(env.Playable)
	if !ok {
		return nil, nil, fmt.Errorf("environment %s is none that a small policy can act in", environment)
	}
	p, err := e.Open(t)
	return playable, p, err
}

// mostAgents bounds the search for the number of agents that a prompt has.
const mostAgents = 16

// understand finds the task in a prompt, whatever environment it is of; false if it
// asks for something else.
func understand(prompt string) (e env.Playable, p env.Problem, ok bool) {
	for _, name := range all.Names() {
		for agents := 1; agents <= mostAgents; agents++ {
			if e, p, ok = read(name, prompt, agents); ok {
				return e, p, true
			}
		}
	}
	return nil, nil, false
}

func read(environment, prompt string, agents int) (env.Playable, env.Problem, bool) {
	e, err := all.Open(environment)
	if err != nil {
		return nil, nil, false
	}
	importing, ok := e.(env.Importing)
	solving, able := e.(env.Solving)
	if !ok || !able {
		return nil, nil, false
	}
	task, err := importing.Import(context.Background(), env.Published{ID: "prompt", Agents: agents, Text: prompt}, solving.Objectives()[0])
	if err != nil {
		return nil, nil, false
	}
	playable, p, err := Open(environment, task)
	return playable, p, err == nil
}
