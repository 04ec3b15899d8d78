// Package textfile reads text files as people have them: with a byte order mark, in
// UTF-16 as spreadsheets and PowerShell write it, packed with gzip or zstd. What a
// file is shows in its first bytes; its name does not matter. Readers get UTF-8
// without a mark, as a stream.
package textfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// File is an open text file.
type File struct {
	Reader

	file *os.File
	raw  counted
}

// Open opens a file. What its text is in is found out by the first Read.
func Open(name string) (*File, error) {
	file, err := os.Open(name) //nolint:gosec // the person named it
	if err != nil {
		return nil, err
	}
	f := &File{file: file, raw: counted{from: file}}
	f.src = &f.raw
	return f, nil
}

// Close closes the file.
func (f *File) Close() error {
	f.stop()
	return f.file.Close()
}

// Progress says how many bytes of the file have been read, and how many it has. It
// is false for what has no length, such as a pipe.
func (f *File) Progress() (read, size int64, ok bool) {
	info, err := f.file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return 0, 0, false
	}
	return f.raw.n, info.Size(), true
}

// counted counts what is read of a file as it is stored.
type counted struct {
	from io.Reader
	n    int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.n += int64(n)
	return n, err
}

// Reader reads text from a stream.
type Reader struct {
	src    io.Reader
	text   io.Reader // nil until the first bytes are known
	packed string    // what the stream around this one is packed with
	close  func()
	err    error
}

// NewReader reads text from a stream. Reading waits for no more than what it takes
// to know the stream's form: two bytes of plain text.
func NewReader(src io.Reader) *Reader { return &Reader{src: src} }

// Read reads UTF-8.
func (r *Reader) Read(p []byte) (int, error) {
	if r.text == nil && r.err == nil {
		r.text, r.err = r.open()
	}
	if r.err != nil {
		return 0, r.err
	}
	return r.text.Read(p)
}

func (r *Reader) stop() {
	if r.close != nil {
		r.close()
	}
}

// open looks at the first bytes.
func (r *Reader) open() (io.Reader, error) {
	head, err := r.head()
	rest := io.MultiReader(bytes.NewReader(head), after(err, r.src))
	for _, f := range forms {
		if !f.matches(head) {
			continue
		}
		if f.unpack == nil {
			return f.decode(rest)
		}
		if r.packed != "" {
			return nil, fmt.Errorf("found a text packed twice, with %s inside %s; unpack it once", f.name, r.packed)
		}
		return r.unpack(f, rest)
	}
	return rest, nil
}

// after is what follows the head: the source, or the error that ended it.
func after(err error, src io.Reader) io.Reader {
	if err != nil {
		return failing{err}
	}
	return src
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// head reads until the first bytes can be of one form only.
func (r *Reader) head() ([]byte, error) {
	head := make([]byte, 0, 4096)
	for len(head) < 2 || undecided(head) {
		n, err := r.src.Read(head[len(head):cap(head)])
		head = head[:len(head)+n]
		if err != nil {
			return head, err
		}
	}
	return head, nil
}

// unpack reads what is inside. It may be in any form that is not packed itself.
func (r *Reader) unpack(f form, src io.Reader) (io.Reader, error) {
	inside, stop, err := f.unpack(src)
	if err != nil {
		return nil, cutOff(f.name, err)
	}
	r.close = stop
	return &Reader{src: unpacking{f.name, inside}, packed: f.name}, nil
}

// unpacking names the form in errors.
type unpacking struct {
	form string
	io.Reader
}

func (u unpacking) Read(p []byte) (int, error) {
	n, err := u.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = cutOff(u.form, err)
	}
	return n, err
}

func cutOff(form string, err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return fmt.Errorf("found the end in the middle of what %s packed; the file is cut off", form)
	}
	return fmt.Errorf("found damage in what %s packed: %w", form, err)
}

// ReadFile reads a whole file of at most most bytes of text.
func ReadFile(name string, most int64) ([]byte, error) {
	f, err := Open(name)
	if err != nil {
		return nil, err
	}
	body, err := ReadAll(f, most)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return body, nil
}

// ReadAll reads a whole stream of at most most bytes of text.
func ReadAll(src io.Reader, most int64) ([]byte, error) {
	if _, plain := src.(*File); !plain {
		r := NewReader(src)
		defer r.stop()
		src = r
	}
	body, err := io.ReadAll(io.LimitReader(src, most+1))
	if err != nil {
		return nil, err
	}
	if int64(len(body)) > most {
		return nil, fmt.Errorf("found more than %d bytes; want at most that", most)
	}
	return body, nil
}
