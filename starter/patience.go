package main

import (
	"context"
	"errors"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"floe/internal/connect"
)

// patiently makes a connection. Where it leads to the services of the data folder,
// a starter supervises them, and they cannot be reached, they are being started, for
// the first time or again: then it waits for them, at most readyWithin. Other
// servers are not waited for.
func (a *app) patiently(ctx context.Context, local func(connect.Settings) bool, dial func(connect.Settings) error) error {
	deadline := time.Now().Add(readyWithin)
	for said := false; ; said = true {
		data, err := a.attempt(local, dial)
		if codeOf(ctx, err) != exitUnreachable || !supervised(data) || time.Now().After(deadline) {
			return err
		}
		if !said {
			a.say("waiting for the services in %s to start", data)
		}
		select {
		case <-time.After(250 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// attempt settles the connection settings and dials once; data is the folder whose
// services were meant, if any. The settings are kept only where that worked:
// services that start again may have other addresses.
func (a *app) attempt(local func(connect.Settings) bool, dial func(connect.Settings) error) (data string, err error) {
	s, err := connect.Resolve(a.flags)
	if down, ok := errors.AsType[*connect.NoStackError](err); ok {
		return down.Data, err
	}
	if err == nil {
		err = dial(s)
	}
	if err == nil {
		a.settings = &s
	}
	if !local(s) {
		return "", err
	}
	return s.Data, err
}

// supervised says whether a starter keeps a folder's services running. It looks
// at the lock only where its holder seems to live: a look must not get in the way
// of a supervisor that is just coming up.
func supervised(data string) bool {
	if data == "" {
		return false
	}
	pid, err := strconv.Atoi(lockHolder(data))
	if err != nil || syscall.Kill(pid, 0) != nil {
		return false
	}
	lock, err := takeLock(filepath.Join(data, "dev.lock"))
	if err == nil {
		return lock.Close() != nil // nobody held it
	}
	return errors.Is(err, errOther)
}
