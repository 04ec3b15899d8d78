package chaos

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

var takenOver = regexp.MustCompile(`msg="a step is taken over" step=(\S+) from=(\S+)`)

// noticed are what a worker logs that was given up: it found out while it worked,
// its result was refused, or it could not even give its lease back.
var noticed = []string{"was taken over while it was worked on", "a late result is refused", "a lease was not released"}

// busyWithin is how long a pause waits for its victim to be in the middle of
// something. An attempt is known from its document, which comes after 2 s.
const busyWithin = 10 * time.Second

// pause stops a worker for longer than anybody believes it to be alive. When it
// goes on, it must find out that each step which another worker took over from it
// is not its own any more, and say so in its log.
func (s *storm) pause(e event) error {
	p := s.work[e.Victim]
	p.victim.Lock()
	defer p.victim.Unlock()
	within(busyWithin, func() bool { pid, _ := p.running(); return len(s.attemptsOf(pid, false)) > 0 || s.ctx.Err() != nil })
	before := s.logEnds()
	pid, err := p.signal(syscall.SIGSTOP, 0)
	if err != nil {
		return err
	}
	if pid == 0 {
		s.tell(e, nil, "left out: %s is just being started", p.name)
		return nil
	}
	s.tell(e, []int{pid}, "stopped for %s, with at least %d steps at work", e.Lasts, len(s.attemptsOf(pid, false)))
	s.happened(e.Kind)
	s.sleep(e.Lasts)
	taken := s.takenOver(before, e.Victim)
	if _, err := p.signal(syscall.SIGCONT, 0); err != nil {
		return err
	}
	s.tell(e, []int{pid}, "goes on; taken over by others meanwhile: %d", len(taken))
	for attempt, step := range taken {
		noticed, err := s.notices(e, pid, before, attempt, step)
		if err != nil {
			return err
		}
		if noticed {
			s.count("steps taken over from paused workers, which noticed", 1)
			s.tell(e, []int{pid}, "has noticed that %s was taken over", step)
		}
	}
	return nil
}

// takenOver are the attempts, and their steps, that workers other than one say
// they have taken a step over from.
func (s *site) takenOver(since []int64, but int) map[string]string {
	taken := map[string]string{}
	for i, log := range s.since(since) {
		for _, m := range takenOver.FindAllStringSubmatch(log, -1) {
			if i != but {
				taken[m[2]] = m[1]
			}
		}
	}
	return taken
}

// notices says whether a worker says that an attempt was given up. It must if the
// attempt is its own, by the document that it leaves at its end.
func (s *storm) notices(e event, pid int, since []int64, attempt, step string) (bool, error) {
	told := func() bool { return tells(s.since(since)[e.Victim], attempt, step) }
	own := func() bool { return s.attemptsOf(pid, true)[attempt] }
	if within(10*time.Second, told) || !own() {
		return told(), nil
	}
	if !within(80*time.Second, told) {
		return false, fmt.Errorf("worker-%d does not say that %s was taken over from it (%s)", e.Victim, step, attempt)
	}
	return true, nil
}

// tells says whether a worker's log has it that an attempt was given up. A lease
// that was not released is told by its step alone.
func tells(log, attempt, step string) bool {
	for line := range strings.Lines(log) {
		for _, words := range noticed {
			if strings.Contains(line, words) && (strings.Contains(line, attempt) || words == noticed[2] && strings.Contains(line, step)) {
				return true
			}
		}
	}
	return false
}

// attemptsOf are the attempts that a worker process has at work, by the documents
// that attempts leave; with ended also those that it had.
func (s *site) attemptsOf(pid int, ended bool) map[string]bool {
	found := map[string]bool{}
	files, _ := filepath.Glob(filepath.Join(s.bucket(), "experiments", "*", "attempt-*.json")) // the pattern is well-formed
	for _, file := range files {
		var a struct {
			Worker, Run, Activity, Ended string
			Attempt                      int
		}
		body, err := os.ReadFile(file)
		if err != nil || json.Unmarshal(body, &a) != nil {
			continue // it is just being replaced
		}
		if (ended || a.Ended == "") && strings.HasPrefix(a.Worker, fmt.Sprintf("%d@", pid)) {
			found[fmt.Sprintf("%s-%s-a%d", a.Run, a.Activity, a.Attempt)] = true
		}
	}
	return found
}

// logEnds are the lengths of the workers' logs.
func (s *site) logEnds() []int64 {
	ends := make([]int64, len(s.work))
	for i, w := range s.work {
		if info, err := os.Stat(w.log); err == nil {
			ends[i] = info.Size()
		}
	}
	return ends
}

// since is what the workers logged after these lengths.
func (s *site) since(ends []int64) []string {
	logs := make([]string, len(ends))
	for i, w := range s.work {
		if body, err := os.ReadFile(w.log); err == nil && int64(len(body)) > ends[i] {
			logs[i] = string(body[ends[i]:])
		}
	}
	return logs
}
