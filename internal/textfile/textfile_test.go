package textfile_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf16"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"floe/internal/textfile"
)

func inUTF16(order binary.AppendByteOrder, mark bool, text string) string {
	var b []byte
	units := utf16.Encode([]rune(text))
	if mark {
		units = append([]uint16{0xfeff}, units...)
	}
	for _, u := range units {
		b = order.AppendUint16(b, u)
	}
	return string(b)
}

func gzipped(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, text); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	return b.String()
}

func zstandard(t testing.TB, text string) string {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(w.EncodeAll([]byte(text), nil))
}

const sample = "{\"id\":\"a\",\"answer\":\"\u2192 \U0001F600\"}\r\n{\"id\":\"b\"}\n"

func TestTextIsReadInEveryFormThatPeopleHave(t *testing.T) {
	for name, body := range map[string]string{
		"plain": sample, "mark": "\ufeff" + sample,
		"UTF-16 LE": inUTF16(binary.LittleEndian, true, sample), "UTF-16 BE": inUTF16(binary.BigEndian, true, sample),
		"UTF-16 LE without a mark": inUTF16(binary.LittleEndian, false, sample), "UTF-16 BE without a mark": inUTF16(binary.BigEndian, false, sample),
		"gzip": gzipped(t, sample), "zstd": zstandard(t, sample),
		"gzip in two parts":    gzipped(t, sample[:20]) + gzipped(t, sample[20:]),
		"zstd behind a skip":   "\x50\x2a\x4d\x18\x04\x00\x00\x00abcd" + zstandard(t, sample),
		"a mark inside gzip":   gzipped(t, "\ufeff"+sample),
		"UTF-16 inside zstd":   zstandard(t, inUTF16(binary.LittleEndian, true, sample)),
		"nothing":              "",
		"one byte":             "1",
		"a mark alone":         "\ufeff",
		"a long text":          strings.Repeat(sample, 5000),
		"a long text in UTF16": inUTF16(binary.BigEndian, true, strings.Repeat(sample, 5000)),
	} {
		want := sample
		switch name {
		case "nothing", "a mark alone":
			want = ""
		case "one byte":
			want = body
		case "a long text", "a long text in UTF16":
			want = strings.Repeat(sample, 5000)
		}
		for how, src := range map[string]io.Reader{
			"at once": strings.NewReader(body), "byte by byte": iotest.OneByteReader(strings.NewReader(body)),
			"with the end at hand": iotest.DataErrReader(strings.NewReader(body)),
		} {
			got, err := io.ReadAll(textfile.NewReader(src))
			if err != nil || string(got) != want {
				t.Errorf("%s, %s: %d bytes, %v; want %d", name, how, len(got), err, len(want))
			}
		}
	}
}

func TestWhatIsNoTextSaysHowToMakeIt(t *testing.T) {
	for name, c := range map[string]struct{ body, says string }{
		"zip":              {"PK\x03\x04rest", "unzip -p"},
		"xz":               {"\xfd7zXZ\x00rest", "xz -dc"},
		"bzip2":            {"BZh91AY&SYrest", "bzip2 -dc"},
		"Parquet":          {"PAR1rest", "read_parquet"},
		"Arrow":            {"ARROW1\x00\x00rest", "read_feather"},
		"UTF-32":           {"\xff\xfe\x00\x00{\x00\x00\x00", "iconv"},
		"twice":            {gzipped(t, zstandard(t, sample)), "zstd inside gzip"},
		"gzip, cut off":    {gzipped(t, sample)[:20], "cut off"},
		"zstd, cut off":    {zstandard(t, sample)[:20], "cut off"},
		"gzip, damaged":    {strings.Replace(gzipped(t, sample), "\x1f\x8b\x08", "\x1f\x8b\x07", 1), "damage"},
		"half a letter":    {inUTF16(binary.LittleEndian, true, sample) + "x", "cut off"},
		"half a smiley":    {"\xff\xfe\x3d\xd8a\x00", "half a character"},
		"an odd surrogate": {"\xff\xfea\x00\x3d\xd8", "half a character"},
	} {
		if got, err := io.ReadAll(textfile.NewReader(strings.NewReader(c.body))); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %q, %v; want an error with %q", name, got, err, c.says)
		}
	}
}

// TestALineIsReadAsSoonAsItIsThere: a trainer writes a line and waits for the verdict.
func TestALineIsReadAsSoonAsItIsThere(t *testing.T) {
	for _, line := range []string{"{}\n", "1\n", "?*\n", "PA\n", "\xef\n"} {
		in, out := io.Pipe()
		r := textfile.NewReader(in)
		go func() { _, _ = io.WriteString(out, line) }()
		got := make([]byte, len(line))
		if _, err := io.ReadFull(r, got); err != nil || string(got) != line {
			t.Errorf("%q: got %q, %v", line, got, err)
		}
		_ = out.Close()
	}
}

func TestAFileSaysHowMuchOfItHasBeenRead(t *testing.T) {
	body := gzipped(t, strings.Repeat(sample, 100))
	name := filepath.Join(t.TempDir(), "a.txt")
	if err := os.WriteFile(name, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := textfile.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, f); err != nil {
		t.Fatal(err)
	}
	if read, size, ok := f.Progress(); !ok || read != int64(len(body)) || size != read {
		t.Errorf("read %d of %d, %t; want all %d", read, size, ok, len(body))
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if _, err := textfile.ReadFile(name, 10); err == nil || !strings.Contains(err.Error(), "want at most") {
		t.Errorf("error %v; want the bound", err)
	}
	if body, err := textfile.ReadFile(name, 1<<20); err != nil || string(body) != strings.Repeat(sample, 100) {
		t.Errorf("%d bytes, %v", len(body), err)
	}
}

func TestValuesAreReadOverLines(t *testing.T) {
	type row struct {
		text string
		line int
	}
	for name, c := range map[string]struct {
		body string
		want []row
		says string
		line int
	}{
		"an array":               {"[\n {\"a\": 1},\n\n {\n\"a\": 2} ,3]\n\n", []row{{`{"a": 1}`, 2}, {"{\n\"a\": 2}", 4}, {"3", 5}}, "", 0},
		"an array on one line":   {`[{"a":1},{"a":2}]`, []row{{`{"a":1}`, 1}, {`{"a":2}`, 1}}, "", 0},
		"an empty array":         {" [ ] ", nil, "", 0},
		"objects":                {"{\n\"a\": 1\n}\n{\n\"a\": 2\n}", []row{{"{\n\"a\": 1\n}", 1}, {"{\n\"a\": 2\n}", 4}}, "", 0},
		"an object that is open": {"{\n\"a\": 1\n", nil, "found the end in value 1", 3},
		"an array that is open":  {"[\n{}\n", []row{{"{}", 2}}, "found the end in value 2", 3},
		"no JSON":                {"[\n{},\n{\"a\" 3}\n]", []row{{"{}", 2}}, "value 2 is not JSON", 3},
		"more behind":            {"[\n{}]\n\nx", []row{{"{}", 2}}, `found "x" behind the array`, 2},
		"a long value":           {"[\"" + strings.Repeat("x", 3000) + "\"", nil, "more than 0 MiB", 1},
	} {
		for how, src := range map[string]io.Reader{"at once": strings.NewReader(c.body), "byte by byte": iotest.OneByteReader(strings.NewReader(c.body))} {
			v := textfile.NewValues(src, 1, 2000)
			var got []row
			var err error
			var line int
			for err == nil {
				var text []byte
				if text, line, err = v.Next(); err == nil {
					got = append(got, row{string(text), line})
				}
			}
			if len(got) != len(c.want) {
				t.Errorf("%s, %s: %v; want %v", name, how, got, c.want)
				continue
			}
			for i := range got {
				if got[i] != c.want[i] {
					t.Errorf("%s, %s: %v; want %v", name, how, got[i], c.want[i])
				}
			}
			if c.says == "" && errors.Is(err, io.EOF) {
				continue
			}
			if errors.Is(err, io.EOF) || !strings.Contains(err.Error(), c.says) || line != c.line {
				t.Errorf("%s, %s: line %d: %v; want line %d: %s", name, how, line, err, c.line, c.says)
			}
		}
	}
}

func TestWholeNumbersMayHaveAFractionOfZeros(t *testing.T) {
	type row struct {
		Tokens int     `json:"tokens"`
		Rate   float64 `json:"rate"`
		Text   string  `json:"text"`
		Cells  [][]int `json:"cells"`
		Maybe  *int    `json:"maybe"`
	}
	var got row
	body := `{"tokens":64.0,"rate":1.0,"text":"1.0 \" 2.0","cells":[[1.0,2.00],[3e1,-0.0]],"maybe":1.5e2}`
	if err := textfile.UnmarshalStrict([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	if got.Tokens != 64 || got.Rate != 1 || got.Text != `1.0 " 2.0` || got.Cells[1][0] != 30 || got.Cells[1][1] != 0 || *got.Maybe != 150 {
		t.Errorf("got %+v", got)
	}
	for _, body := range []string{`{"tokens":64.5}`, `{"tokens":1e300}`, `{"tokens":9007199254740993.0}`, `{"tokens":1e-400}`, `{"tokens":"64"}`, `{"tokens":64.}`, `{"tokens":NaN}`} {
		if err := textfile.Unmarshal([]byte(body), &got); err == nil {
			t.Errorf("%s was read as %d", body, got.Tokens)
		}
	}
	for _, body := range []string{`{"a":1}x`, `{"b":1}`} {
		if err := textfile.UnmarshalStrict([]byte(body), &struct {
			A int `json:"a"`
		}{}); err == nil {
			t.Errorf("%s was read", body)
		}
	}
}

// FuzzReader reads anything: what is read is the same at once and byte by byte, and
// plain UTF-8 comes out as it went in.
func FuzzReader(f *testing.F) {
	for _, seed := range []string{
		sample, "\ufeff{}", inUTF16(binary.LittleEndian, true, sample), inUTF16(binary.BigEndian, false, sample), gzipped(f, sample),
		zstandard(f, sample), gzipped(f, gzipped(f, "x")), "PAR1", "\xff\xfe\x00\x00", "BZh", "?*M", "\x00", "\xef\xbb",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := textfile.ReadAll(bytes.NewReader(body), 1<<20)
		slow, errSlow := textfile.ReadAll(iotest.OneByteReader(bytes.NewReader(body)), 1<<20)
		if (err == nil) != (errSlow == nil) || err == nil && !bytes.Equal(got, slow) {
			t.Errorf("%q: %q, %v at once; %q, %v byte by byte", body, got, err, slow, errSlow)
		}
		if len(body) > 0 && body[0] == '{' && bytes.IndexByte(body, 0) < 0 && !bytes.Contains(body[:min(4, len(body))], []byte("*")) && !bytes.Equal(got, body) {
			t.Errorf("%q was read as %q, %v", body, got, err)
		}
	})
}

// FuzzWholeNumbers leaves what is JSON what it says.
func FuzzWholeNumbers(f *testing.F) {
	for _, seed := range []string{`{"a":64.0}`, `[1e2,-0.0,1.5,"1.0\"2.0"]`, `1.0.0`, `"`, `\`, `-`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var before, after any
		errBefore := textfile.Unmarshal(body, &before)
		errAfter := textfile.Unmarshal(textfile.WholeNumbers(body), &after)
		if (errBefore == nil) != (errAfter == nil) || errBefore == nil && !equal(before, after) {
			t.Errorf("%q: %v, %v; written out %v, %v", body, before, errBefore, after, errAfter)
		}
	})
}

func equal(a, b any) bool {
	switch a := a.(type) {
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !equal(a[i], b[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for k := range a {
			if !equal(a[k], b[k]) {
				return false
			}
		}
		return true
	}
	return a == b
}
