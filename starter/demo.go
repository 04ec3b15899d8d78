package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"floe/examples"
	"floe/internal/config"
	"floe/internal/env/all"
)

func (a *app) demoCmd() *cobra.Command {
	var sets []string
	var p ports
	var keep bool
	c := &cobra.Command{
		Use:   "demo",
		Short: "Run a whole experiment on this machine and show the result",
		Long: `Starts all services here, runs a complete experiment of three rounds under a new
name, and shows the learning curve, what the designer changed and why, and the
report. Needs no Docker, no GPU, no Python and no API key: the policy is a small
neural network that is trained for real with GRPO on the CPU.

With OPENAI_BASE_URL or OPENAI_API_KEY set, and OPENAI_MODEL naming a model, that
model designs the curricula; otherwise the rule "learnability" does.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withServices(c.Context(), p, keep, func(ctx context.Context) error {
				return a.demo(ctx, sets)
			})
		},
	}
	c.Flags().StringArrayVar(&sets, "set", nil, "override a field of the demo, such as `rounds=4`; can be repeated")
	c.Flags().BoolVar(&keep, "keep", false, "leave the services running afterwards (stop them with: starter dev --stop)")
	p.register(c.Flags())
	return c
}

// demoPrefix begins the names of demos.
const demoPrefix = "demo-"

// demo runs the demo's file under a new name. What is said last comes first:
// sets of the person override the demo's own.
func (a *app) demo(ctx context.Context, sets []string) error {
	seed, err := a.demoSeed(ctx)
	if err != nil {
		return err
	}
	name := demoPrefix + time.Now().UTC().Format("20060102-150405")
	sets = append(append([]string{"name=" + name, seed}, a.modelSets()...), sets...)
	spec, err := config.Load("examples/demo.yaml", examples.Demo, sets, all.Open)
	if err != nil {
		return err
	}
	again := a.command("run examples/demo.yaml --dev", repeatFlags("", sets)...)
	return a.runSpec(ctx, spec, false, again)
}

// demoSeed gives every demo a seed of its own, from 1 on. With the same one all
// steps would be found done, and there would be nothing to see.
func (a *app) demoSeed(ctx context.Context) (string, error) {
	steps, err := a.store(ctx)
	if err != nil {
		return "", err
	}
	names, err := steps.ListExperiments(ctx)
	if err != nil {
		return "", err
	}
	seed := 1
	for _, n := range names {
		if strings.HasPrefix(n, demoPrefix) {
			seed++
		}
	}
	return fmt.Sprintf("seed=%d", seed), nil
}

// modelSets lets a model design the demo's curricula where one is named. A key
// alone is not enough: it may be there for something else, and models cost money.
func (a *app) modelSets() []string {
	if os.Getenv("OPENAI_BASE_URL")+os.Getenv("OPENAI_API_KEY") == "" {
		return nil
	}
	model := os.Getenv("OPENAI_MODEL")
	if model == "" {
		a.say("a rule designs the curricula; to have a model do it, name it in OPENAI_MODEL")
		return nil
	}
	a.say("%s designs the curricula", model)
	return []string{"designer.kind=openai", "designer.model=" + model}
}
