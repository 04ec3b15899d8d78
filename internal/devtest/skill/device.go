package skill

import (
	"errors"
	"fmt"
	"os"

	"floe/internal/filelock"
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
	f, err := filelock.Take(name)
	if errors.Is(err, filelock.ErrHeld) {
		return Write(Entry{Event: EventClash})
	}
	if err != nil {
		return fmt.Errorf("open the device: %w", err)
	}
	device = f
	return nil
}
