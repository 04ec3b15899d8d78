package ask

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sync/errgroup"

	"floe/internal/artifact"
)

// Objects is a journal in an artifact store: segments of answers under a prefix,
// zstd of one JSON object a line. Any worker goes on with it. Answers that come while
// the store is busy with those before share a segment.
type Objects struct {
	store  artifact.Store
	prefix string

	storing sync.Mutex // held by the one that stores a segment

	mu   sync.Mutex
	open *segment // takes answers; nil: none waits
}

var _ Journal = (*Objects)(nil)

const (
	putWithin = time.Minute
	deletes   = 16 // at one time
)

// InStore is the journal under a prefix, such as steps/evaluate/<key>/answers.
func InStore(store artifact.Store, prefix string) *Objects {
	return &Objects{store: store, prefix: strings.TrimSuffix(prefix, "/") + "/"}
}

// segment is answers on their way into the store together.
type segment struct {
	lines  bytes.Buffer
	stored chan struct{} // closed when it is stored, or cannot be
	err    error         // set before stored is closed
}

// Add implements Journal. The first answer of a segment stores it for all.
func (j *Objects) Add(ctx context.Context, a Answer) error {
	line, err := encodeLine(a)
	if err != nil {
		return err
	}
	s, first := j.join(line)
	if !first {
		<-s.stored
		return s.err
	}
	j.storing.Lock()
	defer j.storing.Unlock()
	j.detach(s)
	s.err = j.put(context.WithoutCancel(ctx), s.lines.Bytes())
	close(s.stored)
	return s.err
}

func (j *Objects) join(line []byte) (s *segment, first bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if first = j.open == nil; first {
		j.open = &segment{stored: make(chan struct{})}
	}
	j.open.lines.Write(line)
	return j.open, first
}

// detach keeps more answers from joining.
func (j *Objects) detach(s *segment) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.open == s {
		j.open = nil
	}
}

// put stores a segment. Its name sorts by time and is told apart by its content.
func (j *Objects) put(ctx context.Context, lines []byte) error {
	ctx, cancel := context.WithTimeout(ctx, putWithin)
	defer cancel()
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	packed := z.EncodeAll(lines, nil)
	sum := sha256.Sum256(packed)
	key := fmt.Sprintf("%s%020d-%x.jsonl.zst", j.prefix, time.Now().UnixNano(), sum[:4])
	return errors.Join(z.Close(), j.store.Put(ctx, key, bytes.NewReader(packed)))
}

// Load implements Journal. Two workers may have asked the same item, one of them
// having been given up for dead: the first answer counts.
func (j *Objects) Load(ctx context.Context, take func(Answer) error) error {
	listed, err := j.store.List(ctx, j.prefix)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, o := range listed {
		err := j.read(ctx, o.Key, func(a Answer) error {
			if seen[a.ID] {
				return nil
			}
			seen[a.ID] = true
			return take(a)
		})
		if err != nil {
			return fmt.Errorf("segment %s: %w", j.store.URL(o.Key), err)
		}
	}
	return nil
}

func (j *Objects) read(ctx context.Context, key string, take func(Answer) error) (err error) {
	r, err := j.store.Get(ctx, key)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	packed, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return err
	}
	defer z.Close()
	lines, err := z.DecodeAll(packed, nil)
	if err != nil {
		return err
	}
	_, err = readAnswers(ctx, key, bytes.NewReader(lines), take)
	return err
}

// Drop removes the journal, once its answers are kept elsewhere for good.
func (j *Objects) Drop(ctx context.Context) error {
	listed, err := j.store.List(ctx, j.prefix)
	if err != nil {
		return err
	}
	var calls errgroup.Group
	calls.SetLimit(deletes)
	for _, o := range listed {
		calls.Go(func() error { return j.store.Delete(ctx, o.Key) })
	}
	return calls.Wait()
}
