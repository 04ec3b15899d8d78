package attempt

import "io"

// Tail passes on what comes after a number of bytes, for logs that can be read
// only from their start. It keeps the trouble that the writer has, which is not
// that of whatever copies to it.
type Tail struct {
	W     io.Writer
	Skip  int64
	Wrote int64 // to W
	Err   error // of W
}

// Write implements io.Writer.
func (t *Tail) Write(p []byte) (int, error) {
	n := min(int64(len(p)), t.Skip)
	t.Skip -= n
	if int(n) == len(p) {
		return len(p), nil
	}
	wrote, err := t.W.Write(p[n:])
	t.Wrote += int64(wrote)
	if err != nil {
		t.Err = err
	}
	return int(n) + wrote, err
}
