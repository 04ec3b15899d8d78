// The worker hosts the workflows and activities of floe. Any number of workers
// can share the work; one that dies costs its last seconds, nothing more.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"floe/internal/connect"
	"floe/internal/endpoint"
	"floe/internal/job/backend/process"
	"floe/internal/serve"
	"floe/internal/temporalclient"
	"floe/internal/version"
	"floe/workflows"
)

// Exit codes, the same as the starter's.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitUnreachable = 4
)

// uploadsAfter is the age from which an unfinished upload is taken for dead.
const uploadsAfter = 24 * time.Hour

func main() {
	if keep := keeper(os.Args); keep != nil {
		os.Exit(keep(os.Args[2], os.Stderr))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// keeper is what this process was started for by a worker, if by one: to keep a job
// or a model server that must outlive it.
func keeper(args []string) func(spec string, log io.Writer) int {
	if len(args) != 3 {
		return nil
	}
	switch args[1] {
	case process.Verb:
		return process.Supervise
	case serve.Verb:
		return serve.Guard
	}
	return nil
}

// settings are what a person can choose about a worker.
type settings struct {
	flags      connect.Flags
	work       int
	jobs       int
	watch      int
	folder     string
	host       string
	endpoints  string // file
	deployment string
	build      string
	haste      *haste
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	s, code := parse(args, stdout, stderr)
	if code >= 0 {
		return code
	}
	if code, err := work(ctx, s, stdout, stderr); err != nil {
		fmt.Fprintf(stderr, "worker: %v\n", err)
		return code
	}
	return 0
}

// parse reads the flags; a code of 0 or more ends the program.
func parse(args []string, stdout, stderr io.Writer) (settings, int) {
	var s settings
	fs := pflag.NewFlagSet("worker", pflag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Usage = func() {}
	s.flags.Register(fs)
	fs.IntVar(&s.work, "work", 4, "CPU activities at the same time (generating, scoring, designing)")
	fs.IntVar(&s.jobs, "jobs", 1, "trainings and served models at the same time on this machine: one per device; 0 for a machine without")
	fs.IntVar(&s.watch, "watch", 100, "trainings and models elsewhere to watch at the same time")
	fs.StringVar(&s.folder, "folder", "", "`DIR` of this worker on a local disk: jobs, model servers, checkpoints that are served (default: worker in --data)")
	fs.StringVar(&s.host, "host", "", "`NAME` of the place whose processes this worker watches (default: the host name and --folder)")
	fs.StringVar(&s.endpoints, "endpoints", "", "`FILE` that names endpoints of language models and where their keys are ("+endpoint.EnvFile+")")
	fs.StringVar(&s.deployment, "deployment", "", "worker deployment `NAME`: experiments stay with the build that started them (docs/deploying.md)")
	fs.StringVar(&s.build, "build", version.Get().Build(), "`ID` of this build within the deployment")
	show := fs.Bool("version", false, "print the version")
	switch err := fs.Parse(args); {
	case errors.Is(err, pflag.ErrHelp):
		fmt.Fprintf(stdout, "Usage: worker [flags]\n\nHosts floe's workflows and activities until it is interrupted.\n\n%s", fs.FlagUsages())
		return s, 0
	case err != nil:
		fmt.Fprintf(stderr, "worker: %v; see worker --help\n", err)
		return s, exitUsage
	case fs.NArg() > 0 || s.work < 1 || s.jobs < 0 || s.watch < 0:
		fmt.Fprintf(stderr, "worker: found arguments %q, --work %d, --jobs %d, --watch %d; want no arguments, at least 1, 0 and 0\n", fs.Args(), s.work, s.jobs, s.watch)
		return s, exitUsage
	case *show:
		fmt.Fprintln(stdout, version.Get())
		return s, 0
	case fs.Changed("build") && s.deployment == "" || s.build == "" || strings.ContainsAny(s.deployment+s.build, ". "):
		fmt.Fprintf(stderr, "worker: found --deployment %q, --build %q; want both, or a deployment alone, without dots and spaces\n", s.deployment, s.build)
		return s, exitUsage
	}
	return s, -1
}

// work polls until the context ends, then lets running activities stop.
func work(ctx context.Context, s settings, stdout, stderr io.Writer) (int, error) {
	logger := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelInfo}))
	directory, err := endpoint.Load(s.endpoints)
	if err != nil {
		return exitUsage, err
	}
	for _, missing := range directory.Missing() {
		logger.Warn("an endpoint has no key and cannot be called", "error", missing)
	}
	if s.haste, err = readHaste(); err != nil {
		return exitUsage, err
	}
	to, err := connect.Resolve(s.flags)
	if _, away := errors.AsType[*connect.NoStackError](err); away {
		return exitUnreachable, err
	}
	if err != nil {
		return exitUsage, err
	}
	c, err := to.Dial(ctx, logger)
	if err != nil {
		return exitUnreachable, err
	}
	defer c.Close()
	store, err := to.Store(ctx)
	if err == nil {
		err = to.Prove(ctx, store, logger)
	}
	if err != nil {
		return exitUnreachable, err
	}
	opts, err := temporalclient.Options(to.Temporal)
	if err != nil {
		return exitUsage, err
	}
	if err := temporalclient.EnsureSearchAttributes(ctx, c, opts.Namespace, workflows.SearchAttributes); err != nil {
		return exitFailed, err
	}
	// Uploads that a killed process began and nobody will finish cost storage.
	if n, err := store.SweepUploads(ctx, time.Now().Add(-uploadsAfter)); err != nil {
		logger.Warn("cannot delete unfinished uploads", "error", err)
	} else if n > 0 {
		logger.Info("deleted unfinished uploads", "count", n)
	}
	if err := s.place(to); err != nil {
		return exitUsage, err
	}
	acts, models, err := wire(c, store, directory, s, logger)
	if err != nil {
		return exitUsage, err
	}
	defer models.Close() //nolint:contextcheck // the context has ended by then
	fmt.Fprintf(stdout, "worker ready: temporal %s · namespace %s · artifacts %s%s\n", opts.HostPort, opts.Namespace, store.URL(""), s.deployed())
	return pollUntil(ctx, c, s, logger, workers(c, acts, s))
}

// place settles the worker's own folder and machine, and lets the programs that it
// starts find what they need: the artifact store, and starter beside the worker.
func (s *settings) place(to connect.Settings) (err error) {
	if s.folder == "" {
		if s.folder, err = to.Beside("worker"); err != nil {
			return fmt.Errorf("%w, or the worker's folder with --folder", err)
		}
	}
	if s.folder, err = filepath.Abs(s.folder); err != nil {
		return err
	}
	if s.host == "" {
		if s.host, err = os.Hostname(); err != nil {
			return fmt.Errorf("%w; name this machine with --host", err)
		}
		// Its jobs are known in its folder alone: another worker on this machine is another place.
		s.host += ":" + s.folder
	}
	if self, err := os.Executable(); err == nil {
		if err := os.Setenv("PATH", filepath.Dir(self)+string(os.PathListSeparator)+os.Getenv("PATH")); err != nil {
			return err
		}
	}
	return to.Export()
}

// deployed says as which build of which deployment the worker serves.
func (s settings) deployed() string {
	if s.deployment == "" {
		return ""
	}
	return fmt.Sprintf(" · deployment %s, build %s", s.deployment, s.build)
}
