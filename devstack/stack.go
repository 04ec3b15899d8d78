package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"sync"
	"time"

	uiserver "github.com/temporalio/ui-server/v2/server"
	"go.temporal.io/server/temporal"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/grpclog"
)

// serve runs the stack from the first check to the last file removed.
func serve(ctx context.Context, o options, stdout io.Writer, out *console) (err error) {
	started := time.Now()
	d, err := openDataDir(o.data)
	if err != nil {
		return err
	}
	lock, err := acquireLock(d, started)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	if err := removeState(d); err != nil { // left by a kill -9
		return err
	}
	p, err := choosePorts(o)
	if err != nil {
		return err
	}

	out.progress("starting in %s", d)
	k := &stack{out: out}
	defer k.stop()
	if err := k.start(ctx, o, d, p); err != nil {
		if ctx.Err() != nil {
			return nil // asked to stop before it was up
		}
		return err
	}
	if err := newState(o, d, p, started).write(d); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, removeState(d)) }()
	_, err = fmt.Fprintf(stdout, "devstack ready: temporal %s · ui http://%s · s3 http://%s · data %s\n",
		address(p.temporal), address(p.ui), address(p.s3), d)
	if err != nil {
		return fmt.Errorf("ready line: %w", err)
	}
	return k.wait(ctx)
}

// stack is what runs, or the part of it that has been started.
type stack struct {
	out      *console
	s3       *s3Server
	temporal temporal.Server
	ui       *uiserver.Server
	logs     []io.Closer
}

// start brings everything up. After an error, stop takes down what is up.
func (k *stack) start(ctx context.Context, o options, d dataDir, p ports) error {
	keys, err := loadCredentials(d.credentials(), k.out)
	if err != nil {
		return err
	}
	s3Log, err := k.openLog(d, "s3")
	if err != nil {
		return err
	}
	temporalLog, err := k.openLog(d, "temporal")
	if err != nil {
		return err
	}
	quietLibraries(temporalLog)

	// The two know nothing of each other, so they start side by side.
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		cfg := s3Config{Address: address(p.s3), Root: d.s3(), Access: keys.access, Secret: keys.secret}
		if k.s3, err = startS3(groupCtx, cfg, s3Log, k.out); err != nil {
			return err
		}
		return ensureBucket(groupCtx, "http://"+address(p.s3), o.bucket, keys)
	})
	group.Go(func() (err error) {
		if k.temporal, err = startTemporal(groupCtx, d, p, temporalLog, k.out); err != nil {
			return fmt.Errorf("temporal: %w; its log is %s", err, temporalLog.path())
		}
		return nil
	})
	if err := group.Wait(); err != nil {
		return err
	}
	k.ui, err = startUI(ctx, p)
	return err
}

// wait returns when ctx ends or the stack cannot go on.
func (k *stack) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		k.out.progress("stopping")
		return nil
	case <-k.s3.done:
		return k.s3.failure
	}
}

// stop takes down what is up, side by side, and returns when it is down.
func (k *stack) stop() {
	if k.ui != nil {
		k.ui.Stop()
	}
	var wait sync.WaitGroup
	if k.temporal != nil {
		wait.Go(func() { stopTemporal(k.temporal, k.out) })
	}
	if k.s3 != nil {
		wait.Go(k.s3.stop)
	}
	wait.Wait()
	for _, l := range k.logs {
		_ = l.Close()
	}
}

func (k *stack) openLog(d dataDir, name string) (*rollingLog, error) {
	l, err := openLog(d, name)
	if err != nil {
		return nil, err
	}
	k.logs = append(k.logs, l)
	return l, nil
}

// quietLibraries sends to a file what libraries write to the terminal on their
// own: gRPC when a connection goes away, and users of the standard logger.
func quietLibraries(w io.Writer) {
	log.SetOutput(w)
	grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, w))
}
