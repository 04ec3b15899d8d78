package main

import (
	"context"
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
			name := "demo-" + time.Now().UTC().Format("20060102-150405")
			sets = append(append([]string{"name=" + name}, modelSets()...), sets...)
			spec, err := config.Load("examples/demo.yaml", examples.Demo, sets, all.Open)
			if err != nil {
				return err
			}
			var again strings.Builder
			again.WriteString("starter run examples/demo.yaml --dev")
			for _, s := range sets {
				again.WriteString(" --set " + s)
			}
			return a.withServices(c.Context(), p, keep, func(ctx context.Context) error {
				return a.runSpec(ctx, spec, false, again.String())
			})
		},
	}
	c.Flags().StringArrayVar(&sets, "set", nil, "override a field of the demo, such as `rounds=4`; can be repeated")
	c.Flags().BoolVar(&keep, "keep", false, "leave the services running afterwards (stop them with: starter dev --stop)")
	p.register(c.Flags())
	return c
}

// modelSets lets a model design the demo's curricula where one is configured.
func modelSets() []string {
	model := os.Getenv("OPENAI_MODEL")
	if model == "" || os.Getenv("OPENAI_BASE_URL")+os.Getenv("OPENAI_API_KEY") == "" {
		return nil
	}
	return []string{"designer.kind=openai", "designer.model=" + model}
}
