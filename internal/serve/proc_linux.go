package serve

import "syscall"

// diesWithUs ends the server with its guard, also where that is killed.
func diesWithUs() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
