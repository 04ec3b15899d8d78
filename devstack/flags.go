package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
)

// options are the effective settings of one run.
type options struct {
	data         string // absolute
	temporalPort int    // 0: any free port; so for the other two
	uiPort       int
	s3Port       int
	bucket       string
	quiet        bool
}

// usageError is a command line that cannot be obeyed; the exit code is 2.
type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }

const usageText = `devstack runs a Temporal server, its Web UI and an S3 server on this machine.

Usage:
  devstack [flags]

It stays in the foreground until Ctrl-C (or SIGTERM), prints one line on
standard output when everything is ready, and keeps all its data in one folder:
start it again on the same folder and everything is still there, also after a
crash or kill -9. Everything listens on 127.0.0.1 only.

Flags:
  --data DIR           data folder, one stack per folder
                       (default %s)
  --temporal-port N    Temporal gRPC port (default 7233)
  --ui-port N          Temporal Web UI port (default 8233)
  --s3-port N          S3 port (default 9233)
  --bucket NAME        bucket to create if it is not there (default floe)
  -q                   say less: warnings and errors only
  --help               this text

Port 0 picks a free port; the ready line and DIR/stack.json say which.

Files a script may read:
  DIR/stack.json       addresses, bucket and pid, while the stack is up
  DIR/credentials      S3 keys for AWS tools: AWS_SHARED_CREDENTIALS_FILE
  DIR/logs/            logs of Temporal and of the S3 server

Examples:
  devstack
  devstack --data /scratch/floe --ui-port 8080
  devstack --data "$(mktemp -d)" --temporal-port 0 --ui-port 0 --s3-port 0
  AWS_SHARED_CREDENTIALS_FILE=DIR/credentials \
    aws --endpoint-url http://127.0.0.1:9233 s3 ls s3://floe

To delete everything, stop the stack and remove the folder.

Exit codes: 0 stopped cleanly, 1 something failed, 2 wrong flags.
`

// parseFlags reads the command line. Asked for help it prints to out and
// returns flag.ErrHelp.
func parseFlags(args []string, out io.Writer) (options, error) {
	var o options
	fallback, fallbackErr := defaultDataDir()
	fs := flag.NewFlagSet("devstack", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&o.data, "data", fallback, "")
	fs.IntVar(&o.temporalPort, "temporal-port", 7233, "")
	fs.IntVar(&o.uiPort, "ui-port", 8233, "")
	fs.IntVar(&o.s3Port, "s3-port", 9233, "")
	fs.StringVar(&o.bucket, "bucket", "floe", "")
	fs.BoolVar(&o.quiet, "q", false, "")

	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		_, _ = fmt.Fprintf(out, usageText, fallback)
		return o, flag.ErrHelp
	case err != nil:
		return o, &usageError{err}
	}
	if o.data == "" && fallbackErr != nil {
		return o, &usageError{fmt.Errorf("no data folder: %w; name one with --data DIR", fallbackErr)}
	}
	if err := o.check(fs.Args()); err != nil {
		return o, &usageError{err}
	}
	abs, err := filepath.Abs(o.data)
	if err != nil {
		return o, fmt.Errorf("data folder %q: %w", o.data, err)
	}
	o.data = abs
	return o, nil
}

// bucketName is what both S3 and a folder name accept; dots are left out
// because they break TLS names and look like file endings.
var bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$`)

// check finds everything that is wrong with the options at once.
func (o *options) check(extra []string) error {
	var errs []error
	if len(extra) > 0 {
		errs = append(errs, fmt.Errorf("unexpected arguments %q; devstack takes flags only", extra))
	}
	if o.data == "" {
		errs = append(errs, errors.New("--data is empty; want a folder"))
	}
	if !bucketName.MatchString(o.bucket) {
		errs = append(errs, fmt.Errorf("--bucket %q; want 3 to 63 lower-case letters, digits and inner hyphens", o.bucket))
	}
	seen := map[int]string{}
	for _, p := range o.ports() {
		if p.port < 0 || p.port > 65535 {
			errs = append(errs, fmt.Errorf("%s %d; want 0 to 65535", p.flag, p.port))
		}
		if other := seen[p.port]; other != "" && p.port != 0 {
			errs = append(errs, fmt.Errorf("%s and %s are both %d; want different ports", other, p.flag, p.port))
		}
		seen[p.port] = p.flag
	}
	return errors.Join(errs...)
}

// defaultDataDir follows the XDG base directory rules, which say that a
// relative XDG_STATE_HOME is to be ignored.
func defaultDataDir() (string, error) {
	if base := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(base) {
		return filepath.Join(base, "floe"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(home, ".local", "state", "floe"), nil
}
