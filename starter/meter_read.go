package main

import (
	"io"

	"floe/internal/textfile"
)

// withProgress shows how much of a file has been read. Nothing is shown for what
// has no length to go by, nor while rows are written to the same terminal.
func (a *app) withProgress(r io.Reader, what string) (with io.Reader, done func()) {
	f, ok := r.(*textfile.File)
	if !ok || terminal(a.out) {
		return r, func() {}
	}
	if _, _, ok := f.Progress(); !ok {
		return r, func() {}
	}
	m := a.meter(what)
	return &meteredReader{f, m}, m.close
}

// meteredReader reads a file, and shows how far.
type meteredReader struct {
	*textfile.File

	meter *meter
}

func (m *meteredReader) Read(p []byte) (int, error) {
	n, err := m.File.Read(p)
	if read, size, ok := m.Progress(); ok {
		m.meter.show(int(read), int(size))
	}
	return n, err
}
