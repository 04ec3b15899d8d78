package artifacttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"floe/internal/artifact"
)

func (s *suite) whatIsPutIsGot() {
	for _, size := range []int{0, 1, 4096, 1 << 20, Large} {
		if size == Large && testing.Short() {
			continue
		}
		name := fmt.Sprintf("round-trip/%d_A=b.bin", size)
		want := noise(name, size)
		s.mustPut(name, want)
		if got := s.mustGet(name); !bytes.Equal(got, want) {
			s.Errorf("got %d bytes back; want the %d that were put", len(got), len(want))
		}
	}
}

func (s *suite) putReadsFromTheStart() {
	body := strings.NewReader("whole")
	if _, err := body.Seek(3, io.SeekStart); err != nil {
		s.Fatal(err)
	}
	if err := s.Put(s.Context(), s.key("start"), body); err != nil {
		s.Fatal(err)
	}
	if got := s.mustGet("start"); string(got) != "whole" {
		s.Errorf("got %q; want %q", got, "whole")
	}
}

func (s *suite) putReplaces() {
	for _, content := range []string{"first and longer", "second", ""} {
		s.mustPut("replaced", []byte(content))
		if got := s.mustGet("replaced"); string(got) != content {
			s.Errorf("got %q; want %q", got, content)
		}
	}
}

func (s *suite) whatIsNotThereIsNotFound() {
	s.wantNothingAt("never-put")
	s.mustPut("folder/file", nil)
	s.wantNothingAt("folder")
	s.wantNothingAt("folder/fil")
	if got := s.names(); !slices.Equal(got, []string{"folder/file"}) {
		s.Errorf("listed %q; want only folder/file", got)
	}
}

func (s *suite) deletingTwiceIsFine() {
	s.mustPut("gone/soon", []byte("x"))
	s.mustPut("gone/not", []byte("x"))
	for range 2 {
		if err := s.Delete(s.Context(), s.key("gone/soon")); err != nil {
			s.Fatal(err)
		}
	}
	if err := s.Delete(s.Context(), s.key("no/such/folder")); err != nil {
		s.Error(err)
	}
	s.wantNothingAt("gone/soon")
	if got := s.names(); !slices.Equal(got, []string{"gone/not"}) {
		s.Errorf("listed %q; want gone/not", got)
	}
}

// listIsInKeyOrderAndWhole lists more than one page, with names around the
// slash in byte order.
func (s *suite) listIsInKeyOrderAndWhole() {
	names := []string{"a-b/x", "a.x", "a/b", "a/b-c", "a/b.d/e", "a/c", "a0", "A", "a_/z"}
	if !testing.Short() {
		for i := range 1100 {
			names = append(names, fmt.Sprintf("many/%d/%d", i%7, i))
		}
	}
	s.inParallel(len(names), func(i int) error {
		return s.Put(s.Context(), s.key(names[i]), strings.NewReader("x"))
	})
	slices.Sort(names)
	if got := s.names(); !slices.Equal(got, names) {
		s.Errorf("listed %d keys, %.9q...; want %d, %.9q...", len(got), got[:min(9, len(got))], len(names), names[:9])
	}
	under, err := s.List(s.Context(), s.key("a/b"))
	if err != nil || len(under) != 3 {
		s.Errorf("prefix a/b lists %v, %v; want its 3 keys", under, err)
	}
	none, err := s.List(s.Context(), s.key("nothing/here/"))
	if err != nil || len(none) != 0 {
		s.Errorf("a prefix of nothing lists %v, %v", none, err)
	}
}

func (s *suite) listTellsSizeAndTime() {
	s.mustPut("sized", make([]byte, 1234))
	listed, err := s.List(s.Context(), s.key("sized"))
	if err != nil || len(listed) != 1 {
		s.Fatalf("listed %v, %v; want one object", listed, err)
	}
	if o := listed[0]; o.Size != 1234 || o.Modified.IsZero() || o.Key != s.key("sized") {
		s.Errorf("got %+v; want key, 1234 bytes and a time", o)
	}
}

func (s *suite) aCopyIsWhatWasCopied() {
	for _, size := range []int{0, 1234, 1 << 20} {
		name := fmt.Sprintf("copied/%d_A=b.bin", size)
		s.mustPut(name, noise(name, size))
		from := artifact.Object{Key: s.key(name), Size: int64(size)}
		if err := s.Copy(s.Context(), from, s.key("copy/of/"+name)); err != nil {
			s.Fatal(err)
		}
		for _, key := range []string{name, "copy/of/" + name} {
			if got := s.mustGet(key); !bytes.Equal(got, noise(name, size)) {
				s.Errorf("%s is %d other bytes", key, len(got))
			}
		}
	}
	if err := s.Copy(s.Context(), artifact.Object{Key: s.key("never-put")}, s.key("nowhere")); !errors.Is(err, artifact.ErrNotFound) {
		s.Errorf("copy of what is not there: %v; want ErrNotFound", err)
	}
	s.wantNothingAt("nowhere")
}

func (s *suite) badKeysAreRefused() {
	for _, key := range []string{"", "/", "a//b", "/a", "a/", "a/../b", ".", "a b", "ä", "a\x00", strings.Repeat("k", 256), strings.Repeat("k/", 600)} {
		if err := s.Put(s.Context(), key, strings.NewReader("x")); err == nil {
			s.Errorf("put under key %.20q worked; want it to be refused", key)
		}
		if err := s.PutIfAbsent(s.Context(), key, []byte("x")); err == nil || errors.Is(err, artifact.ErrExists) {
			s.Errorf("put if absent under key %.20q: %v; want it to be refused", key, err)
		}
	}
	s.mustPut(strings.Repeat("k", 255-len(s.prefix))+"/"+strings.Repeat("k", 255), []byte("longest"))
}

func (s *suite) oneOfManyWinsAnAbsentKey() {
	const writers = 50
	var wins atomic.Int32
	var winner atomic.Value
	s.inParallel(writers, func(i int) error {
		content := fmt.Sprintf("writer %d", i)
		err := s.PutIfAbsent(s.Context(), s.key("race/prize"), []byte(content))
		if errors.Is(err, artifact.ErrExists) {
			return nil
		}
		if err == nil {
			wins.Add(1)
			winner.Store(content)
		}
		return err
	})
	if wins.Load() != 1 {
		s.Fatalf("%d writers won; want exactly one", wins.Load())
	}
	if got := string(s.mustGet("race/prize")); got != winner.Load() {
		s.Errorf("the store holds %q; the winner wrote %q", got, winner.Load())
	}
}

func (s *suite) theWinnerStays() {
	if err := s.PutIfAbsent(s.Context(), s.key("once"), []byte("first")); err != nil {
		s.Fatal(err)
	}
	if err := s.PutIfAbsent(s.Context(), s.key("once"), []byte("second")); !errors.Is(err, artifact.ErrExists) {
		s.Errorf("second put if absent: %v; want ErrExists", err)
	}
	if got := string(s.mustGet("once")); got != "first" {
		s.Errorf("got %q; want %q", got, "first")
	}
	if err := s.Delete(s.Context(), s.key("once")); err != nil {
		s.Fatal(err)
	}
	if err := s.PutIfAbsent(s.Context(), s.key("once"), nil); err != nil {
		s.Errorf("put if absent after delete: %v", err)
	}
}

func (s *suite) aBrokenBodyLeavesNothing() {
	broken := errors.New("the disk is gone")
	for _, size := range []int{1 << 10, Large} {
		name := fmt.Sprintf("broken-%d", size)
		body := &trap{Reader: bytes.NewReader(make([]byte, size)), at: size * 3 / 4, spring: func() error { return broken }}
		if err := s.Put(s.Context(), s.key(name), body); !errors.Is(err, broken) {
			s.Errorf("put of a body that breaks: %v; want its own error", err)
		}
		s.wantNothingAt(name)
	}
}

func (s *suite) aCancelledPutLeavesNothing() {
	for _, size := range []int{1 << 20, Large} {
		name := fmt.Sprintf("cancelled-%d", size)
		ctx, cancel := context.WithCancel(s.Context())
		body := &trap{Reader: bytes.NewReader(make([]byte, size)), at: size * 3 / 4, spring: func() error { cancel(); return nil }}
		if err := s.Put(ctx, s.key(name), body); !errors.Is(err, context.Canceled) {
			s.Errorf("cancelled put: %v; want context.Canceled", err)
		}
		cancel()
		s.wantNothingAt(name)
	}
}

// trap is a body that does something when it was read up to a point.
type trap struct {
	*bytes.Reader
	at     int
	spring func() error
}

func (t *trap) Read(p []byte) (int, error) {
	if int(t.Size())-t.Len() >= t.at {
		if err := t.spring(); err != nil {
			return 0, err
		}
	}
	return t.Reader.Read(p[:min(len(p), max(1, t.at/2))])
}

// WriteTo would let io.Copy pass the trap by.
func (t *trap) WriteTo(w io.Writer) (int64, error) {
	return io.Copy(w, struct{ io.Reader }{t})
}

func (s *suite) aReaderNeverSeesAMixture() {
	const size = 1 << 18
	s.mustPut("shifting", bytes.Repeat([]byte{'0'}, size))
	s.inParallel(8, func(i int) error {
		if i%2 == 0 {
			return s.Put(s.Context(), s.key("shifting"), bytes.NewReader(bytes.Repeat([]byte{byte('0' + i)}, size)))
		}
		content, err := s.tryGet("shifting")
		if err != nil {
			return err
		}
		if len(content) != size || bytes.Count(content, content[:1]) != size {
			return fmt.Errorf("a reader saw %d bytes of several writers", len(content))
		}
		return nil
	})
}

// neighboursDoNotDisturb deletes and puts in one folder at once: servers that
// keep files remove folders that became empty.
func (s *suite) neighboursDoNotDisturb() {
	s.inParallel(8, func(i int) error {
		for range 12 {
			name := fmt.Sprintf("street/deep/er/%d", i)
			if err := s.Put(s.Context(), s.key(name), strings.NewReader(name)); err != nil {
				return err
			}
			if got, err := s.tryGet(name); err != nil || string(got) != name {
				return fmt.Errorf("got %q, %w; want %q", got, err, name)
			}
			if err := s.Delete(s.Context(), s.key(name)); err != nil {
				return err
			}
		}
		return nil
	})
	if got := s.names(); len(got) != 0 {
		s.Errorf("left behind: %q", got)
	}
}

func (s *suite) anEndedContextIsHonoured() {
	s.mustPut("there", []byte("x"))
	ctx, cancel := context.WithCancel(s.Context())
	cancel()
	_, get := s.Get(ctx, s.key("there"))
	_, list := s.List(ctx, s.prefix)
	for name, err := range map[string]error{
		"get": get, "list": list,
		"put":           s.Put(ctx, s.key("new"), strings.NewReader("x")),
		"put if absent": s.PutIfAbsent(ctx, s.key("new"), []byte("x")),
		"delete":        s.Delete(ctx, s.key("there")),
		"check":         s.Check(ctx),
	} {
		if !errors.Is(err, context.Canceled) {
			s.Errorf("%s with an ended context: %v; want context.Canceled", name, err)
		}
	}
	if got := s.names(); !slices.Equal(got, []string{"there"}) {
		s.Errorf("listed %q; want only what was there", got)
	}
}

func (s *suite) checkPasses() {
	if err := s.Check(s.Context()); err != nil {
		s.Error(err)
	}
}

func (s *suite) urlNamesTheKey() {
	if got := s.URL("steps/train/k/manifest.json"); !strings.HasSuffix(got, "/steps/train/k/manifest.json") {
		s.Errorf("URL %q; want it to end in the key", got)
	}
}
