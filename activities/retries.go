package activities

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"

	"floe/internal/artifact"
	"floe/internal/experiment"
	"floe/internal/outage"
	"floe/internal/retry"
)

// Retries is an interceptor that decides which attempt of an activity is its last
// (ADR 15). Retry policies have no bound of their own: Temporal counts workers that were
// stopped and services that were away like failures of the work. The count travels
// from attempt to attempt in heartbeats. Put it before the Recorder.
type Retries struct {
	interceptor.WorkerInterceptorBase
	// Tell passes on to an experiment's workflow that a service is waited for.
	Tell func(ctx context.Context, workflow string, p Progress) error
}

const (
	// What bounds an experiment whose spec is older than the limits.
	defaultAttempts = 5
	defaultOutage   = 24 * time.Hour
	// What bounds lost attempts of all work.
	lostMost  = 15
	lostFor   = 30 * time.Minute
	stopPause = time.Second // before another worker takes over
	toldAfter = 2           // misses in a row after which the experiment says that it waits
)

// InterceptActivity implements interceptor.WorkerInterceptor.
func (r *Retries) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	i := &retrying{r: r}
	i.Next = next
	return i
}

type retrying struct {
	interceptor.ActivityInboundInterceptorBase
	r *Retries
}

// Init implements interceptor.ActivityInboundInterceptor.
func (i *retrying) Init(out interceptor.ActivityOutboundInterceptor) error {
	o := &counting{}
	o.Next = out
	return i.Next.Init(o)
}

// ExecuteActivity implements interceptor.ActivityInboundInterceptor.
func (i *retrying) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	c := newCount(ctx, i.r, in.Args)
	ctx = context.WithValue(ctx, countKey{}, c)
	if why := c.tally.Exhausted(time.Now(), c.limits); why != "" {
		return nil, c.last(KindTimeout, errors.New(why))
	}
	activity.RecordHeartbeat(ctx, c.progress)
	defer func() {
		if p := recover(); p != nil { // else the attempt would count as lost
			c.fail()
			activity.RecordHeartbeat(ctx, c.progress)
			panic(p) // for the SDK, which makes it an error
		}
	}()
	out, err := i.Next.ExecuteActivity(ctx, in)
	return out, c.end(ctx, err)
}

// counting sends the count along with every heartbeat.
type counting struct {
	interceptor.ActivityOutboundInterceptorBase
}

// RecordHeartbeat implements interceptor.ActivityOutboundInterceptor.
func (o *counting) RecordHeartbeat(ctx context.Context, details ...any) {
	if c := countOf(ctx); c != nil && len(details) == 1 {
		if p, ok := details[0].(Progress); ok {
			details = []any{c.stamp(p)}
		}
	}
	o.Next.RecordHeartbeat(ctx, details...)
}

type countKey struct{}

func countOf(ctx context.Context) *count {
	c, _ := ctx.Value(countKey{}).(*count)
	return c
}

// kept says that work up to n outlives this attempt: a checkpoint, answers, steps of
// a job. The next failure is then the first again.
func kept(ctx context.Context, n int) {
	if c := countOf(ctx); c != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.tally.Keep(n)
	}
}

// stillAway says whether the service that an attempt waits for has yet to answer.
func stillAway(ctx context.Context, p Progress) bool {
	c := countOf(ctx)
	if c == nil || p.Done > 0 {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tally.Outage != nil
}

// count is what the attempts at one activity have come to, while one is under way.
type count struct {
	r      *Retries
	limits retry.Limits
	where  Where

	mu       sync.Mutex
	tally    retry.Tally
	progress Progress // the last one sent
}

func newCount(ctx context.Context, r *Retries, args []any) *count {
	info := activity.GetInfo(ctx)
	where, _ := whereOf(args)
	c := &count{r: r, where: where, limits: limitsOf(args, info)}
	if activity.HasHeartbeatDetails(ctx) {
		// Details of another form say nothing; then nothing was counted.
		_ = activity.GetHeartbeatDetails(ctx, &c.progress)
	}
	before := c.progress.Tally
	c.tally = retry.Begin(before, int(info.Attempt), time.Now(), c.limits)
	c.progress = Progress{Round: where.Round}
	if len(args) == 1 {
		if input, err := json.Marshal(args[0]); err == nil {
			c.progress.Step = StepOf(info.ActivityType.Name, input)
		}
	}
	return c
}

// limitsOf finds the bounds in an activity's input: the limits of its Spec. Work without
// one is a sweep's bookkeeping, which goes on however long a store or a server is away.
func limitsOf(args []any, info activity.Info) retry.Limits {
	l := retry.Limits{Step: info.StartToCloseTimeout, Lost: lostMost, LostFor: lostFor}
	if len(args) != 1 {
		return l
	}
	v := reflect.Indirect(reflect.ValueOf(args[0]))
	if v.Kind() != reflect.Struct {
		return l
	}
	if f := v.FieldByName("Spec"); f.IsValid() {
		if s, ok := reflect.TypeAssert[experiment.Spec](f); ok {
			l.Attempts = cmp.Or(s.Limits.Attempts, defaultAttempts)
			l.Outage = cmp.Or(time.Duration(s.Limits.OutageMinutes)*time.Minute, defaultOutage)
		}
	}
	return l
}

// stamp adds the count to progress that is sent.
func (c *count) stamp(p Progress) Progress {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.tally.Ended {
		c.tally.Seen = time.Now()
	}
	t := c.tally
	p.Tally = &t
	c.progress = p
	return p
}

// end counts how an attempt ended, and says what comes after it.
func (c *count) end(ctx context.Context, err error) error {
	waited := c.outage()
	next := c.counted(err)
	now := c.outage()
	switch {
	case err == nil:
		now = nil
	case !temporal.IsCanceledError(err):
		activity.RecordHeartbeat(ctx, c.progress) // so that the next attempt knows
	}
	c.tell(ctx, waited, now)
	return next
}

func (c *count) outage() *retry.Outage {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tally.Outage == nil {
		return nil
	}
	o := *c.tally.Outage
	return &o
}

// counted adds an attempt up and makes of its error what the server needs to know.
func (c *count) counted(err error) error {
	if err == nil || temporal.IsCanceledError(err) {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	var app *temporal.ApplicationError
	errors.As(err, &app)
	if app != nil && app.Type() == KindStopping {
		c.tally.Stop(now)
		return again(app, stopPause)
	}
	if o, away := outage.As(err); away && (app == nil || !app.NonRetryable()) {
		pause, over := c.tally.Miss(o.Service, reasonOf(o), o.After, now, c.limits)
		if over {
			return c.last(KindOutage, &outage.Error{Service: o.Service, Err: errors.New(reasonOf(o) + "; it was waited for since " + c.tally.Outage.Since.UTC().Format("2006-01-02 15:04 UTC"))})
		}
		return again(appOf(err, KindOutage), pause)
	}
	c.tally.Fail(now)
	if why := c.tally.Exhausted(now, c.limits); why != "" || app != nil && app.NonRetryable() {
		return c.last(kindOf(app), err)
	}
	return err
}

func (c *count) fail() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tally.Fail(time.Now())
}

// reasonOf is why a service did not answer, without naming it again.
func reasonOf(o *outage.Error) string {
	if o.Reason == "" && o.Err != nil {
		return o.Err.Error()
	}
	return cmp.Or(o.Reason, "no answer")
}

func kindOf(app *temporal.ApplicationError) string {
	if app == nil {
		return KindTrouble
	}
	return app.Type()
}

func appOf(err error, kind string) *temporal.ApplicationError {
	var app *temporal.ApplicationError
	if !errors.As(err, &app) {
		errors.As(temporal.NewApplicationError(err.Error(), kind), &app)
	}
	return app
}

// again has the server start another attempt after a pause.
func again(app *temporal.ApplicationError, pause time.Duration) error {
	return temporal.NewApplicationErrorWithOptions(app.Message(), app.Type(), temporal.ApplicationErrorOptions{
		Category: app.Category(), NextRetryDelay: pause, Details: detailsOf(app),
	})
}

// last ends the attempts, and says after how many without progress.
func (c *count) last(kind string, err error) error {
	app := appOf(err, kind)
	var told Attempted
	if app.HasDetails() && app.Details(&told) != nil {
		return app // details of another form are not touched
	}
	told.Attempt = c.tally.Failed
	if corrupt, ok := errors.AsType[*artifact.CorruptError](err); ok {
		if id, ok := corrupt.Step(); ok {
			told.Damaged = &id
		}
	}
	message := app.Message()
	if !errors.As(err, new(*temporal.ApplicationError)) {
		message = err.Error()
	}
	return temporal.NewApplicationErrorWithOptions(message, kind, temporal.ApplicationErrorOptions{
		NonRetryable: true, Cause: app.Unwrap(), Category: app.Category(), Details: []any{told},
	})
}

func detailsOf(app *temporal.ApplicationError) []any {
	var told Attempted
	if app.HasDetails() && app.Details(&told) == nil {
		return []any{told}
	}
	return nil
}

// tell has the experiment say that it waits for a service, or no longer does. A blip
// of a second is not told, nor is each further attempt of one outage.
func (c *count) tell(ctx context.Context, before, now *retry.Outage) {
	begins := now != nil && (now.Asked == toldAfter || now.Asked > toldAfter && before != nil && before.Service != now.Service)
	ends := now == nil && before != nil && before.Asked >= toldAfter
	if c.r.Tell == nil || c.where.Workflow == "" || !begins && !ends {
		return
	}
	p := c.progress
	p.Tally, p.Note, p.Outage = nil, "", now
	if err := c.r.Tell(ctx, c.where.Workflow, p); err != nil {
		activity.GetLogger(ctx).Warn("the experiment does not know what its step waits for", "error", err)
	}
}
