package activities

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"

	"floe/internal/cleantext"
	"floe/internal/job"
)

// logged is a back end whose running attempts are followed: what they print goes to
// the log of the activity that watches them, and so to `starter logs --follow`.
type logged struct {
	job.Backend

	ctx context.Context //nolint:containedctx // of the activity: it bounds the following

	mu        sync.Mutex
	following map[string]bool
	ours      map[string]bool // attempts that were submitted through this
	wg        sync.WaitGroup
}

func follow(ctx context.Context, b job.Backend) *logged {
	return &logged{Backend: b, ctx: ctx, following: map[string]bool{}, ours: map[string]bool{}}
}

// Submit implements job.Backend. An attempt that ends before anybody looks at it is
// followed all the same: what it printed says why.
func (l *logged) Submit(ctx context.Context, r job.Request) (job.Status, error) {
	l.mu.Lock()
	l.ours[r.Name()] = true
	l.mu.Unlock()
	s, err := l.Backend.Submit(ctx, r)
	if err == nil {
		l.seen(s)
	}
	return s, err
}

// Status implements job.Backend.
func (l *logged) Status(ctx context.Context, name string) (job.Status, error) {
	s, err := l.Backend.Status(ctx, name)
	if err == nil {
		l.seen(s)
	}
	return s, err
}

// seen follows an attempt that runs, or has ended since it was submitted here: the
// logs of others that have ended were told by who watched them.
func (l *logged) seen(s job.Status) {
	l.mu.Lock()
	ours := l.ours[s.Name]
	l.mu.Unlock()
	if s.State == job.Running || ours && s.State.Final() {
		l.follow(s.Name)
	}
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

// tailWithin bounds the wait for the last lines of a job that has ended.
const tailWithin = 10 * time.Second

// tail waits until all that ended jobs have printed is told.
func (l *logged) tail() {
	all := make(chan struct{})
	go func() {
		l.wg.Wait()
		close(all)
	}()
	select {
	case <-all:
	case <-time.After(tailWithin):
	case <-l.ctx.Done():
	}
}

// wait returns when all that was followed has ended; its context has ended then.
func (l *logged) wait() { l.wg.Wait() }

// lines tells what is written to it line by line. A bar that draws itself anew, by a
// carriage return, is one line in its last state.
type lines struct {
	tell  func(string)
	rest  []byte
	drawn []byte // what the rest is drawn over
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
		if w.rest[i] == '\n' {
			w.line(w.rest[:i])
		} else if len(bytes.TrimSpace(w.rest[:i])) > 0 {
			w.drawn = bytes.Clone(w.rest[:i])
		}
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
	if len(bytes.TrimSpace(text)) == 0 {
		text = w.drawn
	}
	w.drawn = nil
	if s := strings.TrimSpace(cleantext.Text(string(text))); s != "" {
		w.tell(s)
	}
}
