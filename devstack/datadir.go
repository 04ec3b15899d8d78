package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/pkg/xattr"
)

// dataDir is the folder that holds everything; the package comment shows its
// layout, and this file is the only place that knows the names.
type dataDir string

func (d dataDir) lock() string        { return filepath.Join(string(d), "lock") }
func (d dataDir) state() string       { return filepath.Join(string(d), "stack.json") }
func (d dataDir) credentials() string { return filepath.Join(string(d), "credentials") }
func (d dataDir) database() string    { return filepath.Join(string(d), "temporal.db") }
func (d dataDir) s3() string          { return filepath.Join(string(d), "s3") }
func (d dataDir) logs() string        { return filepath.Join(string(d), "logs") }

// openDataDir makes the folder, for this user's eyes only, and proves that it
// can hold what we are going to put there.
func openDataDir(path string) (dataDir, error) {
	d := dataDir(path)
	for _, dir := range []string{path, d.s3(), d.logs()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return "", fmt.Errorf("data folder: %w", err)
		}
	}
	return d, d.checkAttributes()
}

// checkAttributes writes and reads back an extended attribute of the size the
// S3 server uses: it keeps etags and checksums there, and a file system without
// them would fail at the first upload, far from the cause.
func (d dataDir) checkAttributes() error {
	probe, err := os.CreateTemp(d.s3(), ".probe-*")
	if err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	defer func() { _ = os.Remove(probe.Name()) }()
	defer func() { _ = probe.Close() }()

	const name = "user.devstack-probe"
	want := strings.Repeat("x", 2048)
	err = xattr.FSet(probe, name, []byte(want))
	if err == nil {
		var got []byte
		if got, err = xattr.FGet(probe, name); err == nil && string(got) != want {
			err = errors.New("read back something else")
		}
	}
	if err != nil {
		return fmt.Errorf("data folder %s: the S3 server needs a file system with user extended attributes (ext4, xfs, btrfs, apfs): %w; choose another folder with --data", d, err)
	}
	return nil
}

// writeFileAtomically replaces path by a file that is on disk, whole, before
// the name points to it.
func writeFileAtomically(path string, data []byte, perm os.FileMode) (err error) {
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(tmp.Name())
		}
	}()
	_, err = tmp.Write(data)
	err = errors.Join(err, tmp.Chmod(perm), tmp.Sync(), tmp.Close())
	if err != nil {
		return err
	}
	if err = os.Rename(tmp.Name(), path); err != nil {
		return err
	}
	return syncPath(filepath.Dir(path))
}
