package main

import (
	"io"
	"os"
	"strings"
)

// withProgress shows how much of a file has been read. Nothing is shown for what
// has no length to go by, nor while rows are written to the same terminal.
func (a *app) withProgress(r io.Reader, file, what string) (with io.Reader, done func()) {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() || strings.HasSuffix(file, ".zst") || terminal(a.out) {
		return r, func() {}
	}
	m := a.meter(what)
	return &meteredReader{r, m, 0, info.Size()}, m.close
}

type meteredReader struct {
	r          io.Reader
	meter      *meter
	read, size int64
}

func (m *meteredReader) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	m.read += int64(n)
	m.meter.show(int(m.read), int(m.size))
	return n, err
}
