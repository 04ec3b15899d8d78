package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	workflowpb "go.temporal.io/api/workflow/v1"

	"floe/activities"
)

// Outcomes that only the server knows of.
const (
	outcomeRunning  = "running"
	outcomeWaiting  = "waits" // for a worker, or for its next attempt
	outcomeLost     = "lost"  // its worker fell silent
	outcomeTimedOut = "timed out"
)

// attempts gathers every attempt of every step, of all runs of an experiment:
// from the documents that attempts leave, from the histories, and from the
// server's list of what goes on now. A history keeps only the last attempt of a
// step, and a killed worker leaves a document without an end, so none of the
// three is enough.
func (a *app) attempts(ctx context.Context, name string) ([]activities.Attempt, error) {
	if err := a.known(ctx, name); err != nil {
		return nil, err
	}
	all, err := a.attemptDocs(ctx, name)
	if err != nil {
		return nil, err
	}
	runs, err := a.visible(ctx, fmt.Sprintf("FloeExperiment = '%s'", name))
	if err != nil {
		return nil, err
	}
	for _, r := range runs {
		told, err := a.attemptsOf(ctx, r)
		if err != nil {
			return nil, err
		}
		for _, t := range told {
			all = merge(all, t)
		}
	}
	slices.SortStableFunc(all, func(x, y activities.Attempt) int {
		return cmp.Or(cmp.Compare(x.Started, y.Started), cmp.Compare(x.Attempt, y.Attempt))
	})
	return settle(all), nil
}

// attemptDocs reads what attempts wrote about themselves.
func (a *app) attemptDocs(ctx context.Context, name string) ([]activities.Attempt, error) {
	docs, err := a.steps.ListDocs(ctx, name)
	if err != nil {
		return nil, err
	}
	var all []activities.Attempt
	for _, d := range docs {
		if !activities.IsAttempt(d) {
			continue
		}
		var one activities.Attempt
		if err := a.readDoc(ctx, name, d, &one); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// attemptsOf reads one run's history, and what of it goes on now.
func (a *app) attemptsOf(ctx context.Context, run *workflowpb.WorkflowExecutionInfo) ([]activities.Attempt, error) {
	id, runID := run.Execution.WorkflowId, run.Execution.RunId
	h := histories{round: roundFrom(run), workflow: id, run: runID, open: map[int64]*activities.Attempt{}, steps: map[string]string{}}
	events := a.temporal.GetWorkflowHistory(ctx, id, runID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		if err != nil {
			return nil, err
		}
		h.take(e)
	}
	if run.Status != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		return h.all, nil
	}
	d, err := describe(ctx, a.temporal, id)
	if err != nil {
		return nil, err
	}
	for _, p := range d.PendingActivities {
		h.all = append(h.all, pendingAttempt(h, p))
	}
	return h.all, nil
}

// roundFrom is the round that a run's steps belong to, as far as the run says.
func roundFrom(run *workflowpb.WorkflowExecutionInfo) int {
	if l := listedOf(run); l.Round != nil && strings.Contains(run.Execution.WorkflowId, "-round-") {
		return int(*l.Round)
	}
	return -1
}

func pendingAttempt(h histories, p *workflowpb.PendingActivityInfo) activities.Attempt {
	at := activities.Attempt{
		Step: h.steps[p.ActivityId], Round: h.round, Attempt: int(p.Attempt), Worker: p.LastWorkerIdentity,
		Workflow: h.workflow, Run: h.run, Activity: p.ActivityId, Outcome: outcomeWaiting,
	}
	if p.State != enumspb.PENDING_ACTIVITY_STATE_SCHEDULED {
		at.Outcome = outcomeRunning
	}
	switch {
	case p.LastStartedTime != nil && at.Outcome == outcomeRunning:
		at.Started = utc(p.LastStartedTime.AsTime())
	case p.ScheduledTime != nil:
		at.Started = utc(p.ScheduledTime.AsTime())
	}
	if f := p.LastFailure; f != nil {
		at.Error = "before: " + f.Message
	}
	return at
}

// histories reads the attempts out of one run's history.
type histories struct {
	round         int
	workflow, run string
	open          map[int64]*activities.Attempt // by the event that scheduled them
	steps         map[string]string             // by activity ID
	all           []activities.Attempt
}

func (h *histories) take(e *historypb.HistoryEvent) {
	at := utc(e.EventTime.AsTime())
	switch e.EventType {
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
		s := e.GetActivityTaskScheduledEventAttributes()
		var input []byte
		if p := s.Input.GetPayloads(); len(p) == 1 {
			input = p[0].GetData()
		}
		step := activities.StepOf(s.ActivityType.GetName(), input)
		h.steps[s.ActivityId] = step
		h.open[e.EventId] = &activities.Attempt{
			Step: step, Round: h.round, Workflow: h.workflow, Run: h.run, Activity: s.ActivityId,
		}
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_STARTED:
		s := e.GetActivityTaskStartedEventAttributes()
		if o := h.open[s.ScheduledEventId]; o != nil {
			o.Started, o.Attempt, o.Worker = at, int(s.Attempt), s.Identity
		}
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
		h.close(e.GetActivityTaskCompletedEventAttributes().ScheduledEventId, at, activities.OutcomeDone, "")
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_FAILED:
		s := e.GetActivityTaskFailedEventAttributes()
		h.close(s.ScheduledEventId, at, activities.OutcomeFailed, s.Failure.GetMessage())
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT:
		s := e.GetActivityTaskTimedOutEventAttributes()
		h.close(s.ScheduledEventId, at, outcomeTimedOut, s.Failure.GetMessage())
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCELED:
		h.close(e.GetActivityTaskCanceledEventAttributes().ScheduledEventId, at, activities.OutcomeCancelled, "")
	default: // nothing about attempts
	}
}

func (h *histories) close(scheduled int64, at, outcome, text string) {
	o := h.open[scheduled]
	if o == nil {
		return
	}
	o.Ended, o.Outcome, o.Error = at, outcome, text
	if o.Started == "" { // it ended before a worker took it
		o.Started = at
	}
	h.all = append(h.all, *o)
	delete(h.open, scheduled)
}

// merge adds what a history tells to what the attempt wrote itself, which knows
// more, unless it was killed.
func merge(all []activities.Attempt, told activities.Attempt) []activities.Attempt {
	for i, have := range all {
		if have.Run != told.Run || have.Activity != told.Activity || have.Attempt != told.Attempt {
			continue
		}
		if have.Outcome == "" {
			all[i].Outcome, all[i].Ended = told.Outcome, told.Ended
			all[i].Error = cmp.Or(have.Error, told.Error)
		}
		return all
	}
	return append(all, told)
}

// settle says of attempts that nobody tells the end of that they were lost: a
// later attempt was made, or nothing goes on.
func settle(all []activities.Attempt) []activities.Attempt {
	for i := range all {
		if all[i].Outcome == "" {
			all[i].Outcome = outcomeLost
		}
		if all[i].Log == nil {
			all[i].Log = []string{}
		}
	}
	return all
}

func (a *app) showAttempts(ctx context.Context, name string) error {
	all, err := a.attempts(ctx, name)
	if err != nil {
		return err
	}
	if a.output == "jsonl" {
		return emitLines(a.out, all)
	}
	return a.emit(all, func(w io.Writer) error {
		var lines [][]string
		for _, at := range all {
			round := fmt.Sprint(at.Round)
			if at.Round < 0 {
				round = "-"
			}
			lines = append(lines, []string{
				local(at.Started), round, at.Step, fmt.Sprint(at.Attempt), at.Outcome, took(at), at.Worker, cut(firstLine(at.Error), errorColumns),
			})
		}
		return rows(w, []string{"STARTED", "ROUND", "STEP", "ATTEMPT", "OUTCOME", "TOOK", "WORKER", "ERROR"}, lines)
	})
}

const errorColumns = 100

func took(at activities.Attempt) string {
	from, err := time.Parse(time.RFC3339, at.Started)
	to, err2 := time.Parse(time.RFC3339, at.Ended)
	if err != nil || err2 != nil {
		return "-"
	}
	return to.Sub(from).Round(100 * time.Millisecond).String()
}
