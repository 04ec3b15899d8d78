// Package attempt keeps what a back end must remember of an attempt between
// workers: one folder an attempt, on a disk that all its workers share. It also has
// what back ends share in handing over, waiting and following.
package attempt

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"floe/internal/disk"
	"floe/internal/filelock"
	"floe/internal/job"
)

// Folder is the folder of an attempt. It is there from the moment somebody
// submitted the attempt, and stays.
type Folder struct {
	Dir  string
	Name string
}

const (
	fileRequest = "request.json"
	fileLock    = "submit.lock"
)

// Claim makes the folder of an attempt, or finds the one there. Of many that
// claim a name the first decides the spec; a claim with another is a
// *job.ConflictError. The request is kept, without its variables.
func Claim(root string, r job.Request) (Folder, error) {
	rec := Folder{filepath.Join(root, r.Name()), r.Name()}
	if err := os.MkdirAll(rec.Dir, 0o750); err != nil {
		return Folder{}, err
	}
	r.Env = nil
	body, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return Folder{}, err
	}
	if err := rec.writeOnce(fileRequest, body); err != nil && !errors.Is(err, fs.ErrExist) {
		return Folder{}, fmt.Errorf("record %s: %w", r.Name(), err)
	}
	found, err := rec.Request()
	if err != nil {
		return Folder{}, err
	}
	if found.SpecSHA256 != r.SpecSHA256 {
		return Folder{}, &job.ConflictError{Name: r.Name(), Found: found.SpecSHA256, Want: r.SpecSHA256}
	}
	return rec, nil
}

// Open finds the folder of an attempt; job.ErrUnknown if nobody claimed it.
func Open(root, name string) (Folder, error) {
	if err := job.CheckName(name); err != nil {
		return Folder{}, err
	}
	rec := Folder{filepath.Join(root, name), name}
	switch _, err := os.Stat(rec.Path(fileRequest)); {
	case errors.Is(err, fs.ErrNotExist):
		return Folder{}, fmt.Errorf("%s: %w", name, job.ErrUnknown)
	case err != nil:
		return Folder{}, err
	}
	return rec, nil
}

// Path is that of a file in the folder.
func (r Folder) Path(file string) string { return filepath.Join(r.Dir, file) }

// Request is what the attempt was submitted with.
func (r Folder) Request() (job.Request, error) {
	var req job.Request
	ok, err := r.Read(fileRequest, &req)
	if err == nil && !ok {
		err = fmt.Errorf("record %s: no %s", r.Name, fileRequest)
	}
	return req, err
}

// Read decodes a file of the folder, if it is there.
func (r Folder) Read(file string, into any) (ok bool, err error) {
	body, err := os.ReadFile(r.Path(file))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := json.Unmarshal(body, into); err != nil {
		return false, fmt.Errorf("record %s: %s: %w", r.Name, file, err)
	}
	return true, nil
}

// Write replaces a file of the folder, whole or not at all.
func (r Folder) Write(file string, value any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if err := disk.WriteAtomic(r.Path(file), append(body, '\n')); err != nil {
		return fmt.Errorf("record %s: %w", r.Name, err)
	}
	return nil
}

// Remove removes a file of the folder; no error if there is none.
func (r Folder) Remove(file string) error {
	if err := os.Remove(r.Path(file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// writeOnce writes a file whole, if there is none; fs.ErrExist otherwise.
func (r Folder) writeOnce(file string, body []byte) error {
	f, err := os.CreateTemp(r.Dir, "."+file+".*.tmp")
	if err != nil {
		return err
	}
	_, err = f.Write(body)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Link(f.Name(), r.Path(file))
	}
	return errors.Join(err, os.Remove(f.Name()))
}

// Lock waits until nobody else holds a lock of the folder. Unlock frees it; so
// does the end of the process.
func (r Folder) Lock() (unlock func(), err error) {
	f, err := filelock.Wait(r.Path(fileLock))
	if err != nil {
		return nil, err
	}
	return func() { _ = f.Close() }, nil // closing frees the lock
}

// TryLock takes a lock if it is free; the caller keeps the file open.
func (r Folder) TryLock(file string) (held *os.File, ok bool, err error) {
	f, err := filelock.Take(r.Path(file))
	if errors.Is(err, filelock.ErrHeld) {
		return nil, false, nil
	}
	return f, err == nil, err
}

// Held reports whether some process holds a lock of the folder. It does not get
// in the way of others who ask, but of TryLock for a moment.
func (r Folder) Held(file string) (bool, error) {
	f, err := filelock.Open(r.Path(file))
	if err != nil {
		return false, err
	}
	err = filelock.Shared(f)
	held := errors.Is(err, filelock.ErrHeld)
	if held {
		err = nil
	}
	return held, errors.Join(err, f.Close())
}
