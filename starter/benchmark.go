package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"floe/internal/endpoint"
	"floe/internal/env/all"
)

// benchFlags are what a benchmark is asked to be. Given says whether a flag was
// set: on going on, what is not given is what it was.
type benchFlags struct {
	endpoint, endpoints, model, environment, objective, out string

	agents                            []int
	instances, concurrency, maxTokens int
	temperature                       float64
	mostTokens                        int64   // of all answers; 0: no bound
	mostMoney                         float64 // likewise
	imports                           []string
	scoreOnly                         bool

	given func(flag string) bool
}

func (a *app) benchmarkCmd() *cobra.Command {
	var f benchFlags
	c := &cobra.Command{
		Use:   "benchmark --endpoint NAME --model NAME",
		Short: "Score a model behind an endpoint against the paper's table",
		Long: `Asks a model behind any OpenAI-compatible chat completions server every task of the
held-out sets, scores its answers, and prints the paper's table with the new row.
Answers are stored in a folder as they arrive: the same command resumes an
interrupted run and reuses them.

A key is sent only to its own address: the key of an endpoint in the endpoints file
to that endpoint, OPENAI_API_KEY to OPENAI_BASE_URL (by default OpenAI's). Any other
URL is called without a key.`,
		Example: `  starter benchmark --endpoint http://127.0.0.1:8000/v1 --model qwen3-4b
  starter benchmark --endpoint lab --endpoints endpoints.yaml --max-cost 5
  starter benchmark --out benchmark-qwen3-4b --score-only -o json
  starter benchmark --endpoint http://127.0.0.1:8000/v1 --model qwen3-4b --import wr_025.jsonl --import wr_050.jsonl`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			f.given = c.Flags().Changed
			return a.benchmark(c.Context(), f)
		},
	}
	fs := c.Flags()
	fs.StringVar(&f.endpoint, "endpoint", "", "endpoint: a `NAME` in the endpoints file, or the base URL of a server (default: "+endpoint.EnvBase+")")
	fs.StringVar(&f.endpoints, "endpoints", "", "`FILE` that names endpoints ("+endpoint.EnvFile+")")
	fs.StringVar(&f.model, "model", "", "`NAME` of the model, as the server knows it (default: the endpoint's)")
	fs.StringVar(&f.environment, "environment", all.Names()[0], "the family of tasks")
	fs.StringVar(&f.objective, "objective", "sum_of_costs", "what optimal means: sum_of_costs or makespan")
	fs.IntSliceVar(&f.agents, "agents", []int{3, 4, 5}, "one set per number of agents")
	fs.IntVar(&f.instances, "instances", 150, "instances per size")
	fs.StringArrayVar(&f.imports, "import", nil, "`FILE` of published rows {sample_id, num_agents, text} to ask instead of sets of our own; can be repeated, one per subset")
	fs.IntVar(&f.concurrency, "concurrency", 16, "calls at one time")
	fs.IntVar(&f.maxTokens, "max-tokens", 8192, "longest answer")
	fs.Float64Var(&f.temperature, "temperature", 0, "sampling temperature")
	fs.Int64Var(&f.mostTokens, "max-cost-tokens", 0, "maximum tokens of all answers in the folder, prompts included (0: no limit)")
	fs.Float64Var(&f.mostMoney, "max-cost", 0, "maximum cost of all answers, by the endpoints file's prices (0: no limit)")
	fs.StringVar(&f.out, "out", "", "`DIR` of sets, answers and scores (default: benchmark-NAME, here)")
	fs.BoolVar(&f.scoreOnly, "score-only", false, "call no model; score the stored answers")
	must(c.RegisterFlagCompletionFunc("objective", cobra.FixedCompletions([]string{"sum_of_costs", "makespan"}, cobra.ShellCompDirectiveNoFileComp)))
	return c
}

func (a *app) benchmark(ctx context.Context, f benchFlags) error {
	place, err := f.place()
	f.model = cmp.Or(f.model, place.Model)
	if err := errors.Join(f.check(), err); err != nil {
		return fail(exitUsage, "%w", err)
	}
	b, err := a.openBench(ctx, f, place.Endpoint)
	if err != nil {
		return err
	}
	defer b.close()
	b.price = priceOf(place)
	var stopped error // by a budget: what there is gets scored all the same
	if !f.scoreOnly {
		if stopped, err = b.ask(ctx, place, f); err != nil {
			return err
		}
	}
	result, err := b.score(ctx)
	if err != nil {
		return err
	}
	if err := a.emit(result, result.table); err != nil {
		return err
	}
	return stopped
}

// check says everything that is wrong with the flags by themselves.
func (f benchFlags) check() error {
	var errs []error
	bad := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	agents := slices.Compact(slices.Sorted(slices.Values(f.agents)))
	bad(f.model == "" && f.out == "", "name the model with --model, or the folder of a benchmark with --out")
	bad(len(f.agents) == 0 || len(agents) != len(f.agents), "--agents is %v; want one or more different numbers", f.agents)
	bad(f.instances < 1 || f.instances > 10000, "--instances is %d; want 1 to 10000", f.instances)
	bad(f.concurrency < 1 || f.concurrency > endpoint.MostConcurrent, "--concurrency is %d; want 1 to %d", f.concurrency, endpoint.MostConcurrent)
	bad(f.maxTokens < 16 || f.maxTokens > 1_000_000, "--max-tokens is %d; want 16 to 1000000", f.maxTokens)
	bad(!(f.temperature >= 0 && f.temperature <= 2), "--temperature is %v; want 0 to 2", f.temperature) // this way round, NaN is refused too
	bad(f.mostTokens < 0, "--max-cost-tokens is %d; want 0 or more", f.mostTokens)
	bad(!(f.mostMoney >= 0 && f.mostMoney <= 1e9), "--max-cost is %v; want 0 to 1e9", f.mostMoney)
	bad(len(f.imports) > 0 && f.given("instances"), "--instances is of our own sets; --import takes the rows that there are")
	for _, flag := range []string{"endpoint", "endpoints", "concurrency", "max-cost-tokens", "max-cost"} {
		bad(f.scoreOnly && f.given(flag), "--score-only asks nothing; leave out --%s", flag)
	}
	return errors.Join(errs...)
}

var unfitForFolders = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// folder is where the benchmark lies.
func (f benchFlags) folder() string {
	if f.out != "" {
		return f.out
	}
	return "benchmark-" + strings.Trim(unfitForFolders.ReplaceAllString(f.model, "-"), "-.")
}
