package artifacttest

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"floe/internal/artifact"
	"floe/internal/experiment"
)

// Large is the size of the suite's big object. Stores that send big objects in
// parts have a threshold below it.
const Large = 40<<20 + 12345

// Run proves the promises of artifact.Store. Open returns a store that can be
// used; it may be shared, as all keys of the suite are under a prefix of their own.
func Run(t *testing.T, open func(t *testing.T) artifact.Store) {
	laws := []struct {
		name string
		law  func(*suite)
	}{
		{"WhatIsPutIsGot", (*suite).whatIsPutIsGot},
		{"PutReadsFromTheStart", (*suite).putReadsFromTheStart},
		{"PutReplaces", (*suite).putReplaces},
		{"WhatIsNotThereIsNotFound", (*suite).whatIsNotThereIsNotFound},
		{"DeletingTwiceIsFine", (*suite).deletingTwiceIsFine},
		{"ListIsInKeyOrderAndWhole", (*suite).listIsInKeyOrderAndWhole},
		{"ListTellsSizeAndTime", (*suite).listTellsSizeAndTime},
		{"ACopyIsWhatWasCopied", (*suite).aCopyIsWhatWasCopied},
		{"BadKeysAreRefused", (*suite).badKeysAreRefused},
		{"OneOfManyWinsAnAbsentKey", (*suite).oneOfManyWinsAnAbsentKey},
		{"TheWinnerStays", (*suite).theWinnerStays},
		{"ABrokenBodyLeavesNothing", (*suite).aBrokenBodyLeavesNothing},
		{"ACancelledPutLeavesNothing", (*suite).aCancelledPutLeavesNothing},
		{"AReaderNeverSeesAMixture", (*suite).aReaderNeverSeesAMixture},
		{"NeighboursDoNotDisturb", (*suite).neighboursDoNotDisturb},
		{"AnEndedContextIsHonoured", (*suite).anEndedContextIsHonoured},
		{"CheckPasses", (*suite).checkPasses},
		{"URLNamesTheKey", (*suite).urlNamesTheKey},
	}
	for _, l := range laws {
		t.Run(l.name, func(t *testing.T) {
			l.law(&suite{T: t, Store: open(t), prefix: "suite/" + rand.Text() + "/"})
		})
	}
}

type suite struct {
	*testing.T
	artifact.Store
	prefix string
}

func (s *suite) key(name string) string { return s.prefix + name }

func (s *suite) mustPut(name string, content []byte) {
	s.Helper()
	if err := s.Put(s.Context(), s.key(name), bytes.NewReader(content)); err != nil {
		s.Fatal(err)
	}
}

func (s *suite) mustGet(name string) []byte {
	s.Helper()
	content, err := s.tryGet(name)
	if err != nil {
		s.Fatal(err)
	}
	return content
}

func (s *suite) tryGet(name string) ([]byte, error) {
	r, err := s.Get(s.Context(), s.key(name))
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(r)
	return content, errors.Join(err, r.Close())
}

func (s *suite) wantNothingAt(name string) {
	s.Helper()
	if _, err := s.tryGet(name); !errors.Is(err, artifact.ErrNotFound) {
		s.Errorf("get of %s: %v; want ErrNotFound", name, err)
	}
	if keys := s.names(); slices.Contains(keys, name) {
		s.Errorf("%s is listed; want it to be absent", name)
	}
}

// names lists what is under the suite's prefix.
func (s *suite) names() []string {
	s.Helper()
	listed, err := s.List(s.Context(), s.prefix)
	if err != nil {
		s.Fatal(err)
	}
	var names []string
	for _, o := range listed {
		names = append(names, strings.TrimPrefix(o.Key, s.prefix))
	}
	return names
}

// noise is n bytes that do not compress and are the same for the same name.
func noise(name string, n int) []byte {
	b := make([]byte, (n+7)/8*8)
	rng := experiment.Rand("artifacttest", name)
	for i := 0; i < n; i += 8 {
		binary.LittleEndian.PutUint64(b[i:], rng.Uint64())
	}
	return b[:n]
}

// inParallel calls f for 0 to n-1, at most 50 at once, and reports each error.
func (s *suite) inParallel(n int, f func(i int) error) {
	s.Helper()
	var wg sync.WaitGroup
	slots := make(chan struct{}, 50)
	errs := make([]error, n)
	for i := range n {
		slots <- struct{}{}
		wg.Go(func() {
			errs[i] = f(i)
			<-slots
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		s.Fatal(err)
	}
}
