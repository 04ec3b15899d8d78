package activities

import (
	"bytes"
	"context"
	"strings"
	"sync"

	"go.temporal.io/sdk/activity"

	"floe/internal/job"
)

// logged is a back end whose running attempts are followed: what they print goes to
// the log of the activity that watches them, and so to `starter logs --follow`.
type logged struct {
	job.Backend

	ctx context.Context //nolint:containedctx // of the activity: it bounds the following

	mu        sync.Mutex
	following map[string]bool
	wg        sync.WaitGroup
}

func follow(ctx context.Context, b job.Backend) *logged {
	return &logged{Backend: b, ctx: ctx, following: map[string]bool{}}
}

// Status implements job.Backend.
func (l *logged) Status(ctx context.Context, name string) (job.Status, error) {
	s, err := l.Backend.Status(ctx, name)
	if err == nil && s.State == job.Running {
		l.follow(name)
	}
	return s, err
}

func (l *logged) follow(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.following[name] || l.ctx.Err() != nil {
		return
	}
	l.following[name] = true
	l.wg.Go(func() {
		w := &lines{tell: func(line string) { activity.GetLogger(l.ctx).Info(line) }}
		if err := l.Logs(l.ctx, name, job.LogOptions{Follow: true}, w); err != nil && l.ctx.Err() == nil {
			activity.GetLogger(l.ctx).Warn("the log of a job is not followed any more", "job", name, "error", err)
		}
		w.flush()
	})
}

// wait returns when all that was followed has ended; its context has ended then.
func (l *logged) wait() { l.wg.Wait() }

// lines tells what is written to it line by line. Bars that draw themselves anew
// count as lines.
type lines struct {
	tell func(string)
	rest []byte
}

const longestLine = 4 << 10

// Write implements io.Writer.
func (w *lines) Write(p []byte) (int, error) {
	w.rest = append(w.rest, p...)
	for {
		i := bytes.IndexAny(w.rest, "\n\r")
		if i < 0 {
			break
		}
		w.line(w.rest[:i])
		w.rest = w.rest[i+1:]
	}
	if len(w.rest) > longestLine {
		w.flush()
	}
	return len(p), nil
}

func (w *lines) flush() {
	w.line(w.rest)
	w.rest = nil
}

func (w *lines) line(text []byte) {
	if s := strings.TrimSpace(string(bytes.ToValidUTF8(text, nil))); s != "" {
		w.tell(s)
	}
}
