package textfile

import (
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// form is what a file can be, by its first bytes. In magic, ? stands for any byte.
type form struct {
	name, magic string
	decode      func(src io.Reader) (io.Reader, error)
	unpack      func(src io.Reader) (inside io.Reader, stop func(), err error)
}

// forms are in the order in which they are looked for: longer magics come first.
var forms = []form{
	{name: "gzip", magic: "\x1f\x8b", unpack: unpackGzip},
	{name: "zstd", magic: "\x28\xb5\x2f\xfd", unpack: unpackZstd},
	{name: "zstd", magic: "?\x2a\x4d\x18", unpack: unpackZstd}, // a frame to skip comes first
	{name: "a byte order mark", magic: "\xef\xbb\xbf", decode: skip(3)},
	{magic: "\xff\xfe\x00\x00", decode: refuse("text in UTF-32; want UTF-8: iconv -f UTF-32 -t UTF-8 FILE")},
	{magic: "\x00\x00\xfe\xff", decode: refuse("text in UTF-32; want UTF-8: iconv -f UTF-32 -t UTF-8 FILE")},
	{magic: "\xff\xfe", decode: utf16In(2, little)},
	{magic: "\xfe\xff", decode: utf16In(2, big)},
	{magic: "PK\x03\x04", decode: refuse("a zip archive; want the text file in it: unzip -p FILE")},
	{magic: "\xfd7zXZ\x00", decode: refuse("a text packed with xz; want it plain, or packed with gzip or zstd: xz -dc FILE")},
	{magic: "BZh?1AY&SY", decode: refuse("a text packed with bzip2; want it plain, or packed with gzip or zstd: bzip2 -dc FILE")},
	{magic: "PAR1", decode: refuse("a Parquet file; want JSON lines: pandas.read_parquet(FILE).to_json(OUT, orient='records', lines=True)")},
	{magic: "ARROW1\x00\x00", decode: refuse("an Arrow file; want JSON lines: pandas.read_feather(FILE).to_json(OUT, orient='records', lines=True)")},
	{magic: "?\x00", decode: utf16In(0, little)}, // no text in UTF-8 has a zero there
	{magic: "\x00?", decode: utf16In(0, big)},
}

// matches says whether a file that begins so is of this form.
func (f form) matches(head []byte) bool {
	return len(head) >= len(f.magic) && f.agrees(head)
}

// agrees says whether nothing in the bytes speaks against the form.
func (f form) agrees(head []byte) bool {
	for i := range min(len(head), len(f.magic)) {
		if f.magic[i] != '?' && f.magic[i] != head[i] {
			return false
		}
	}
	return true
}

// undecided says that more bytes could still change the form.
func undecided(head []byte) bool {
	for _, f := range forms {
		if len(head) < len(f.magic) && f.agrees(head) {
			return true
		}
	}
	return false
}

func unpackGzip(src io.Reader) (io.Reader, func(), error) {
	z, err := gzip.NewReader(src)
	return z, nil, err
}

func unpackZstd(src io.Reader) (io.Reader, func(), error) {
	z, err := zstd.NewReader(src, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, nil, err
	}
	return z, z.Close, nil
}

// skip passes over a mark.
func skip(n int64) func(io.Reader) (io.Reader, error) {
	return func(src io.Reader) (io.Reader, error) {
		_, err := io.CopyN(io.Discard, src, n)
		return src, err
	}
}

func refuse(what string) func(io.Reader) (io.Reader, error) {
	return func(io.Reader) (io.Reader, error) { return nil, fmt.Errorf("found %s", what) }
}
