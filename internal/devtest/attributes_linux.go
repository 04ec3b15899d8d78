package devtest

import "syscall"

// attributes keep Ctrl-C from devstack, which the test stops itself, and have
// the kernel kill it when the test program dies.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
