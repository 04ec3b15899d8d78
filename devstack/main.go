// Command devstack runs everything floe needs from the outside world in one
// program, on 127.0.0.1 only: a Temporal server, its Web UI and an S3 server.
// It is meant for laptops and tests: one user, one machine, no accounts to set
// up. Whoever may log in to the machine may talk to Temporal; the S3 server
// wants the keys in the credentials file.
//
// # Processes
//
// Temporal and its Web UI live in this process. The S3 server is a child of the
// same binary (the hidden subcommand "s3-child"), because its storage layer
// changes the working directory and allows one server per process. The child
// never outlives its parent: the kernel kills it when the parent dies (Linux),
// and everywhere it stops when the pipe at its standard input closes. When the
// child dies alone it is started again, at most three times in a minute; after
// that the whole stack stops with an error, because a stack without storage
// only looks alive.
//
// # The data folder
//
//	DIR/lock            held with flock(2) while a devstack runs; says who
//	DIR/stack.json      where everything listens; there while the stack is up
//	DIR/credentials     the S3 keys, an AWS shared-credentials file, mode 0600
//	DIR/temporal.db     Temporal's SQLite database (and -wal, -shm beside it)
//	DIR/temporal.db.schema-*.bak   copies made before a schema upgrade
//	DIR/s3/BUCKET/KEY   the objects, as plain files with extended attributes
//	DIR/s3/BUCKET/.sgwtmp          uploads that are not finished
//	DIR/logs/           logs of the servers: the last five files of each
//
// Whether a stack is running is told by the lock and not by stack.json, which a
// kill -9 leaves behind: take a shared, non-blocking flock on DIR/lock; if that
// is refused, the pid in stack.json is alive.
//
// # Promises
//
// What was acknowledged is on disk: SQLite runs in WAL mode with synchronous
// FULL, and the S3 server calls fsync on an object and on its folders before it
// answers (see fsync.go). So kill -9, or a lost battery, loses nothing that a
// client was told is there.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"syscall"
)

// Exit codes; part of what scripts may rely on.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

// version is set by the build: -ldflags "-X main.version=...".
var version = "dev"

func main() {
	syscall.Umask(0o077) // what we write is for this user only
	ctx := untilSignal(os.Stderr)
	os.Exit(exitCode(run(ctx, os.Args[1:], os.Stdout, os.Stderr), os.Stderr))
}

// run is the program without its process: it returns when the stack has
// stopped, which a cancelled ctx asks for.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) == 1 && args[0] == s3ChildCommand {
		return runS3Child(ctx, os.Stdin, os.NewFile(s3ReadyFD, "ready"))
	}
	opts, err := parseFlags(args, stdout)
	if err != nil {
		return err
	}
	if err := nameUser(); err != nil {
		return err
	}
	return serve(ctx, opts, stdout, &console{w: stderr, quiet: opts.quiet})
}

// nameUser gives a name to a user who has no entry in the list of users, as in
// containers that run under any number: Temporal asks for one and does not start
// without. Where there is an entry, it counts, not what is set here; the build tag
// osusergo sees to that.
func nameUser() error {
	for name, value := range map[string]string{"USER": "uid-" + strconv.Itoa(os.Getuid()), "HOME": "/"} {
		if os.Getenv(name) != "" {
			continue
		}
		if err := os.Setenv(name, value); err != nil {
			return fmt.Errorf("set %s: %w", name, err)
		}
	}
	return nil
}

// untilSignal ends its context at the first SIGINT, SIGTERM or closed terminal,
// and the process at the second. The child needs no telling: it dies with us.
func untilSignal(stderr io.Writer) context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup means to outlive the terminal
		signal.Notify(signals, syscall.SIGHUP)
	}
	go func() {
		<-signals
		cancel()
		<-signals
		_, _ = fmt.Fprintln(stderr, "devstack: second signal, stopping at once")
		os.Exit(exitFailure)
	}()
	return ctx
}

// exitCode reports err, if there is one to report, and turns it into the exit
// code of the process.
func exitCode(err error, stderr io.Writer) int {
	_, usage := errors.AsType[*usageError](err)
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return exitOK
	case usage:
		_, _ = fmt.Fprintf(stderr, "devstack: %v\nTry: devstack --help\n", err)
		return exitUsage
	default:
		_, _ = fmt.Fprintf(stderr, "devstack: %v\n", err)
		return exitFailure
	}
}
