package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"floe/activities"
	"floe/internal/connect"
	"floe/internal/devtest/binaries"
	"floe/internal/experiment"
	"floe/internal/stack"
)

// programs is the folder with the programs under test, built as users build them;
// empty until a test has asked for one with program.
var programs string

// together are the programs that `starter dev` and the tests of a booted machine need.
var together = []string{binaries.Worker, binaries.Starter, binaries.Scripted, binaries.Devstack}

var setPrograms sync.Once

// program is the path of a program under test. With the name come others that are
// to lie beside it.
func program(t testing.TB, name string, beside ...string) string {
	t.Helper()
	dir, err := binaries.Build(append(beside, name)...)
	if err != nil {
		t.Fatal(err)
	}
	setPrograms.Do(func() { programs = dir })
	return filepath.Join(dir, name)
}

// record renews the stored histories that package workflows replays.
var record = flag.Bool("record", false, "write the histories of the runs to workflows/testdata/histories")

func TestMain(m *testing.M) {
	flag.Parse()
	if err := manyAtOnce(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(binaries.Run(m))
}

// waiting is how many tests of a booted machine are busy with waiting while one
// keeps a processor busy.
const waiting = 3

// manyAtOnce runs more tests at once than there are processors, unless -parallel
// says how many.
func manyAtOnce() (err error) {
	said := false
	flag.Visit(func(f *flag.Flag) { said = said || f.Name == "test.parallel" })
	if !said {
		err = flag.Set("test.parallel", strconv.Itoa(waiting*runtime.GOMAXPROCS(0)))
	}
	return err
}

// small is an experiment of seconds. It saves often, so that a kill finds a
// checkpoint to go on from.
const small = `
name: small
rounds: 2
seed: 5
samples: 400
epochs: 2
validation: {sizes: [3x3, 4x4, 5x5], instances: 20}
curriculum:
  sizes:
    3x3: {data_ratio: 0.4, hole_ratio: 0.1, wait_ratio: 0.2}
    4x4: {data_ratio: 0.3, hole_ratio: 0.1, wait_ratio: 0.2}
    5x5: {data_ratio: 0.3, hole_ratio: 0.1, wait_ratio: 0.2}
trainer: {save_every: 2}
benchmarks: {agents: [3], instances: 3}
`

// machine is a data folder with the services of `starter dev`.
type machine struct {
	t    *testing.T
	data string
	dev  *exec.Cmd
	log  *logged
	done chan error

	env      []string      // of commands, besides that of the test program
	ended    bool          // by the test
	patience time.Duration // with one command; 0: five minutes
}

// logged takes in what a running program prints, while a test reads it.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// impatient are the waits of tests that kill or stop a worker: so short that they
// need not sit through them, and so long that a worker on a busy machine is not
// given up for dead.
var impatient = []string{"FLOE_TEST_HEARTBEAT=4s", "FLOE_TEST_LEASE=5s"}

// notWithShort leaves servers to the long run of the tests.
func notWithShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("it starts Temporal, an S3 store and a worker: not with -short")
	}
}

// boot starts `starter dev` on free ports and waits until it is ready.
func boot(t *testing.T, env ...string) *machine {
	t.Helper()
	return bootOn(t, filepath.Join(t.TempDir(), "data"), env...)
}

// bootOn is boot on a data folder that may have been used before.
func bootOn(t *testing.T, data string, env ...string) *machine {
	t.Helper()
	notWithShort(t)
	m := &machine{t: t, data: data, log: &logged{}, done: make(chan error, 1)}
	m.dev = exec.Command(program(t, binaries.Starter, together...), "dev", "--data", m.data, "--temporal-port", "0", "--ui-port", "0", "--s3-port", "0")
	out, err := m.dev.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	m.dev.Stderr = m.log
	m.dev.Env = append(os.Environ(), env...)
	if err := m.dev.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !m.ended {
			m.shut()
		}
	})
	ready := make([]byte, 512)
	n, err := out.Read(ready)
	go func() { m.done <- m.dev.Wait() }()
	if err != nil || !strings.HasPrefix(string(ready[:n]), "ready:") {
		t.Fatalf("starter dev did not get ready: %v\n%s", err, m.log)
	}
	return m
}

// shut stops the services with an interrupt, as a person would.
func (m *machine) shut() {
	if err := m.dev.Process.Signal(os.Interrupt); err != nil {
		m.t.Errorf("interrupt starter dev: %v\n%s", err, m.log)
		return
	}
	select {
	case err := <-m.done:
		if err != nil {
			m.t.Errorf("starter dev: %v\n%s", err, m.log)
		}
	case <-time.After(time.Minute):
		m.t.Errorf("starter dev did not stop within a minute:\n%s", m.log)
		if err := m.dev.Process.Kill(); err != nil {
			m.t.Error(err)
		}
	}
	if info, err := stack.Read(m.data); err == nil && info.Alive() {
		m.t.Errorf("the stack (process %d) outlived starter dev", info.PID)
	}
}

// starter runs the command line to its end.
func (m *machine) starter(args ...string) (stdout, stderr string, code int) {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), cmp.Or(m.patience, 5*time.Minute))
	defer cancel()
	cmd := exec.CommandContext(ctx, program(m.t, binaries.Starter), append(args, "--data", m.data)...)
	cmd.Dir = m.t.TempDir()
	cmd.Env = append(append(os.Environ(), "NO_COLOR=1"), m.env...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		m.t.Fatal(err)
	}
	return out.String(), errOut.String(), cmd.ProcessState.ExitCode()
}

// must runs the command line and wants exit code 0.
func (m *machine) must(args ...string) string {
	m.t.Helper()
	out, errOut, code := m.starter(args...)
	if code != exitOK {
		m.t.Fatalf("starter %s: exit code %d\n%s%s", strings.Join(args, " "), code, out, errOut)
	}
	return out
}

// sums are the sha256 of an experiment's artifacts by path.
func (m *machine) sums(name string) map[string]string {
	m.t.Helper()
	var entries []struct{ Path, SHA256 string }
	if err := json.Unmarshal([]byte(m.must("artifacts", "ls", name, "-o", "json")), &entries); err != nil {
		m.t.Fatal(err)
	}
	sums := map[string]string{}
	for _, e := range entries {
		sums[e.Path] = e.SHA256
	}
	return sums
}

// record writes a workflow's history where the replay test finds it.
func (m *machine) record(workflow, file string) {
	m.t.Helper()
	to, err := connect.Resolve(connect.Flags{Data: m.data})
	if err != nil {
		m.t.Fatal(err)
	}
	c, err := to.Dial(m.t.Context(), nil)
	if err != nil {
		m.t.Fatal(err)
	}
	defer c.Close()
	var h historypb.History
	events := c.GetWorkflowHistory(m.t.Context(), workflow, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		if err != nil {
			m.t.Fatal(err)
		}
		h.Events = append(h.Events, e)
	}
	body, err := protojson.Marshal(&h)
	if err == nil {
		err = writeFile(filepath.Join("..", "workflows", "testdata", "histories", file), append(body, '\n'))
	}
	if err != nil {
		m.t.Fatal(err)
	}
}

func specFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "spec.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestAWholeExperimentFromTheCommandLine(t *testing.T) { //nolint:tparallel // its parts go one after the other on one machine
	t.Parallel()
	m := boot(t)
	spec := specFile(t, small)
	out := m.must("run", spec)
	for _, want := range []string{"untrained", "round 0", "round 1", "Report", "/workflows/exp-small/", "artifacts ls small"} {
		if !strings.Contains(strings.ToLower(out), strings.ToLower(want)) {
			t.Errorf("run printed no %q:\n%s", want, out)
		}
	}
	if _, err := os.Stat(filepath.Join(m.data, "reports", "small.html")); err != nil {
		t.Error(err)
	}

	if *record {
		m.record("exp-small", "experiment-done.json")
		m.record("exp-small-round-1", "round-done.json")
	}
	t.Run("the same name is the same experiment", func(t *testing.T) {
		if _, errOut, code := m.starter("run", spec); code != exitOK || !strings.Contains(errOut, "done already") {
			t.Errorf("exit code %d, %s", code, errOut)
		}
	})
	t.Run("the same name with another spec is refused with the difference", func(t *testing.T) {
		_, errOut, code := m.starter("run", spec, "--set", "trainer.rollouts=16")
		if code != exitUsage || !strings.Contains(errOut, "trainer.rollouts") {
			t.Errorf("exit code %d, %s", code, errOut)
		}
	})
	t.Run("another name with the same spec makes the same artifacts and does nothing twice", func(t *testing.T) {
		m.must("run", spec, "--name", "twin")
		if diff := differ(m.sums("small"), m.sums("twin")); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("list, show, artifacts and report", func(t *testing.T) { look(t, m) })
	t.Run("its stored answers get the same verdicts again", func(t *testing.T) {
		var r rescoreResult
		if err := json.Unmarshal([]byte(m.must("rescore", "small", "--check", "-o", "json")), &r); err != nil {
			t.Fatal(err)
		}
		if r.Changed != 0 || len(r.Sets) != 5 || r.Answers == 0 { // start, two rounds, a benchmark untrained and trained
			t.Errorf("%d of %d changed in %d sets", r.Changed, r.Answers, len(r.Sets))
		}
	})
	t.Run("what is not there is exit code 3", func(t *testing.T) {
		for _, args := range [][]string{
			{"show", "nobody"},
			{"watch", "nobody"},
			{"cancel", "nobody"},
			{"report", "nobody"},
			{"rescore", "nobody"},
			{"artifacts", "ls", "nobody"},
			{"artifacts", "get", "small", "no/such/file"},
		} {
			if _, errOut, code := m.starter(args...); code != exitNotFound {
				t.Errorf("%v: exit code %d, %s", args, code, errOut)
			}
		}
	})
}

func look(t *testing.T, m *machine) {
	var all []listed
	if err := json.Unmarshal([]byte(m.must("list", "-o", "json", "--state", "done")), &all); err != nil {
		t.Fatal(err)
	}
	if len(all) != 2 || all[0].ValidRate == nil || *all[0].Round != 1 || !strings.HasSuffix(all[0].Started, "Z") {
		t.Errorf("list: %+v", all)
	}
	if out := m.must("show", "small"); !strings.HasPrefix(out, "small: done") {
		t.Errorf("show: %s", out)
	}
	file := filepath.Join(t.TempDir(), "r.html")
	if out := m.must("report", "small", "-O", file); strings.TrimSpace(out) != file {
		t.Errorf("report printed %q", out)
	}
	body, err := os.ReadFile(file)
	if err != nil || !bytes.Contains(body, []byte("<svg")) {
		t.Errorf("report: %v, %d bytes", err, len(body))
	}
	var transcript struct{ Rationale string }
	if err := json.Unmarshal([]byte(m.must("artifacts", "get", "small", "round-0/design/transcript.json", "-O", "-")), &transcript); err != nil {
		t.Fatal(err)
	}
	if transcript.Rationale == "" {
		t.Error("the design of round 0 has no rationale")
	}
}

// differ says how two sets of artifacts differ.
func differ(want, got map[string]string) string {
	var lines []string
	for path, sum := range want {
		if got[path] != sum {
			lines = append(lines, fmt.Sprintf("%s: got %q; want %q", path, got[path], sum))
		}
	}
	if len(got) != len(want) {
		lines = append(lines, fmt.Sprintf("got %d artifacts; want %d", len(got), len(want)))
	}
	return strings.Join(lines, "\n")
}

func TestCancelStopsTheWorkAndRunGoesOn(t *testing.T) {
	t.Parallel()
	m := boot(t)
	spec := specFile(t, strings.Replace(small, "epochs: 2", "epochs: 60", 1))
	m.must("run", spec, "--detach")
	m.until("training", func() bool { return m.progress("small").Step == "train" })
	if _, errOut, code := m.starter("cancel", "small"); code != exitOK {
		t.Fatalf("cancel: exit code %d, %s", code, errOut)
	}
	if out := m.must("list", "-o", "json"); !strings.Contains(out, `"cancelled"`) {
		t.Errorf("list after cancel: %s", out)
	}
	m.says(exitOK, "small is cancelled already", "cancel", "small")
	if *record {
		m.record("exp-small", "experiment-cancelled.json")
		m.record("exp-small-round-0", "round-cancelled.json")
	}
	_, errOut, code := m.starter("run", spec, "--detach")
	if code != exitOK || !strings.Contains(errOut, "restarting it") {
		t.Errorf("run after cancel: exit code %d, %s", code, errOut)
	}
	m.until("training again", func() bool { return m.progress("small").Step == "train" })
	m.must("cancel", "small")
}

// TestAModelDesignsAndItsKeyStaysSecret has a model behind an endpoint design. The
// endpoint is scripted: it answers every chat with the same curriculum, after
// one rate limit and one useless reply.
func TestAModelDesignsAndItsKeyStaysSecret(t *testing.T) {
	t.Parallel()
	const key = "sk-canary-4f1d2c"
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Header.Get("Authorization") != "Bearer "+key {
			http.Error(w, "want the key", http.StatusUnauthorized)
			return
		}
		asked = append(asked, string(body))
		reply := "rationale: small maps are mastered\nsizes:\n  3x3: {data_ratio: 0.2, hole_ratio: 0.2, wait_ratio: 0.2}\n  4x4: {data_ratio: 0.8, hole_ratio: 0.9, wait_ratio: 0.2}"
		switch len(asked) {
		case 1:
			w.Header().Set("Retry-After", "0")
			http.Error(w, `{"error":{"message":"slow down"}}`, http.StatusTooManyRequests)
			return
		case 2:
			reply = "I would rather not say."
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(map[string]any{
			"model":   "scripted",
			"choices": []any{map[string]any{"finish_reason": "stop", "message": map[string]any{"role": "assistant", "content": reply}}},
			"usage":   map[string]any{"prompt_tokens": 10, "completion_tokens": 5},
		}); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()

	m := boot(t, "OPENAI_BASE_URL="+server.URL+"/v1", "OPENAI_API_KEY="+key)
	out := m.must("run", specFile(t, small), "--set", "designer.kind=openai", "--set", "designer.model=scripted")
	var transcript experiment.Transcript
	raw := m.must("artifacts", "get", "small", "round-0/design/transcript.json", "-O", "-")
	if err := json.Unmarshal([]byte(raw), &transcript); err != nil {
		t.Fatal(err)
	}
	if transcript.Outcome != "projected" || len(transcript.Attempts) != 3 || transcript.Rationale != "small maps are mastered" {
		t.Errorf("outcome %q after %d attempts, rationale %q", transcript.Outcome, len(transcript.Attempts), transcript.Rationale)
	}
	if row, ok := transcript.Used.Row("4x4"); !ok || row.Knobs[0].Value != 0.5 {
		t.Errorf("holes of 4x4 in use: %+v; want 0.5, the most there can be", row)
	}
	if !strings.Contains(asked[0], `"temperature":0`) {
		t.Errorf("temperature 0 was not sent: %s", asked[0])
	}
	if strings.Contains(out+m.log.String(), key) {
		t.Error("the key was printed")
	}
	err := filepath.WalkDir(m.data, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		body, err := os.ReadFile(path)
		if bytes.Contains(body, []byte(key)) {
			t.Errorf("the key is in %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestInterruptLeavesNothingRunning interrupts a run that has services of its
// own; the same command picks it up again.
func TestInterruptLeavesNothingRunning(t *testing.T) {
	t.Parallel()
	notWithShort(t)
	m := &machine{t: t, data: filepath.Join(t.TempDir(), "data"), log: &logged{}}
	spec := specFile(t, strings.NewReplacer("epochs: 2", "epochs: 60", "save_every: 2", "save_every: 25").Replace(small))
	args := []string{"run", spec, "--dev", "--temporal-port", "0", "--ui-port", "0", "--s3-port", "0"}
	cmd := exec.Command(program(t, binaries.Starter, together...), append(args, "--data", m.data)...)
	cmd.Stderr = m.log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	m.until("a training step", func() bool { return m.progress("small").Step == "train" })
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitInterrupted {
		t.Errorf("ended with %v; want exit code %d\n%s", err, exitInterrupted, m.log)
	}
	if left := commandLines(t, m.data); len(left) > 0 {
		t.Errorf("still running:\n%s", strings.Join(left, "\n"))
	}
	out, errOut, code := m.starter(args...)
	if code != exitOK || !strings.Contains(errOut, "experiment small is running; following it") || !strings.Contains(out, "round 1") {
		t.Errorf("exit code %d\n%s%s", code, out, errOut)
	}
}

// TestKilledServicesLoseNothing kills worker, stack and both with -9 in the
// middle of training. The artifacts are those of an undisturbed run.
func TestKilledServicesLoseNothing(t *testing.T) {
	t.Parallel()
	m := boot(t, impatient...)
	m.must("run", specFile(t, long), "--detach")
	for _, victims := range [][]string{{"worker"}, {"devstack"}, {"worker", "devstack"}} {
		m.until("a training step", func() bool { p := m.progress("small"); return p.Step == "train" && p.Done > 0 })
		m.kill9(victims...)
	}
	m.must("watch", "small")
	if diff := differ(undisturbed(t, long), m.sums("small")); diff != "" {
		t.Error(diff)
	}
	for _, s := range m.services() {
		if s.Starts < 3 {
			t.Errorf("%s was killed twice and started %d times", s.Name, s.Starts)
		}
	}
}

// calm are the artifacts of experiments that nothing disturbed, by their spec.
var calm struct {
	sync.Mutex
	sums map[string]map[string]string
}

// undisturbed are the artifacts of a spec's experiment, small, that is left alone.
// It runs once for all tests that compare with it.
func undisturbed(t *testing.T, spec string) map[string]string {
	t.Helper()
	calm.Lock()
	defer calm.Unlock()
	if sums, ok := calm.sums[spec]; ok {
		return sums
	}
	m := boot(t)
	m.must("run", specFile(t, spec))
	if calm.sums == nil {
		calm.sums = map[string]map[string]string{}
	}
	calm.sums[spec] = m.sums("small")
	return calm.sums[spec]
}

// TestAStackThatComesBackIsWaitedFor asks at once after the stack was killed.
func TestAStackThatComesBackIsWaitedFor(t *testing.T) {
	t.Parallel()
	m := boot(t)
	for range 3 {
		pid := m.child("devstack")
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		m.must("list")
		if now := m.child("devstack"); now == pid {
			t.Errorf("process %d answered after it was killed", pid)
		}
	}
}

// kill9 kills services of `starter dev` and waits until others have taken their place.
func (m *machine) kill9(names ...string) {
	m.t.Helper()
	before := map[string]running{}
	for _, name := range names {
		m.child(name)
		before[name] = m.service(name)
	}
	for _, s := range before {
		if err := syscall.Kill(s.PID, syscall.SIGKILL); err != nil {
			m.t.Fatal(err)
		}
	}
	for name, was := range before {
		m.until(name+" to be back", func() bool { s := m.service(name); return s.PID != 0 && s.Starts > was.Starts })
	}
}

// services are those of `starter dev`, as it declares them.
func (m *machine) services() []running {
	m.t.Helper()
	var all []running
	body, err := os.ReadFile(filepath.Join(m.data, servicesFile))
	if err == nil {
		err = json.Unmarshal(body, &all)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		m.t.Fatal(err)
	}
	return all
}

// service is one of them; its pid is 0 while it is not running.
func (m *machine) service(name string) running {
	m.t.Helper()
	for _, s := range m.services() {
		if s.Name == name {
			return s
		}
	}
	return running{Name: name}
}

// child is the pid of a service of `starter dev`, once it runs.
func (m *machine) child(name string) (pid int) {
	m.t.Helper()
	m.until(name+" to run", func() bool { pid = m.service(name).PID; return pid != 0 })
	return pid
}

// progress asks a running experiment how far it is; nothing while it cannot say.
func (m *machine) progress(name string) activities.Progress {
	m.t.Helper()
	out, _, code := m.starter("show", name, "-o", "json")
	if code != exitOK {
		return activities.Progress{}
	}
	var s shown
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		m.t.Fatal(err)
	}
	if s.Status == nil {
		return activities.Progress{}
	}
	return s.Status.Progress
}

// until polls a condition, for as long as the services are there and the tests may
// take.
func (m *machine) until(what string, ok func() bool) {
	m.t.Helper()
	began, patience := time.Now(), time.NewTimer(patienceOf(m.t))
	defer patience.Stop()
	for !ok() {
		select {
		case err := <-m.done:
			m.done <- err // for shut
			m.t.Fatalf("starter dev ended (%v) while the test waited for %s\n%s", err, what, m.log)
		case <-patience.C:
			m.t.Fatalf("waited %s for %s\n%s", time.Since(began).Round(time.Second), what, m.log)
		case <-time.After(lookEvery):
		}
	}
}

// lookEvery is the time between two looks at a condition. Most of them run the command
// line, so more of them keep the processors from what is waited for.
const lookEvery = 200 * time.Millisecond

// longest is for what a condition may take on a machine that is busy with other
// work: a test that hangs ends by it and says what it waited for.
const longest = 10 * time.Minute

// patienceOf leaves time to say what was waited for before the go command ends the tests.
func patienceOf(t *testing.T) time.Duration {
	if end, ok := t.Deadline(); ok {
		return max(time.Second, min(longest, time.Until(end)-time.Minute))
	}
	return longest
}

// commandLines are those of the processes whose command line has a text, by pid.
func commandLines(t *testing.T, text string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, file := range files {
		body, err := os.ReadFile(file) // it may have ended
		if line := strings.ReplaceAll(string(body), "\x00", " "); err == nil && strings.Contains(line, text) {
			found = append(found, filepath.Base(filepath.Dir(file))+" "+line)
		}
	}
	return found
}
