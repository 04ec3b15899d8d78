package artifact_test

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"floe/internal/artifact"
)

func TestAStreamIsAFileThatIsOpenedAnew(t *testing.T) {
	const text = "what a checkpoint holds"
	opened, closed := 0, 0
	body := artifact.Stream("weights", int64(len(text)), func() (io.ReadCloser, error) {
		opened++
		return counting{strings.NewReader(text), &closed}, nil
	})
	r, err := body.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := iotest.TestReader(r, []byte(text)); err != nil {
		t.Error(err)
	}
	size, err := r.Seek(0, io.SeekEnd)
	if err != nil || size != int64(len(text)) {
		t.Errorf("ends at %d, %v; want %d", size, err, len(text))
	}
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r)
	if err != nil || !bytes.Equal(got, []byte(text)) {
		t.Errorf("read %q, %v", got, err)
	}
	if err := r.Close(); err != nil || opened == 0 || opened != closed {
		t.Errorf("%v; opened %d times and closed %d", err, opened, closed)
	}
}

type counting struct {
	io.Reader
	closed *int
}

func (c counting) Close() error {
	*c.closed++
	return nil
}
