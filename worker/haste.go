package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"
)

// Variables for tests alone: tests that kill and stop workers shorten the waits
// for them. An experiment that runs with short waits on a busy machine loses
// attempts for nothing.
const (
	envHeartbeat = "FLOE_TEST_HEARTBEAT" // how long a silent worker is believed to be alive
	envLease     = "FLOE_TEST_LEASE"     // how long a step stays with an attempt that does not renew its lease
	envJobPoll   = "FLOE_TEST_JOB_POLL"  // between two looks at a training elsewhere; the pause before another attempt grows from it
)

// haste are the waits that a test has shortened; zero leaves one as it is.
type haste struct {
	interceptor.WorkerInterceptorBase

	heartbeat time.Duration
	lease     time.Duration
	jobPoll   time.Duration
}

// readHaste reads the variables.
func readHaste() (*haste, error) {
	var h haste
	err := errors.Join(
		readWait(envHeartbeat, time.Second, &h.heartbeat),
		readWait(envLease, time.Second, &h.lease),
		readWait(envJobPoll, time.Millisecond, &h.jobPoll),
	)
	return &h, err
}

func readWait(name string, least time.Duration, d *time.Duration) (err error) {
	text := os.Getenv(name)
	if text == "" {
		return nil
	}
	if *d, err = time.ParseDuration(text); err != nil || *d < least {
		return fmt.Errorf("%s is %q; want a duration of at least %s, as 4s", name, text, least)
	}
	return nil
}

// interceptors shorten the heartbeat timeout of activities. That one is no part of
// what a replay compares.
func (h *haste) interceptors() []interceptor.WorkerInterceptor {
	if h.heartbeat == 0 {
		return nil
	}
	return []interceptor.WorkerInterceptor{h}
}

// InterceptWorkflow implements interceptor.WorkerInterceptor.
func (h *haste) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	return &hasteIn{interceptor.WorkflowInboundInterceptorBase{Next: next}, h.heartbeat}
}

type hasteIn struct {
	interceptor.WorkflowInboundInterceptorBase

	heartbeat time.Duration
}

// Init implements interceptor.WorkflowInboundInterceptor.
func (i *hasteIn) Init(out interceptor.WorkflowOutboundInterceptor) error {
	return i.Next.Init(&hasteOut{interceptor.WorkflowOutboundInterceptorBase{Next: out}, i.heartbeat})
}

type hasteOut struct {
	interceptor.WorkflowOutboundInterceptorBase

	heartbeat time.Duration
}

// ExecuteActivity implements interceptor.WorkflowOutboundInterceptor.
func (o *hasteOut) ExecuteActivity(ctx workflow.Context, activity string, args ...any) workflow.Future {
	if workflow.GetActivityOptions(ctx).HeartbeatTimeout > 0 {
		ctx = workflow.WithHeartbeatTimeout(ctx, o.heartbeat)
	}
	return o.Next.ExecuteActivity(ctx, activity, args...)
}
