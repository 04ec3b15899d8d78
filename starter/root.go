package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"floe/internal/artifact"
	"floe/internal/artifact/s3"
	"floe/internal/cleantext"
	"floe/internal/config/strict"
	"floe/internal/connect"
	"floe/internal/temporalclient"
)

// app is what the commands share: where they write, and the connections, made
// when first asked for.
type app struct {
	in       io.Reader
	out      io.Writer // data
	err      io.Writer // everything else
	flags    connect.Flags
	output   string
	noColor  bool
	brief    bool     // the services stop with this command
	given    []string // connection flags, to be repeated in commands that are suggested
	wide     bool     // tables may be wider than the terminal
	settings *connect.Settings
	temporal client.Client
	steps    *artifact.Steps
}

// run parses the arguments, does the work, and turns the outcome into an exit code.
func run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	a := &app{in: in, out: out, err: errOut}
	defer a.close()
	root := a.root() //nolint:contextcheck // cobra hands the context to every command
	// Without any, cobra would take those of the process.
	root.SetArgs(append([]string{}, args...))
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	code := codeOf(ctx, err)
	if code == exitInterrupted && errors.Is(err, context.Canceled) {
		return code // the person knows that they interrupted
	}
	a.complain(a.plainly(err))
	return code
}

// plainly says of a server that went away what a dial would say.
func (a *app) plainly(err error) error {
	var unavailable *serviceerror.Unavailable
	var coded *codedError
	if a.settings == nil || errors.As(err, &coded) || !errors.As(err, &unavailable) {
		return err
	}
	opts, failed := temporalclient.Options(a.settings.Temporal)
	if failed != nil {
		return err
	}
	return &temporalclient.UnreachableError{Address: opts.HostPort, Cause: unavailable}
}

// complain writes the error that ends the program.
func (a *app) complain(err error) { a.say("starter: %v", err) }

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "starter",
		Short: "Run closed-loop RL experiments that survive any crash",
		Long: `floe runs experiments in which a designer writes the training environment of
the next round: generate, train, validate, design, round after round. Every
step is durable: kill any process, restart it, and the run continues.

  starter demo                     a whole experiment on this machine, no setup
  starter dev                      Temporal, its UI, an S3 store and a worker, until Ctrl-C
  starter run examples/demo.yaml   start an experiment and follow it
  starter list                     all experiments and their results

Exit codes: 0 done; 1 failed, or needs attention; 2 wrong usage or invalid input;
3 no such experiment, sweep or artifact; 4 a server or worker cannot be reached;
5 done, but without designs; 130 interrupted (docs/exit-codes.md).`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	pf := root.PersistentFlags()
	a.flags.Register(pf)
	pf.StringVarP(&a.output, "output", "o", "table", "format of data on stdout: table, json or yaml; lists have jsonl too")
	pf.BoolVar(&a.wide, "wide", false, "full tables, even if wider than the terminal")
	pf.BoolVar(&a.noColor, "no-color", false, "no colours (also NO_COLOR)")
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) error {
		a.given = givenFlags(c.Flags())
		return a.checkOutput(c)
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fail(exitUsage, "%w%s; see %s --help", err, meantFlag(c, err), c.CommandPath())
	})
	must(root.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"table", "json", "yaml", "jsonl"}, cobra.ShellCompDirectiveNoFileComp)))
	root.AddGroup(&cobra.Group{ID: "run", Title: "Experiments:"}, &cobra.Group{ID: "see", Title: "Looking:"}, &cobra.Group{ID: "env", Title: "Environments:"}, &cobra.Group{ID: "here", Title: "This machine:"})
	add := func(group string, cmds ...*cobra.Command) {
		for _, c := range cmds {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add("run", a.runCmd(), a.sweepCmd(), a.validateCmd(), a.watchCmd(), a.designCmd(), a.retryCmd(), a.planCmd(), a.forkCmd(), a.rerunCmd())
	add("run", a.steerCmds()...)
	add("see", a.listCmd(), a.showCmd(), a.transcriptCmd(), a.reportCmd(), a.artifactsCmd(), a.logsCmd(), a.jobsCmd(), a.tagCmd(), a.noteCmd())
	add("env", a.environmentCmds()...)
	add("here", a.demoCmd(), a.devCmd(), a.gcCmd(), a.checkCmd(), a.schemaCmd(), a.deploymentCmd(), a.versionCmd())
	usageErrors(root)
	return root
}

// usageErrors gives wrong arguments of a command and its children exit code 2. It
// is called once, for the whole tree.
func usageErrors(c *cobra.Command) {
	check := c.Args
	switch {
	case c.HasSubCommands():
		check = noVerb
	case check == nil:
		check = cobra.ArbitraryArgs
	}
	c.Args = func(c *cobra.Command, args []string) error {
		if err := check(c, args); err != nil {
			return fail(exitUsage, "%w; see %s --help", err, c.CommandPath())
		}
		return nil
	}
	for _, child := range c.Commands() {
		usageErrors(child)
	}
}

// noVerb refuses arguments of a command that only has verbs.
func noVerb(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var verbs []string
	for _, child := range c.Commands() {
		if !child.Hidden {
			verbs = append(verbs, child.Name())
		}
	}
	if near, ok := strict.Nearest(args[0], verbs); ok {
		return fmt.Errorf("%s has no verb %q; did you mean %s?", c.CommandPath(), args[0], near)
	}
	return fmt.Errorf("%s has no verb %q", c.CommandPath(), args[0])
}

// meantFlag names the flag that an unknown one was probably meant to be.
func meantFlag(c *cobra.Command, err error) string {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return ""
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	near, ok := strict.Nearest(unknown.GetSpecifiedName(), names)
	if !ok || len(unknown.GetSpecifiedName()) == 1 {
		return ""
	}
	return fmt.Sprintf("; did you mean --%s?", near)
}

// knowsJSONL annotates the commands that have -o jsonl too: one JSON value a line.
const knowsJSONL = "jsonl"

func (a *app) checkOutput(c *cobra.Command) error {
	switch _, lines := c.Annotations[knowsJSONL]; {
	case a.output == "table", a.output == "json", a.output == "yaml", a.output == "jsonl" && lines:
		return nil
	case lines:
		return fail(exitUsage, "--output is %q; want table, json, yaml or jsonl", a.output)
	}
	return fail(exitUsage, "--output is %q; want table, json or yaml", a.output)
}

// color says whether a writer gets colours: a terminal, unless told otherwise.
func (a *app) color(w io.Writer) bool {
	return !a.noColor && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && terminal(w)
}

func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// say writes a line for people to stderr.
func (a *app) say(format string, args ...any) {
	fmt.Fprintln(a.err, cleantext.Text(fmt.Sprintf(format, args...)))
}

// client dials Temporal, once.
func (a *app) client(ctx context.Context) (client.Client, error) {
	if a.temporal != nil {
		return a.temporal, nil
	}
	err := a.patiently(ctx, connect.Settings.LocalTemporal, func(s connect.Settings) (err error) {
		a.temporal, err = s.Dial(ctx, nil)
		return err
	})
	return a.temporal, err
}

// store opens the artifact store to look into it, once.
func (a *app) store(ctx context.Context) (*artifact.Steps, error) {
	if a.steps != nil {
		return a.steps, nil
	}
	return a.openStore(ctx, connect.Settings.Reader)
}

// workStore opens the artifact store for work that is about to start: it must take
// writes, or the first step would fail.
func (a *app) workStore(ctx context.Context) (*artifact.Steps, error) {
	return a.openStore(ctx, connect.Settings.Store)
}

func (a *app) openStore(ctx context.Context, open func(connect.Settings, context.Context) (*s3.Store, error)) (*artifact.Steps, error) {
	err := a.patiently(ctx, connect.Settings.LocalStore, func(s connect.Settings) error {
		store, err := open(s, ctx)
		if err == nil {
			a.steps = &artifact.Steps{Store: store}
		}
		return err
	})
	return a.steps, err
}

// reconnect forgets connections: services have just been started.
func (a *app) reconnect() {
	a.close()
	a.settings, a.temporal, a.steps = nil, nil, nil
}

func (a *app) close() {
	if a.temporal != nil {
		a.temporal.Close()
	}
}

// must is for what only a mistake in this program can make fail.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
