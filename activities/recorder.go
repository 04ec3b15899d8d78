package activities

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"

	"floe/internal/artifact"
)

// Recorder keeps a log of every attempt of every step as a document of its
// experiment, and sends the end of it along with errors. Give it to a worker as
// an interceptor; the activities know nothing of it.
type Recorder struct {
	interceptor.WorkerInterceptorBase
	Steps  artifact.Steps
	Worker string // how this worker is called: process and host
}

// InterceptActivity implements interceptor.WorkerInterceptor.
func (r *Recorder) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	i := &recording{r: r}
	i.Next = next
	return i
}

type recording struct {
	interceptor.ActivityInboundInterceptorBase
	r *Recorder
}

type journalKey struct{}

func journalOf(ctx context.Context) *journal {
	j, _ := ctx.Value(journalKey{}).(*journal)
	return j
}

// Init implements interceptor.ActivityInboundInterceptor.
func (i *recording) Init(out interceptor.ActivityOutboundInterceptor) error {
	o := &telling{r: i.r}
	o.Next = out
	return i.Next.Init(o)
}

// ExecuteActivity implements interceptor.ActivityInboundInterceptor.
func (i *recording) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (out any, err error) {
	where, ok := whereOf(in.Args)
	if !ok {
		return i.Next.ExecuteActivity(ctx, in)
	}
	input, err := json.Marshal(in.Args[0])
	if err != nil {
		return nil, badInput(err)
	}
	j := newJournal(ctx, i.r.Steps, i.r.Worker, where, StepOf(activity.GetInfo(ctx).ActivityType.Name, input))
	defer func() {
		if p := recover(); p != nil {
			j.finish(ctx, nil, p)
			panic(p) // for the SDK, which makes it an error
		}
		j.finish(ctx, err, nil)
		err = withAttempt(err, j.attempted())
	}()
	return i.Next.ExecuteActivity(context.WithValue(ctx, journalKey{}, j), in)
}

// withAttempt sends along who made the attempt and how its log ended.
func withAttempt(err error, a Attempted) error {
	app, ok := err.(*temporal.ApplicationError) //nolint:errorlint // one that is wrapped has lost its kind already
	if !ok || app.HasDetails() {
		return err
	}
	return temporal.NewApplicationErrorWithOptions(app.Message(), app.Type(), temporal.ApplicationErrorOptions{
		NonRetryable: app.NonRetryable(), Cause: app.Unwrap(), NextRetryDelay: app.NextRetryDelay(),
		Category: app.Category(), Details: []any{a},
	})
}

// telling takes in what an activity says while it works.
type telling struct {
	interceptor.ActivityOutboundInterceptorBase
	r *Recorder
}

// RecordHeartbeat implements interceptor.ActivityOutboundInterceptor.
func (o *telling) RecordHeartbeat(ctx context.Context, details ...any) {
	j := journalOf(ctx)
	if j != nil && len(details) == 1 {
		if p, ok := details[0].(Progress); ok {
			j.progress(p)
			p.Attempt, p.Worker = j.doc.Attempt, o.r.Worker
			details = []any{p}
		}
	}
	o.Next.RecordHeartbeat(ctx, details...)
	if j != nil {
		j.renew(ctx)
	}
}

// GetLogger implements interceptor.ActivityOutboundInterceptor.
func (o *telling) GetLogger(ctx context.Context) log.Logger {
	logger := o.Next.GetLogger(ctx)
	if j := journalOf(ctx); j != nil {
		return &both{logger, j}
	}
	return logger
}

// both logs to the worker's log and to the attempt's.
type both struct {
	log.Logger
	j *journal
}

// Info implements log.Logger.
func (b *both) Info(msg string, keyvals ...any) {
	b.Logger.Info(msg, keyvals...)
	b.j.line("INFO", words(msg, keyvals))
}

// Warn implements log.Logger.
func (b *both) Warn(msg string, keyvals ...any) {
	b.Logger.Warn(msg, keyvals...)
	b.j.line("WARN", words(msg, keyvals))
}

// Error implements log.Logger.
func (b *both) Error(msg string, keyvals ...any) {
	b.Logger.Error(msg, keyvals...)
	b.j.line("ERROR", words(msg, keyvals))
}

func words(msg string, keyvals []any) string {
	var b strings.Builder
	b.WriteString(msg)
	for i := 0; i+1 < len(keyvals); i += 2 {
		fmt.Fprintf(&b, " %v=%v", keyvals[i], keyvals[i+1])
	}
	return b.String()
}
