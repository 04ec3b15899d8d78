//go:build !linux

package main

import "syscall"

// childAttributes puts the child in a process group of its own, so that Ctrl-C
// in a terminal reaches the parent only. If the parent is killed, the child
// sees its standard input close.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
