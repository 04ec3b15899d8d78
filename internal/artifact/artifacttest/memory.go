// Package artifacttest proves stores and stands in for them: a conformance suite
// that every artifact.Store passes, and a store in memory whose faults a test
// can choose.
package artifacttest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"floe/internal/artifact"
)

// Memory is an honest store in memory. Its hooks make it fail as a test wants;
// set them before use. Safe for concurrent use.
type Memory struct {
	// BeforePut may refuse a put: nothing is written then.
	BeforePut func(key string) error
	// AfterPut may lose the answer to a put that was done.
	AfterPut func(key string) error
	// OnGet may change what is read, as a bad network would, or fail.
	OnGet func(key string, content []byte) ([]byte, error)

	mu      sync.Mutex
	objects map[string]object
}

type object struct {
	content  []byte
	modified time.Time
}

// NewMemory returns an empty store.
func NewMemory() *Memory { return &Memory{objects: map[string]object{}} }

// Nth is a hook that fails once, at its nth call (from 1).
func Nth(n int64, err error) func(string) error {
	var calls atomic.Int64
	return func(string) error {
		if calls.Add(1) == n {
			return err
		}
		return nil
	}
}

// Put implements artifact.Store.
func (m *Memory) Put(ctx context.Context, key string, body io.ReadSeeker) error {
	if _, err := body.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("put %s: %w", key, err)
	}
	content, err := io.ReadAll(body)
	if err != nil {
		return fmt.Errorf("put %s: %w", key, err)
	}
	return m.put(ctx, key, content, false)
}

// PutIfAbsent implements artifact.Store.
func (m *Memory) PutIfAbsent(ctx context.Context, key string, body []byte) error {
	return m.put(ctx, key, bytes.Clone(body), true)
}

func (m *Memory) put(ctx context.Context, key string, content []byte, onlyIfAbsent bool) error {
	if err := artifact.CheckKey(key); err != nil {
		return fmt.Errorf("put: %w", err)
	}
	if m.BeforePut != nil {
		if err := m.BeforePut(key); err != nil {
			return fmt.Errorf("put %s: %w", key, err)
		}
	}
	if err := m.store(ctx, key, content, onlyIfAbsent); err != nil {
		return fmt.Errorf("put %s: %w", key, err)
	}
	if m.AfterPut != nil {
		if err := m.AfterPut(key); err != nil {
			return fmt.Errorf("put %s: %w", key, err)
		}
	}
	return nil
}

func (m *Memory) store(ctx context.Context, key string, content []byte, onlyIfAbsent bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, taken := m.objects[key]; taken && onlyIfAbsent {
		return artifact.ErrExists
	}
	m.objects[key] = object{content, time.Now().UTC()}
	return nil
}

// Get implements artifact.Store.
func (m *Memory) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("get %s: %w", key, err)
	}
	m.mu.Lock()
	o, ok := m.objects[key]
	m.mu.Unlock()
	if !ok {
		return nil, fmt.Errorf("get %s: %w", key, artifact.ErrNotFound)
	}
	content := o.content
	if m.OnGet != nil {
		var err error
		if content, err = m.OnGet(key, bytes.Clone(content)); err != nil {
			return nil, fmt.Errorf("get %s: %w", key, err)
		}
	}
	return io.NopCloser(bytes.NewReader(content)), nil
}

// List implements artifact.Store.
func (m *Memory) List(ctx context.Context, prefix string) ([]artifact.Object, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("list %s: %w", prefix, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var listed []artifact.Object
	for key, o := range m.objects {
		if strings.HasPrefix(key, prefix) {
			listed = append(listed, artifact.Object{Key: key, Size: int64(len(o.content)), Modified: o.modified})
		}
	}
	slices.SortFunc(listed, func(a, b artifact.Object) int { return strings.Compare(a.Key, b.Key) })
	return listed, nil
}

// Delete implements artifact.Store.
func (m *Memory) Delete(ctx context.Context, key string) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("delete %s: %w", key, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.objects, key)
	return nil
}

// Copy implements artifact.Store.
func (m *Memory) Copy(ctx context.Context, from artifact.Object, to string) error {
	m.mu.Lock()
	o, ok := m.objects[from.Key]
	m.mu.Unlock()
	if !ok {
		return fmt.Errorf("copy %s: %w", from.Key, artifact.ErrNotFound)
	}
	return m.put(ctx, to, o.content, false)
}

// Check implements artifact.Store.
func (m *Memory) Check(ctx context.Context) error { return ctx.Err() }

// Now implements artifact.Clock.
func (m *Memory) Now(ctx context.Context) (time.Time, error) { return time.Now().UTC(), ctx.Err() }

// URL implements artifact.Store.
func (m *Memory) URL(key string) string { return "memory://" + key }

// Corrupt flips a bit in the middle of a stored object, or makes an empty one
// longer. It says whether the object was there.
func (m *Memory) Corrupt(key string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	o, ok := m.objects[key]
	if !ok {
		return false
	}
	o.content = bytes.Clone(o.content)
	if len(o.content) == 0 {
		o.content = []byte{0}
	} else {
		o.content[len(o.content)/2] ^= 1
	}
	m.objects[key] = o
	return true
}

// Age makes all objects that are there older.
func (m *Memory) Age(by time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, o := range m.objects {
		o.modified = o.modified.Add(-by)
		m.objects[key] = o
	}
}

// Keys are the keys of all objects under a prefix, in order.
func (m *Memory) Keys(prefix string) []string {
	listed, _ := m.List(context.Background(), prefix)
	keys := make([]string, len(listed))
	for i, o := range listed {
		keys[i] = o.Key
	}
	return keys
}
