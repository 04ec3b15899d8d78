package checkpoint

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"time"

	"floe/internal/artifact"
	"floe/internal/atomicfile"
	"floe/internal/job"
)

// getter brings files of one step into one folder.
type getter struct {
	steps  artifact.Steps
	step   artifact.Manifest
	dir    string
	report func(string)

	done, total int64
	told        time.Time
}

func (g *getter) all(ctx context.Context, m job.Manifest, part Part) error {
	for _, f := range m.Files {
		if part.wants(f) {
			g.total += f.Size
		}
	}
	for _, f := range m.Files {
		if !part.wants(f) {
			continue
		}
		before := g.done
		whole, err := g.whole(ctx, f)
		if err == nil && !whole {
			g.done = before
			err = g.get(ctx, f)
			if _, damaged := errors.AsType[*artifact.CorruptError](err); damaged {
				g.done = before
				err = g.get(ctx, f) // once more: a bit that was flipped on the way is no damage in the store
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (g *getter) path(f job.File) string { return filepath.Join(g.dir, filepath.FromSlash(f.Path)) }

// whole says whether a file is on the disk as it should be. A link is none of ours:
// what it points to can change.
func (g *getter) whole(ctx context.Context, f job.File) (bool, error) {
	info, err := os.Lstat(g.path(f))
	if err != nil || !info.Mode().IsRegular() || info.Size() != f.Size {
		return false, nil //nolint:nilerr // it is fetched then, and what hinders that is told
	}
	file, err := os.Open(g.path(f))
	if err != nil {
		return false, nil //nolint:nilerr // as above
	}
	defer func() { _ = file.Close() }() // it was only read
	sum := sha256.New()
	_, err = io.Copy(sum, g.counted(ctx, file, "looking at"))
	return err == nil && hex.EncodeToString(sum.Sum(nil)) == f.SHA256, ctx.Err()
}

// get fetches one file, and puts it in its place when it is whole and on the disk.
func (g *getter) get(ctx context.Context, f job.File) (err error) {
	r, err := g.steps.Open(ctx, g.step, Prefix+f.Path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	to := g.path(f)
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil { //nolint:gosec // a server of another user may read it
		return err
	}
	err = atomicfile.Write(to, 0o644, func(w io.Writer) error {
		sum := sha256.New()
		if _, err := io.Copy(io.MultiWriter(w, sum), g.counted(ctx, r, "fetching")); err != nil {
			return err
		}
		return verified(f, sum)
	})
	if err != nil {
		return fmt.Errorf("%s: %w", f.Path, err)
	}
	return nil
}

func verified(f job.File, sum hash.Hash) error {
	if found := hex.EncodeToString(sum.Sum(nil)); found != f.SHA256 {
		return fmt.Errorf("found sha256 %s; want %s", found, f.SHA256)
	}
	return nil
}

const tellEvery = time.Second

// counted tells how far it is, and ends when the context does.
func (g *getter) counted(ctx context.Context, r io.Reader, doing string) io.Reader {
	return readerFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		n, err := r.Read(p)
		g.done += int64(n)
		if now := time.Now(); now.Sub(g.told) >= tellEvery {
			g.told = now
			g.report(fmt.Sprintf("%s checkpoint: %s of %s", doing, size(g.done), size(g.total)))
		}
		return n, err
	})
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// size is a number of bytes for people.
func size(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.1f GB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.0f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%d bytes", n)
}
