package chaos

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"time"
)

// atOnce is how many events may be under way at the same time.
const atOnce = 2

// storm carries out events on a site.
type storm struct {
	*site
	*diary
	ctx   context.Context // ends when the lap's sweep is done: what begins then is not counted
	seats chan struct{}
	wg    sync.WaitGroup
}

// blow begins events one after the other, until all have begun or the context
// ends, and returns those that are left once those that began are over.
func (s *storm) blow(events []event) (left []event) {
	defer s.wg.Wait()
	for i, e := range events {
		if !s.sleep(e.After) {
			return events[i:]
		}
		select {
		case s.seats <- struct{}{}:
		case <-s.ctx.Done():
			return events[i:]
		}
		s.wg.Go(func() {
			defer func() { <-s.seats }()
			s.perform(e)
		})
	}
	return nil
}

// sleep waits; false if the lap is over before.
func (s *storm) sleep(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-s.ctx.Done():
		return false
	}
}

// tell notes what an event does.
func (s *storm) tell(e event, pids []int, format string, args ...any) {
	s.note(entry{Event: e.N, Kind: e.Kind, What: fmt.Sprintf(format, args...), PIDs: pids})
}

// perform carries out one event, and returns when its cause is gone.
func (s *storm) perform(e event) {
	var err error
	switch e.Kind {
	case killWorker:
		err = s.kill(e, s.work[e.Victim])
	case killWorkers:
		err = s.kill(e, s.work...)
	case killStack:
		err = s.kill(e, s.stack)
	case killAll:
		err = s.kill(e, append([]*program{s.stack}, s.work...)...)
	case killStorage:
		err = s.killStore(e)
	case pauseWorker:
		err = s.pause(e)
	case fillDisk:
		err = s.fillDisk(e)
	case corrupt:
		err = s.corrupt(e)
	case killTrainer, killServer, killSupervisor, killGuard:
		err = s.killModel(e)
	case dropAnswers:
		s.loseAnswers(e)
	case delayStore, cutStore:
		s.breakLine(e)
	case cutTemporal, stallTemporal:
		s.breakWire(e)
	}
	if err != nil {
		s.t.Errorf("event %d, %s: %v", e.N, e.Kind, err)
	}
}

// kill kills programs together and waits until each has been started again.
func (s *storm) kill(e event, victims ...*program) error {
	for _, p := range victims { // in the order devstack, worker-0, worker-1: nobody waits in a circle
		p.victim.Lock()
		defer p.victim.Unlock()
	}
	var pids, starts []int
	for _, p := range victims {
		_, n := p.running()
		pid, err := p.signal(syscall.SIGKILL, e.Lasts)
		if err != nil {
			return err
		}
		if pid == 0 {
			n-- // it is just being started
		}
		pids, starts = append(pids, pid), append(starts, n)
	}
	s.tell(e, pids, "killed with -9, down for %s", e.Lasts)
	s.happened(e.Kind)
	for i, p := range victims {
		if err := reach(p.name+" to be started again", func() bool { pid, n := p.running(); return pid != 0 && n > starts[i] }); err != nil {
			return err
		}
	}
	if victims[0] == s.stack {
		return reach("devstack to be up again", s.up)
	}
	return nil
}

// killStore kills the S3 server alone. Devstack starts another one, unless that
// happened too often within a minute: then it ends and is started again itself.
func (s *storm) killStore(e event) error {
	s.stack.victim.Lock()
	defer s.stack.victim.Unlock()
	pid, _ := s.stack.running()
	child, err := childOf(pid, "s3-child")
	if err != nil {
		s.tell(e, nil, "left out: %v", err) // it died just now
		return nil
	}
	if err := syscall.Kill(child, syscall.SIGKILL); err != nil {
		s.tell(e, nil, "left out: %v", err)
		return nil
	}
	s.tell(e, []int{child}, "killed with -9")
	s.happened(e.Kind)
	return reach("another S3 server", func() bool {
		pid, _ := s.stack.running()
		next, err := childOf(pid, "s3-child")
		return err == nil && next != child && s.up()
	})
}

// loseAnswers has the next answers to a worker's writes get lost.
func (s *storm) loseAnswers(e event) {
	l := s.lines[e.Victim]
	l.victim.Lock()
	defer l.victim.Unlock()
	_, before := l.dropping()
	l.set(func(l *storeLine) { l.drop = e.Count })
	s.tell(e, nil, "%d answers to writes of worker-%d get lost, within %s", e.Count, e.Victim, e.Lasts)
	within(e.Lasts, func() bool { left, _ := l.dropping(); return left == 0 })
	l.set(func(l *storeLine) { l.drop = 0 })
	if _, lost := l.dropping(); lost > before {
		s.happened(e.Kind)
		s.tell(e, nil, "%d were lost", lost-before)
	} else {
		s.tell(e, nil, "left out: worker-%d wrote nothing", e.Victim)
	}
}

// breakLine slows down or cuts the way from one worker to the store.
func (s *storm) breakLine(e event) {
	l := s.lines[e.Victim]
	l.victim.Lock()
	defer l.victim.Unlock()
	s.happened(e.Kind)
	if e.Kind == cutStore {
		l.sever()
		s.tell(e, nil, "worker-%d does not reach the store for %s", e.Victim, e.Lasts)
	} else {
		delay := time.Duration(e.Count) * time.Millisecond
		l.set(func(l *storeLine) { l.delay = delay })
		s.tell(e, nil, "requests of worker-%d take %s longer, for %s", e.Victim, delay, e.Lasts)
	}
	s.sleep(e.Lasts)
	l.set(func(l *storeLine) { l.cut, l.delay = false, 0 })
	s.tell(e, nil, "mended")
}

// breakWire disturbs the way from one worker to Temporal.
func (s *storm) breakWire(e event) {
	s.lines[e.Victim].victim.Lock()
	defer s.lines[e.Victim].victim.Unlock()
	w := s.wires[e.Victim]
	s.happened(e.Kind)
	if e.Kind == cutTemporal {
		w.Cut()
	} else {
		w.Stall()
	}
	s.tell(e, nil, "worker-%d does not reach Temporal for %s", e.Victim, e.Lasts)
	s.sleep(e.Lasts)
	w.Mend()
	s.tell(e, nil, "mended")
}

// fillDisk leaves the store no space for a while.
func (s *storm) fillDisk(e event) error {
	if s.disk == nil {
		s.tell(e, nil, "left out: the store has no small disk here")
		return nil
	}
	s.stack.victim.Lock()
	defer s.stack.victim.Unlock()
	n, err := s.disk.fill()
	if err != nil {
		return err
	}
	s.note(entry{Event: e.N, Kind: e.Kind, What: fmt.Sprintf("full for %s", e.Lasts), Bytes: n})
	s.happened(e.Kind)
	s.sleep(e.Lasts)
	if err := s.disk.free(); err != nil {
		return err
	}
	s.tell(e, nil, "free again")
	return nil
}
