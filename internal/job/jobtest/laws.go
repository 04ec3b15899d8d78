package jobtest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"floe/internal/job"
)

func contextWithin(d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), d)
}

func (s *suite) checkPasses() {
	if err := s.Check(s.Context()); err != nil {
		s.Fatal(err)
	}
}

func (s *suite) aJobRunsToItsEnd() {
	t := s.task("")
	s.submit(t)
	st := s.end(t)
	s.wantExit(st, job.ExitDone)
	if st.Where == "" || st.Started.IsZero() || st.Ended.Before(st.Started) {
		s.Errorf("got %+v; want to be told where it ran, and from when to when", st)
	}
	v := s.judge(t, st)
	if v.Outcome != job.Success || v.Result == nil || v.Result.StepsDone != steps || v.Manifest == nil {
		s.Errorf("judged %+v; want a success of %d steps", v, steps)
	}
	m, err := job.ReadMetrics(t.files())
	if err != nil || len(m) != steps {
		s.Errorf("read %d metrics, %v; want %d", len(m), err, steps)
	}
}

// odd is text that shells, templates and encoders like to spoil.
var odd = []string{"two words", `"double" 'single'`, "$HOME `id` $(id)", "a\\b", "*?[x]", "line\nline", "", "ünï", "-n", "{name} %s %%", "#", "~", "tab\there"}

func (s *suite) argumentsArrive() {
	t := s.task("", odd...)
	t.Env = []job.Var{{Name: "ODD_ONE", Value: odd[0] + odd[1] + odd[2]}, {Name: "ODD_TWO", Value: odd[5] + ",x=" + odd[3]}, {Name: "EMPTY", Value: ""}}
	s.submit(t)
	s.wantExit(s.end(t), job.ExitDone)
	var args, env []string
	s.mustRead(t, "args.json", &args)
	s.mustRead(t, "env.json", &env)
	if !slices.Equal(args, odd) {
		s.Errorf("the job got the arguments %q; want %q", args, odd)
	}
	for _, v := range t.Environ() {
		if !slices.Contains(env, v.Name+"="+v.Value) {
			s.Errorf("the job has no variable %s=%q", v.Name, v.Value)
		}
	}
}

func (s *suite) mustRead(t task, name string, into any) {
	s.Helper()
	body, err := os.ReadFile(filepath.Join(t.Dir, name)) //nolint:gosec // a folder of the suite
	if err == nil {
		err = json.Unmarshal(body, into)
	}
	if err != nil {
		s.Fatal(err)
	}
}

func (s *suite) manySubmissionsAreOneJob() {
	t := s.task("hold")
	const submitters = 5
	var wg sync.WaitGroup
	errs := make([]error, submitters)
	for i := range submitters {
		b := s.Open(s.T)
		wg.Go(func() { _, errs[i] = b.Submit(s.Context(), t.Request) })
	}
	wg.Wait()
	s.Cleanup(func() { s.tidy(t) })
	if err := errors.Join(errs...); err != nil {
		s.Fatal(err)
	}
	s.training(t)
	s.submit(t)
	s.letGo(t)
	s.end(t)
	if st := s.submit(t); st.State != job.Ended {
		s.Errorf("submitted again after its end it is %s; want the ended one", st)
	}
	if starts := s.lines(t, "starts"); len(starts) != 1 {
		s.Errorf("it was started %d times: %q; want once", len(starts), starts)
	}
}

// letGo lets a job that holds run to its end.
func (s *suite) letGo(t task) {
	s.Helper()
	if err := t.files().Put(s.Context(), "go", nil); err != nil {
		s.Fatal(err)
	}
}

func (s *suite) anotherSpecIsRefused() {
	t := s.task("hold")
	s.submit(t)
	other := s.task("").Request
	other.Job = t.Job
	refused := func(when string) {
		s.Helper()
		_, err := s.Submit(s.Context(), other)
		if c, ok := errors.AsType[*job.ConflictError](err); !ok || c.Found != t.SpecSHA256 || c.Want != other.SpecSHA256 {
			s.Errorf("%s: got %v; want a conflict of the two specs", when, err)
		}
	}
	s.training(t)
	refused("while it runs")
	s.letGo(t)
	s.end(t)
	refused("after its end")
	s.wantOutcome(t, s.status(t), job.Success)
}

func (s *suite) aBadRequestIsRefused() {
	for _, spoil := range []func(*job.Request){
		func(r *job.Request) { r.Job = "../elsewhere" },
		func(r *job.Request) { r.Command = nil },
		func(r *job.Request) { r.Attempt = 0 },
		func(r *job.Request) { r.Env = []job.Var{{Name: "FLOE_ATTEMPT", Value: "7"}} },
	} {
		t := s.task("")
		spoil(&t.Request)
		if st, err := s.Submit(s.Context(), t.Request); err == nil {
			s.Errorf("%+v was submitted: %s; want it to be refused", t.Request, st)
		}
	}
}

func (s *suite) whatNobodySubmittedIsUnknown() {
	name := s.task("").Name()
	if st, err := s.Status(s.Context(), name); !errors.Is(err, job.ErrUnknown) {
		s.Errorf("status is %s, %v; want ErrUnknown", st, err)
	}
	if err := s.Logs(s.Context(), name, job.LogOptions{Follow: true}, io.Discard); !errors.Is(err, job.ErrUnknown) {
		s.Errorf("logs: %v; want ErrUnknown", err)
	}
	if err := s.Stop(s.Context(), name, time.Minute); err != nil {
		s.Errorf("stop: %v; want no error", err)
	}
}

func (s *suite) exitCodesComeThrough() {
	cases := []struct {
		code int
		want job.Outcome
	}{
		{1, job.Failed},
		{job.ExitBadData, job.Hopeless},
		{job.ExitBusy, job.Busy},
		{job.ExitInternal, job.Failed},
		{job.ExitStopped, job.Interrupted},
		{job.ExitBadSpec, job.Hopeless},
		{255, job.Failed},
	}
	tasks := make([]task, len(cases))
	for i, c := range cases {
		tasks[i] = s.task("exit:" + strconv.Itoa(c.code))
		s.submit(tasks[i])
	}
	for i, c := range cases {
		st := s.end(tasks[i])
		s.wantExit(st, c.code)
		s.wantOutcome(tasks[i], st, c.want)
	}
}

func (s *suite) aKilledProgram() {
	t := s.task("kill")
	s.submit(t)
	st := s.end(t)
	s.wantExit(st, job.ExitKilled)
	s.wantOutcome(t, st, job.Interrupted)
}

func (s *suite) aCommandThatIsNotThere() {
	t := s.task("")
	t.Command = []string{filepath.Join(s.Dir, "no-such-program")}
	if _, err := s.Submit(s.Context(), t.Request); err != nil {
		return // told at once, which is best
	}
	st := s.end(t)
	if st.ExitCode != nil && *st.ExitCode == 0 {
		s.Errorf("got %s; want a failure", st)
	}
	if v := s.judge(t, st); v.Outcome == job.Success {
		s.Errorf("judged %+v; want no success", v)
	}
}

func (s *suite) noWholeResult() {
	for _, play := range []string{"nothing", "no-steps", "torn", "damaged"} {
		t := s.task(play)
		s.submit(t)
		st := s.end(t)
		s.wantExit(st, job.ExitDone)
		s.wantOutcome(t, st, job.Failed)
	}
}

func (s *suite) anEndedContext() {
	ctx, cancel := context.WithCancel(s.Context())
	t := s.task("hold")
	s.submit(t)
	s.training(t)
	told := make(chan error)
	go func() { told <- s.Logs(ctx, t.Name(), job.LogOptions{Follow: true}, io.Discard) }()
	cancel()
	if err := <-told; !errors.Is(err, context.Canceled) {
		s.Errorf("following ended with %v; want that the context has ended", err)
	}
	if st := s.status(t); st.State != job.Running {
		s.Errorf("after its watcher left it is %s; want it running", st)
	}
}
