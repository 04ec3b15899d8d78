package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"floe/internal/stack"
)

func (a *app) devCmd() *cobra.Command {
	var p ports
	var stop bool
	c := &cobra.Command{
		Use:   "dev",
		Short: "Run Temporal, its UI, an S3 store and a worker here until Ctrl-C",
		Long: `Starts everything that experiments need on this machine: a Temporal server on SQLite,
the Temporal Web UI, an S3 store and a worker. They listen on loopback only and keep
their data in one folder. A service that dies is restarted. Ctrl-C stops them all,
and the next start resumes where they stopped.`,
		Example: "  starter dev\n  starter dev --data /tmp/floe --temporal-port 0 --ui-port 0 --s3-port 0\n  starter dev --stop",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			data, err := a.dataDir()
			if err != nil {
				return err
			}
			if stop {
				return a.stopDev(c.Context(), data)
			}
			return a.dev(c.Context(), data, p)
		},
	}
	p.register(c.Flags())
	c.Flags().BoolVar(&stop, "stop", false, "stop the services that demo --keep, run --keep or another dev keeps running")
	return c
}

// dataDir is the absolute folder of the development stack.
func (a *app) dataDir() (string, error) {
	if a.flags.Data != "" {
		return filepath.Abs(a.flags.Data)
	}
	data, err := stack.DefaultDir()
	if err != nil {
		return "", fail(exitUsage, "%w", err)
	}
	return data, nil
}

// dev keeps the services in the foreground.
func (a *app) dev(ctx context.Context, data string, p ports) error {
	a.say("starting Temporal, its UI, the S3 store and a worker; data in %s", data)
	s, err := startServices(ctx, data, p, a.say)
	if errors.Is(err, errOther) {
		return fail(exitFailed, "services for %s are running already (process %s); stop them with: %s", data, lockHolder(data), a.command("dev --stop"))
	}
	if err != nil {
		return err
	}
	defer s.Stop()
	info, err := stack.Read(data)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.out, "ready: temporal %s · ui %s · s3 %s\n", info.Temporal, info.UI, info.S3)
	a.say("try in another terminal: %s", a.command("run examples/demo.yaml"))
	select {
	case <-ctx.Done():
		a.say("stopping")
		return nil
	case err := <-s.failed:
		return err
	}
}

// lockHolder is the pid of the starter that supervises a folder.
func lockHolder(data string) string {
	body, err := os.ReadFile(filepath.Join(data, "dev.lock")) //nolint:gosec // inside the person's own data folder
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(body))
}

// stopDev asks the supervising starter to stop and waits until it has.
func (a *app) stopDev(ctx context.Context, data string) error {
	file := filepath.Join(data, "dev.lock")
	if _, err := os.Stat(file); err != nil {
		return fail(exitNotFound, "no services run in %s", data)
	}
	lock, err := takeLock(file)
	if err == nil {
		return errors.Join(fail(exitNotFound, "no services run in %s", data), lock.Close())
	}
	if !errors.Is(err, errOther) {
		return err
	}
	pid, err := strconv.Atoi(lockHolder(data))
	if err != nil {
		return fmt.Errorf("read the supervisor's pid from %s: %w", file, err)
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop process %d: %w", pid, err)
	}
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	for {
		if lock, err := takeLock(file); err == nil {
			a.say("stopped")
			return lock.Close()
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("process %d has not stopped: %w", pid, ctx.Err())
		}
	}
}

// withServices runs f with services that are up. Those that it started stop
// afterwards, unless they are to be kept: then a `starter dev` of their own runs
// them in the background.
func (a *app) withServices(ctx context.Context, p ports, keep bool, f func(context.Context) error) error {
	data, err := a.dataDir()
	if err != nil {
		return err
	}
	a.flags.Data = data // the stack of this folder is meant, whatever the environment says
	if keep {
		if err := a.background(ctx, data, p); err != nil {
			return err
		}
	}
	s, err := startServices(ctx, data, p, a.say)
	switch {
	case errors.Is(err, errOther):
		a.say("using the services that run in %s", data)
	case err != nil:
		return err
	default:
		a.brief = true
		defer func() {
			s.Stop()
			a.say("services stopped")
		}()
	}
	a.reconnect()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if s != nil {
		go func() {
			select {
			case err := <-s.failed:
				cancel(err)
			case <-ctx.Done():
			}
		}()
	}
	err = f(ctx)
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}

// background starts a `starter dev` that outlives this program, and waits for
// its stack. One that runs already is left alone.
func (a *app) background(ctx context.Context, data string, p ports) error {
	if err := makeDataDir(data); err != nil {
		return err
	}
	lock, err := takeLock(filepath.Join(data, "dev.lock"))
	if errors.Is(err, errOther) {
		return nil
	}
	if err := errors.Join(err, lock.Close()); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(data, "logs", "dev.log"), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600) //nolint:gosec // the person's own folder
	if err != nil {
		return err
	}
	cmd := exec.Command(self, "dev", "--data", data, "--temporal-port", strconv.Itoa(p.temporal), //nolint:gosec // ourselves
		"--ui-port", strconv.Itoa(p.ui), "--s3-port", strconv.Itoa(p.s3))
	cmd.Stdout, cmd.Stderr = log, log
	ownSession(cmd)
	if err := errors.Join(cmd.Start(), log.Close()); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() {
		if err := cmd.Wait(); err != nil {
			ended <- fmt.Errorf("starter dev ended (%w):\n%s", err, tail(log.Name(), 8))
		}
	}()
	return waitStack(ctx, data, ended)
}
