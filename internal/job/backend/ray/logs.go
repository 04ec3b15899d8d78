package ray

import (
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"golang.org/x/net/websocket"

	"floe/internal/job"
	"floe/internal/job/backend/internal/attempt"
	"floe/internal/pause"
)

const againAfter = time.Second // a stream that ended before the job did

// Logs implements job.Backend. Ray streams a log from its start; what was
// written already is passed over, also after the stream broke.
func (b *Backend) Logs(ctx context.Context, name string, o job.LogOptions, w io.Writer) error {
	at := o.From
	for o.Follow {
		s, err := b.Status(ctx, name)
		if err != nil {
			return err
		}
		if s.State.Final() {
			break
		}
		if s.State == job.Running {
			out := &attempt.Tail{W: w, Skip: at}
			b.stream(ctx, name, out)
			if at += out.Wrote; out.Err != nil {
				return out.Err
			}
		}
		if err := pause.For(ctx, againAfter); err != nil {
			return err
		}
	}
	return b.rest(ctx, name, at, w)
}

// rest writes all that is there from a byte on.
func (b *Backend) rest(ctx context.Context, name string, from int64, w io.Writer) error {
	if _, err := b.get(ctx, name); err != nil {
		return err
	}
	var all struct {
		Logs string `json:"logs"`
	}
	if err := b.call(ctx, http.MethodGet, "/api/jobs/"+name+"/logs", nil, &all); err != nil {
		return err
	}
	out := &attempt.Tail{W: w, Skip: from}
	_, err := io.WriteString(out, all.Logs)
	return err
}

// stream copies the log until the job has ended, the connection breaks or the
// context ends; the caller finds out which.
func (b *Backend) stream(ctx context.Context, name string, w io.Writer) {
	address := "ws" + strings.TrimPrefix(b.settings.Address, "http") + "/api/jobs/" + name + "/logs/tail"
	config, err := websocket.NewConfig(address, b.settings.Address)
	if err != nil {
		return
	}
	config.Header = b.header()
	conn, err := config.DialContext(ctx)
	if err != nil {
		return
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })() // which ends the copy
	_, _ = io.Copy(w, conn)
	_ = conn.Close() // it was only read
}
