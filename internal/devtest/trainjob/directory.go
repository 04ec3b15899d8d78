package trainjob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"floe/internal/artifact"
	"floe/internal/artifact/s3"
	"floe/internal/filelock"
	"floe/internal/job"
	"floe/internal/job/files"
)

const (
	fileFailure  = "failure"
	fileProgress = "progress.json"
	fileLatest   = "LATEST"
	fileManifest = "manifest.json"
	fileResult   = "result.json"
	fileStop     = "stop.requested"
	checkpoints  = "checkpoints"
)

// directory is an attempt's hold on the directory of its job, and on the copy of it
// in a store if there is one.
type directory struct {
	path, output, id string
	number           int // of the attempt
	local            job.Files
	mirror           *bucket // nil: the worker sees the directory
	out              io.Writer
	lock, log        *os.File // open until the process ends: closing frees the directory
}

// bucket is a prefix of a store.
type bucket struct {
	job.Files
	store  artifact.Store
	prefix string
}

func remote(uri string) bool { return strings.HasPrefix(uri, "s3://") }

// open opens an s3:// prefix. Credentials and endpoint are those of the environment.
func open(ctx context.Context, uri string) (*bucket, error) {
	name, prefix, _ := strings.Cut(strings.TrimPrefix(uri, "s3://"), "/")
	store, err := s3.Open(ctx, s3.Settings{Bucket: name})
	if err != nil {
		return nil, err
	}
	prefix = strings.Trim(prefix, "/")
	return &bucket{files.Store(ctx, store, prefix), store, prefix}, nil
}

// place is a directory or an s3:// prefix to read from.
func place(ctx context.Context, uri string) (fs.FS, error) {
	if remote(uri) {
		return open(ctx, uri)
	}
	return files.Disk(strings.TrimPrefix(uri, "file://")), nil
}

// hold takes the directory for this attempt and begins its log. A directory that
// another program holds is not touched.
func (d *directory) hold(ctx context.Context, stdout io.Writer) error {
	d.local = files.Disk(d.path)
	if err := os.MkdirAll(d.path, 0o750); err != nil {
		return err
	}
	var err error
	d.lock, err = filelock.Take(filepath.Join(d.path, "job.lock"))
	if errors.Is(err, filelock.ErrHeld) {
		return ends(job.ExitBusy, "%s: another program trains here", d.path)
	}
	if err != nil {
		return err
	}
	for _, part := range []string{"metrics", "samples", "log", checkpoints, "inputs"} {
		if err := os.MkdirAll(filepath.Join(d.path, part), 0o750); err != nil {
			return err
		}
	}
	d.log, err = os.OpenFile(filepath.Join(d.path, d.own("log", "log")), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	d.out = io.MultiWriter(stdout, d.log)
	if d.output != "" {
		if d.mirror, err = open(ctx, d.output); err != nil {
			return err
		}
	}
	return d.remove(ctx, fileFailure)
}

func (d *directory) say(format string, args ...any) {
	fmt.Fprintf(d.out, "trainjob: "+format+"\n", args...)
}

// own names a file that each attempt has of its own.
func (d *directory) own(part, ending string) string {
	return fmt.Sprintf("%s/a%d.%s", part, d.number, ending)
}

// put writes a file here, and then in the store.
func (d *directory) put(ctx context.Context, name string, body []byte) error {
	if err := d.local.Put(ctx, name, body); err != nil || d.mirror == nil {
		return err
	}
	return d.mirror.Put(ctx, name, body)
}

// remove removes a file here and in the store.
func (d *directory) remove(ctx context.Context, name string) error {
	if err := os.Remove(filepath.Join(d.path, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if d.mirror == nil {
		return nil
	}
	return d.mirror.store.Delete(ctx, d.mirror.prefix+"/"+name)
}

// add appends a line to a file. One that a killed attempt left unfinished is closed
// first, so that it spoils no other.
func (d *directory) add(name string, line []byte) error {
	f, err := os.OpenFile(filepath.Join(d.path, name), os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600) //nolint:gosec // the directory is what the contract says
	if err != nil {
		return err
	}
	if info, err := f.Stat(); err == nil && info.Size() > 0 {
		last := make([]byte, 1)
		if _, err := f.ReadAt(last, info.Size()-1); err == nil && last[0] != '\n' {
			line = append([]byte("\n"), line...)
		}
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

// putLines puts what grows line by line into the store, whole.
func (d *directory) putLines(ctx context.Context) error {
	if d.mirror == nil {
		return nil
	}
	for _, name := range []string{d.own("metrics", "jsonl"), d.own("samples", "jsonl"), d.own("log", "log")} {
		body, err := fs.ReadFile(d.local, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = d.mirror.Put(ctx, name, body)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// bring copies all below a folder of the store that is not here.
func (d *directory) bring(ctx context.Context, folder string) error {
	objects, err := d.mirror.store.List(ctx, d.mirror.prefix+"/"+folder+"/")
	if err != nil {
		return err
	}
	for _, o := range objects {
		name := strings.TrimPrefix(o.Key, d.mirror.prefix+"/")
		if _, err := fs.Stat(d.local, name); err == nil {
			continue
		}
		body, err := fs.ReadFile(d.mirror, name)
		if err == nil {
			err = d.local.Put(ctx, name, body)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
