//go:build !linux

package lake

import (
	"testing"
	"time"
)

var started = time.Now()

// cpuTime is the time that passes: elsewhere than on Linux, run it on a quiet machine.
func cpuTime(*testing.B) time.Duration { return time.Since(started) }
