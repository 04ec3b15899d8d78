package main

import "syscall"

// childAttributes puts the child in a process group of its own, so that Ctrl-C
// in a terminal reaches the parent only and the parent decides the order of
// stopping, and has the kernel kill it when the thread that started it dies.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
