//go:build !linux

package devtest

import "syscall"

// attributes let devstack hear Ctrl-C with the test program, as no kernel but
// Linux kills it when that program dies.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
