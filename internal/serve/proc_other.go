//go:build !linux

package serve

import "syscall"

func diesWithUs() *syscall.SysProcAttr { return nil }
