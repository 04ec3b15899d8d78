package skill

import (
	"fmt"
	"os"
	"syscall"
)

// EnvDevice names a file that stands for the device which training and serving share:
// without it there is none.
const EnvDevice = "SKILL_DEVICE"

// device stays open until the process ends, which frees it. Nobody reads it.
var device *os.File //nolint:unused // it is here so that it is not closed with the last use of it

// TakeDevice takes the device until this process ends. That another program has it
// is noted in the diary: a real one would be out of memory now.
func TakeDevice() error {
	name := os.Getenv(EnvDevice)
	if name == "" {
		return nil
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // the test that started us named it
	if err != nil {
		return fmt.Errorf("open the device: %w", err)
	}
	device = f
	if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		return Write(Entry{Event: EventClash})
	}
	return nil
}
