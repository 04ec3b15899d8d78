package process

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func supported() error { return nil }

// ownSession lets a supervisor outlive its worker, and its terminal.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// diesWithUs gives the program a group of its own, so that what is meant for it
// does not hit the supervisor, and its end with the supervisor's.
func diesWithUs() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// adoptOrphans makes what the program leaves behind our children, also what left
// its session.
func adoptOrphans() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// numbers names the process table that numbers and start times are of.
func numbers() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	space, err2 := os.Readlink("/proc/self/ns/pid")
	if err != nil || err2 != nil {
		return "" // not known: number and start time must do
	}
	return strings.TrimSpace(string(boot)) + " " + space
}

// entry is a line of the process table.
type entry struct {
	pid, parent, session int
	zombie               bool
	ticks                uint64
}

// startTicks is when a process started; false if there is none.
func startTicks(pid int) (uint64, bool) {
	e, ok := look(pid)
	return e.ticks, ok && !e.zombie
}

func look(pid int) (entry, bool) {
	body, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return entry{}, false
	}
	// The name, in brackets, may hold anything. From the state on: 0 state,
	// 1 parent, 3 session, 19 start time.
	f := strings.Fields(string(body[bytes.LastIndexByte(body, ')')+1:]))
	if len(f) < 20 {
		return entry{}, false
	}
	e := entry{pid: pid, zombie: f[0] == "Z" || f[0] == "X"}
	e.parent, _ = strconv.Atoi(f[1])
	e.session, _ = strconv.Atoi(f[3])
	e.ticks, err = strconv.ParseUint(f[19], 10, 64)
	return e, err == nil
}

func table() []entry {
	folder, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var all []entry
	for _, d := range folder {
		if pid, err := strconv.Atoi(d.Name()); err == nil {
			if e, ok := look(pid); ok {
				all = append(all, e)
			}
		}
	}
	return all
}

// session lists the living processes of a supervisor's session. The number of a
// session is free for others once all of its processes are gone: then its leader
// is another process, or its members are older than the supervisor.
func session(at started) []int {
	if at.PID == 0 || at.elsewhere() {
		return nil
	}
	if leader, ok := look(at.PID); ok && leader.ticks != at.Ticks {
		return nil
	}
	var pids []int
	for _, e := range table() {
		if e.session == at.PID && e.ticks >= at.Ticks && !e.zombie {
			pids = append(pids, e.pid)
		}
	}
	return pids
}

// killAll kills everything that the program started, and reaps it, until nothing
// is left. It is called by the supervisor alone.
func killAll(at started) {
	for {
		left := 0
		for _, e := range below(at) {
			if !e.zombie {
				left++
				_ = syscall.Kill(e.pid, syscall.SIGKILL) // gone already, which is as well
			}
		}
		if left == 0 {
			return
		}
		time.Sleep(reapEvery)
	}
}

const reapEvery = 10 * time.Millisecond

// below lists the descendants of the supervisor, whatever session they are in.
func below(at started) []entry {
	all := table()
	ours := map[int]bool{at.PID: true}
	var found []entry
	for grew := true; grew; {
		grew = false
		for _, e := range all {
			if !ours[e.pid] && (ours[e.parent] || (e.session == at.PID && e.ticks >= at.Ticks)) {
				ours[e.pid], grew = true, true
				found = append(found, e)
			}
		}
	}
	return found
}
