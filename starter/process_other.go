//go:build !linux

package main

import (
	"os/exec"
	"syscall"
)

// ownGroup keeps the terminal's Ctrl-C away from a service, which is stopped in
// order instead.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// ownSession lets a program outlive this one.
func ownSession(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
