package homes

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"time"
)

// zone is a file of a time zone whose clock is put from one offset to another one
// second from now.
func (s *site) zone(before, after int32) string {
	s.Helper()
	var b bytes.Buffer
	write := func(v any) { s.must(binary.Write(&b, binary.BigEndian, v)) }
	b.WriteString("TZif")
	b.Write(make([]byte, 16))           // version 1
	write([6]uint32{0, 0, 0, 1, 2, 8})  // one transition between two types; names of eight bytes
	write(int32(time.Now().Unix() + 1)) // the transition
	b.WriteByte(1)                      // to the second type
	write(before)
	b.Write([]byte{0, 0}) // winter, its name
	write(after)
	b.Write([]byte{1, 4}) // summer
	b.WriteString("ONE\x00TWO\x00")
	file := filepath.Join(s.root, "zone")
	s.must(os.WriteFile(file, b.Bytes(), 0o644))
	return file
}
