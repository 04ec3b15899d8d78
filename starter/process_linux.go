package main

import (
	"os/exec"
	"syscall"
)

// ownGroup keeps the terminal's Ctrl-C away from a service, which is stopped in
// order instead, and ends it when this program is killed.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}

// ownSession lets a program outlive this one.
func ownSession(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
}
