package policy

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// A sealed file is: 8 bytes magic, version (uint32), length of the body (uint64),
// the body, and the SHA-256 of all before it. Numbers are little-endian.
const (
	magicSize  = 8
	headerSize = magicSize + 4 + 8
	sealSize   = sha256.Size
)

func seal(magic string, version uint32, body []byte) []byte {
	file := make([]byte, 0, headerSize+len(body)+sealSize)
	file = append(file, magic...)
	file = binary.LittleEndian.AppendUint32(file, version)
	file = binary.LittleEndian.AppendUint64(file, uint64(len(body)))
	file = append(file, body...)
	sum := sha256.Sum256(file)
	return append(file, sum[:]...)
}

// unseal checks a file and returns its body, which shares the file's memory.
func unseal(what, magic string, version uint32, file []byte) ([]byte, error) {
	if len(file) < magicSize || string(file[:magicSize]) != magic {
		return nil, fmt.Errorf("this is no %s: it does not begin with %q", what, magic)
	}
	if len(file) < headerSize {
		return nil, fmt.Errorf("%s is cut off: %d bytes; its header alone is %d", what, len(file), headerSize)
	}
	if v := binary.LittleEndian.Uint32(file[magicSize:]); v != version {
		return nil, fmt.Errorf("%s has version %d; this program reads version %d", what, v, version)
	}
	want := binary.LittleEndian.Uint64(file[magicSize+4:])
	have := len(file) - headerSize - sealSize
	if have < 0 || uint64(have) < want {
		return nil, fmt.Errorf("%s is cut off: %d bytes where its header promises %d", what, len(file), want+headerSize+sealSize)
	}
	if uint64(have) > want {
		return nil, fmt.Errorf("%s has %d bytes too many", what, uint64(have)-want)
	}
	sum := sha256.Sum256(file[:len(file)-sealSize])
	if !bytes.Equal(sum[:], file[len(file)-sealSize:]) {
		return nil, fmt.Errorf("%s is damaged: its checksum is another one", what)
	}
	return file[headerSize : len(file)-sealSize], nil
}

// appendRows writes rows as float32.
func appendRows(to []byte, rows []row) []byte {
	for i := range rows {
		for _, x := range &rows[i] {
			to = binary.LittleEndian.AppendUint32(to, math.Float32bits(x))
		}
	}
	return to
}

const rowSize = 4 * hidden

// readRows is appendRows' inverse, for exactly n rows.
func readRows(from []byte, n int) ([]row, error) {
	if len(from) != n*rowSize {
		return nil, fmt.Errorf("%d bytes of weights; its shape wants %d", len(from), n*rowSize)
	}
	rows := make([]row, n)
	for i := range rows {
		for j := range rows[i] {
			x := math.Float32frombits(binary.LittleEndian.Uint32(from))
			if !finite(x) {
				return nil, errors.New("a weight is not a finite number")
			}
			rows[i][j] = x
			from = from[4:]
		}
	}
	return rows, nil
}

func finite(x float32) bool { return x-x == 0 }
