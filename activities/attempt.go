package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"floe/internal/artifact"
	"floe/internal/experiment"
)

// Attempted travels with the error of an attempt, so that whoever reads of the
// failure need not look for the worker's log.
type Attempted struct {
	Attempt int      `json:"attempt"`
	Worker  string   `json:"worker"`
	Log     []string `json:"log,omitempty"` // its end
	// Damaged is the step that is not what its manifest says, in a failure of KindCorrupt.
	Damaged *experiment.StepID `json:"damaged,omitempty"`
}

// Attempt is the document that each attempt of each step leaves: what it did and
// how it ended. One that a killed worker made has no end.
type Attempt struct {
	Step     string `json:"step"`
	Round    int    `json:"round"` // -1 before the first, the number of rounds for the benchmarks
	Attempt  int    `json:"attempt"`
	Worker   string `json:"worker"`
	Workflow string `json:"workflow"`
	Run      string `json:"run"`
	Activity string `json:"activity"` // its ID in that run
	Started  string `json:"started"`  // UTC
	Ended    string `json:"ended,omitempty"`
	Outcome  string `json:"outcome,omitempty"` // one of the Outcomes; empty without an end
	Kind     string `json:"kind,omitempty"`    // of the error
	Error    string `json:"error,omitempty"`
	// Log has lines that begin with their time in UTC. Of a long one it has the beginning
	// and the end; in between, after LeftAfter lines, Left are left out.
	Log       []string `json:"log"`
	Left      int      `json:"left_out,omitempty"`
	LeftAfter int      `json:"left_out_after,omitempty"`
	// Whole names the documents of the whole log, of which there are Parts. None: Log is all.
	Whole string `json:"whole,omitempty"`
	Parts int    `json:"parts,omitempty"`
}

// Outcomes of an attempt.
const (
	OutcomeDone      = "done"
	OutcomeFailed    = "failed"
	OutcomeCancelled = "cancelled"
	OutcomePanicked  = "panicked"
)

const attemptPrefix = "attempt-"

// IsAttempt says whether a document of an experiment is an Attempt.
func IsAttempt(doc string) bool { return strings.HasPrefix(doc, attemptPrefix) }

// Bounds of an attempt's log.
const (
	logHead  = 200             // lines kept of the beginning
	logKept  = 1000            // lines kept in all
	logTail  = 5               // lines that travel with an error
	logWidth = 400             // runes of a line
	logEvery = 2 * time.Second // least time between two writings of the document
	logWait  = 10 * time.Second
)

// journal is an attempt under way.
type journal struct {
	steps artifact.Steps
	name  string // of the experiment
	file  string

	mu      sync.Mutex
	doc     Attempt
	whole   wholeLog
	last    Progress
	written time.Time
	changed bool
	writing sync.Mutex // held by whoever writes the document
}

func newJournal(ctx context.Context, steps artifact.Steps, worker string, where Where, step string) *journal {
	info, now := activity.GetInfo(ctx), time.Now()
	j := &journal{steps: steps, name: where.Name, written: now, doc: Attempt{
		Step: step, Round: where.Round, Attempt: int(info.Attempt), Worker: worker,
		Workflow: info.WorkflowExecution.ID, Run: info.WorkflowExecution.RunID, Activity: info.ActivityID, Started: stamp(now),
	}}
	j.file = fmt.Sprintf("%s%s-%s-%s-a%d.json", attemptPrefix, now.UTC().Format("20060102T150405.000Z"),
		strings.ReplaceAll(step, " ", "-"), info.WorkflowExecution.RunID[:min(8, len(info.WorkflowExecution.RunID))], info.Attempt)
	j.whole.file = partPrefix + strings.TrimSuffix(strings.TrimPrefix(j.file, attemptPrefix), ".json")
	j.line("INFO", fmt.Sprintf("attempt %d begins on worker %s", info.Attempt, worker))
	return j
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// line adds a line to the log. The document of a long log lacks its middle, and the
// ends of long lines; what is whole then is kept beside it.
func (j *journal) line(level, text string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	begin := stamp(time.Now()) + " " + level + " "
	text = strings.Join(strings.Fields(text), " ")
	j.whole.add(begin + text)
	if r := []rune(text); len(r) > logWidth {
		text = string(r[:logWidth-1]) + "…"
		j.whole.needed = true
	}
	if len(j.doc.Log) == logKept {
		j.doc.Log = slices.Delete(j.doc.Log, logHead, logHead+1)
		j.doc.Left, j.doc.LeftAfter = j.doc.Left+1, logHead
		j.whole.needed = true
	}
	j.doc.Log = append(j.doc.Log, begin+text)
	j.changed = true
}

// progress logs what is new: another tenth of the work, or other words where the
// amount of work is not known.
func (j *journal) progress(p Progress) {
	j.mu.Lock()
	before := j.last
	tenth := func(p Progress) int { return 10 * p.Done / max(1, p.Total) }
	news := p.Total > 0 && tenth(p) != tenth(before) || p.Total <= 1 && p.Note != before.Note
	if news {
		j.last = p
	}
	j.mu.Unlock()
	if news {
		j.line("INFO", fmt.Sprintf("%d of %d %s", p.Done, p.Total, p.Note))
	}
}

// attempted is what travels with an error.
func (j *journal) attempted() Attempted {
	j.mu.Lock()
	defer j.mu.Unlock()
	log := slices.Clone(j.doc.Log[max(0, len(j.doc.Log)-logTail):])
	return Attempted{Attempt: j.doc.Attempt, Worker: j.doc.Worker, Log: log}
}

// finish notes how the attempt ended and writes the document a last time.
func (j *journal) finish(ctx context.Context, err error, panicked any) {
	outcome, kind, text := outcomeOf(err, panicked)
	if text != "" {
		j.line("ERROR", text)
	} else {
		j.line("INFO", outcome)
	}
	j.mu.Lock()
	j.doc.Ended, j.doc.Outcome, j.doc.Kind, j.doc.Error = stamp(time.Now()), outcome, kind, text
	j.mu.Unlock()
	// The attempt's own context may have ended: that is what is to be told.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), logWait)
	defer cancel()
	j.writing.Lock()
	defer j.writing.Unlock()
	j.write(ctx)
}

func outcomeOf(err error, panicked any) (outcome, kind, text string) {
	var app *temporal.ApplicationError
	switch {
	case panicked != nil:
		return OutcomePanicked, "Panic", fmt.Sprint(panicked)
	case err == nil:
		return OutcomeDone, "", ""
	case temporal.IsCanceledError(err):
		return OutcomeCancelled, "", "cancelled"
	case errors.As(err, &app):
		return OutcomeFailed, app.Type(), app.Message()
	default:
		return OutcomeFailed, KindTrouble, err.Error()
	}
}

// renew writes the document now and then while the attempt goes on. It does not
// wait for the store: a heartbeat must not.
func (j *journal) renew(ctx context.Context) {
	j.mu.Lock()
	due := j.changed && time.Since(j.written) > logEvery
	if due {
		j.written = time.Now()
	}
	j.mu.Unlock()
	if !due || !j.writing.TryLock() {
		return
	}
	go func() {
		defer j.writing.Unlock()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), logWait)
		defer cancel()
		j.write(ctx)
	}()
}

// write stores the parts of the whole log that have grown, and then the document. A log
// that cannot be written costs the log, not the work. Only one may write at a time.
func (j *journal) write(ctx context.Context) {
	if err := errors.Join(j.writeWhole(ctx), j.writeDoc(ctx)); err != nil {
		activity.GetLogger(ctx).Debug("the log of an attempt was not written", "file", j.file, "error", err)
	}
}

func (j *journal) writeWhole(ctx context.Context) error {
	j.mu.Lock()
	files, texts := j.whole.due()
	j.whole.changed = false
	j.mu.Unlock()
	for i, text := range texts {
		body, err := pack(text)
		if err == nil {
			err = j.steps.PutDoc(ctx, j.name, files[i], body)
		}
		j.mu.Lock()
		if err != nil {
			j.whole.changed = true
			j.mu.Unlock()
			return err
		}
		j.doc.Whole, j.doc.Parts = j.whole.file, max(j.doc.Parts, j.whole.first+i+1)
		j.mu.Unlock()
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.whole.written(len(files))
	return nil
}

func (j *journal) writeDoc(ctx context.Context) error {
	j.mu.Lock()
	body, err := json.MarshalIndent(j.doc, "", "  ")
	j.changed = false
	j.mu.Unlock()
	if err != nil {
		return err
	}
	return j.steps.PutDoc(ctx, j.name, j.file, append(body, '\n'))
}

// whereOf finds for which experiment an activity works: every input says so in
// a field Where.
func whereOf(args []any) (Where, bool) {
	if len(args) != 1 {
		return Where{}, false
	}
	v := reflect.Indirect(reflect.ValueOf(args[0]))
	if v.Kind() != reflect.Struct {
		return Where{}, false
	}
	f := v.FieldByName("Where")
	if !f.IsValid() {
		return Where{}, false
	}
	w, ok := reflect.TypeAssert[Where](f)
	return w, ok && w.Name != ""
}

// StepOf names an activity as people know the step. Input is the activity's input
// as JSON; without it the name says less.
func StepOf(activityType string, input []byte) string {
	var in struct {
		Agents     int
		Label, Set string
	}
	_ = json.Unmarshal(input, &in) // encrypted inputs say nothing
	switch activityType {
	case "WarmStart":
		return "untrained policy"
	case "StopTraining":
		return "stop the training"
	case "GenerateValidation":
		return "validation set"
	case "GenerateBenchmark":
		if in.Agents == 0 {
			return "benchmark set"
		}
		return fmt.Sprintf("benchmark-%d set", in.Agents)
	case "Evaluate":
		if in.Set == "" || in.Set == "validation" {
			return "validate"
		}
		return in.Set + " " + in.Label
	}
	return strings.ToLower(activityType)
}
