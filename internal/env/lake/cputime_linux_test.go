package lake

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime is how long the thread has run: a busy machine does not count.
func cpuTime(b *testing.B) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		b.Fatal(err)
	}
	return time.Duration(t.Nano())
}
