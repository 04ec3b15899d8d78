package artifact

import (
	"errors"
	"fmt"
	"io"
)

// Stream is a file of a known size that is read anew from its start whenever it
// is needed, such as an object of another place. It is never held in memory.
func Stream(name string, size int64, open func() (io.ReadCloser, error)) Body {
	return Body{name, func() (io.ReadSeekCloser, error) { return &stream{size: size, open: open}, nil }}
}

// stream seeks by reading anew; it is opened when it is first read.
type stream struct {
	size int64
	open func() (io.ReadCloser, error)
	from int64         // where the next Read begins
	at   io.ReadCloser // nil: to be opened at from
}

// Read implements io.Reader.
func (s *stream) Read(p []byte) (int, error) {
	if s.at == nil {
		if s.from >= s.size {
			return 0, io.EOF
		}
		r, err := s.open()
		if err != nil {
			return 0, err
		}
		if _, err := io.CopyN(io.Discard, r, s.from); err != nil {
			return 0, errors.Join(err, r.Close())
		}
		s.at = r
	}
	n, err := s.at.Read(p)
	s.from += int64(n)
	return n, err
}

// Seek implements io.Seeker.
func (s *stream) Seek(offset int64, whence int) (int64, error) {
	to := offset
	switch whence {
	case io.SeekCurrent:
		to += s.from
	case io.SeekEnd:
		to += s.size
	}
	if to < 0 {
		return s.from, fmt.Errorf("seek to %d; want 0 or more", to)
	}
	if to == s.from {
		return to, nil
	}
	err := s.Close()
	s.from = to
	return to, err
}

// Close implements io.Closer.
func (s *stream) Close() error {
	if s.at == nil {
		return nil
	}
	err := s.at.Close()
	s.at = nil
	return err
}
