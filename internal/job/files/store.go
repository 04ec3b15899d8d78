package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"floe/internal/artifact"
	"floe/internal/job"
)

// Store is a job's directory in the store that the job keeps its files in, below
// a prefix without a slash at its end. The context bounds everything that is
// read.
func Store(ctx context.Context, s artifact.Store, prefix string) job.Files {
	return store{ctx, s, strings.TrimSuffix(prefix, "/")}
}

type store struct {
	ctx    context.Context //nolint:containedctx // fs.FS has no other way to bound a read
	store  artifact.Store
	prefix string
}

// Open implements fs.FS.
func (s store) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	body, err := s.store.Get(s.ctx, s.key(name))
	if errors.Is(err, artifact.ErrNotFound) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return &object{body, name}, nil
}

// ReadDir implements fs.ReadDirFS.
func (s store) ReadDir(name string) ([]fs.DirEntry, error) {
	prefix := s.key(name) + "/"
	listed, err := s.store.List(s.ctx, prefix)
	if err != nil {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: err}
	}
	var entries []fs.DirEntry
	for _, o := range listed {
		first, _, below := strings.Cut(strings.TrimPrefix(o.Key, prefix), "/")
		e := entry{name: first, dir: below, size: o.Size, modified: o.Modified}
		if !slices.ContainsFunc(entries, func(have fs.DirEntry) bool { return have.Name() == first }) {
			entries = append(entries, fs.FileInfoToDirEntry(e))
		}
	}
	return entries, nil
}

// Put implements job.Files.
func (s store) Put(ctx context.Context, name string, body []byte) error {
	if !fs.ValidPath(name) {
		return fmt.Errorf("put %q: want a path below the job's directory", name)
	}
	return s.store.Put(ctx, s.key(name), bytes.NewReader(body))
}

func (s store) key(name string) string { return path.Join(s.prefix, name) }

// object is an open object as a file that can be read.
type object struct {
	io.ReadCloser
	name string
}

// Stat implements fs.File; the size of a stream is not known.
func (o *object) Stat() (fs.FileInfo, error) { return entry{name: path.Base(o.name)}, nil }

// Read marks what goes wrong as trouble with the store, not with the job.
func (o *object) Read(p []byte) (int, error) {
	n, err := o.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = &fs.PathError{Op: "read", Path: o.name, Err: err}
	}
	return n, err
}

// entry is what a listing tells.
type entry struct {
	name     string
	dir      bool
	size     int64
	modified time.Time
}

func (e entry) Name() string       { return e.name }
func (e entry) Size() int64        { return e.size }
func (e entry) ModTime() time.Time { return e.modified }
func (e entry) IsDir() bool        { return e.dir }
func (e entry) Sys() any           { return nil }

// Mode is that of a folder or of a file that can be read.
func (e entry) Mode() fs.FileMode {
	if e.dir {
		return fs.ModeDir | 0o555
	}
	return 0o444
}
