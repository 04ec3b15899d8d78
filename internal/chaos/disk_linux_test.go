package chaos

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// diskBytes hold the artifacts of a lap several times over.
const diskBytes = 96 << 20

// disk is a small file system of its own for the store.
type disk struct{ ballast string }

// mountDisk puts a small file system under a site's store. It needs root, and a
// kernel whose tmpfs has extended attributes (6.6), where the store keeps its
// metadata; the error says what is lacking.
func (s *site) mountDisk() error {
	root := filepath.Join(s.data, "s3")
	if err := syscall.Mount("tmpfs", root, "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, fmt.Sprintf("size=%d,mode=0700", diskBytes)); err != nil {
		return fmt.Errorf("mount a tmpfs: %w", err)
	}
	probe := filepath.Join(root, ".probe")
	if err := os.WriteFile(probe, nil, 0o600); err != nil {
		return errors.Join(err, syscall.Unmount(root, syscall.MNT_DETACH))
	}
	if err := syscall.Setxattr(probe, "user.probe", []byte("x"), 0); err != nil {
		return errors.Join(fmt.Errorf("extended attributes on tmpfs: %w", err), syscall.Unmount(root, syscall.MNT_DETACH))
	}
	s.t.Cleanup(func() {
		if err := syscall.Unmount(root, syscall.MNT_DETACH); err != nil {
			s.t.Errorf("unmount %s: %v", root, err)
		}
	})
	s.disk = &disk{ballast: filepath.Join(root, ".ballast")}
	return os.Remove(probe)
}

// fill writes until the disk has no byte left, and says how many that were.
func (d *disk) fill() (n int64, err error) {
	f, err := os.OpenFile(d.ballast, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	for chunk := make([]byte, 1<<20); ; {
		written, err := f.Write(chunk)
		n += int64(written)
		switch {
		case errors.Is(err, syscall.ENOSPC) && len(chunk) == 1:
			return n, nil
		case errors.Is(err, syscall.ENOSPC):
			chunk = chunk[:max(1, len(chunk)/2)]
		case err != nil:
			return n, err
		}
	}
}

func (d *disk) free() error { return os.Remove(d.ballast) }
