package s3

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"golang.org/x/sync/errgroup"

	"floe/internal/artifact"
)

func (p *prover) credentials(ctx context.Context) error { return p.haveCredentials(ctx) }

const skewAllowed = 5 * time.Minute // servers refuse 15

func (p *prover) clock(ctx context.Context) error {
	now, err := p.Now(ctx)
	if err != nil {
		return err
	}
	if skew := time.Since(now).Round(time.Second); skew.Abs() > skewAllowed {
		return fmt.Errorf("this machine's clock differs by %s from the server's", skew)
	}
	return nil
}

// putRead puts an object and reads it back.
func (p *prover) putRead(ctx context.Context, name string, content []byte) error {
	if err := p.Put(ctx, p.folder+name, bytes.NewReader(content)); err != nil {
		return err
	}
	return p.holds(ctx, p.folder+name, content)
}

// holds says whether an object has this content.
func (s *Store) holds(ctx context.Context, key string, want []byte) error {
	r, err := s.Get(ctx, key)
	if err != nil {
		return err
	}
	got, err := io.ReadAll(r)
	if err := errors.Join(err, r.Close()); err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("%d bytes were put and %d came back, which differ", len(want), len(got))
	}
	return nil
}

func (p *prover) roundTrip(ctx context.Context) error {
	for _, size := range []int{0, 1000} {
		if err := p.putRead(ctx, "object", noise(size)); err != nil {
			return err
		}
	}
	if err := errors.Join(p.Delete(ctx, p.folder+"object"), p.Delete(ctx, p.folder+"object")); err != nil { // twice is fine
		return err
	}
	switch r, err := p.Get(ctx, p.folder+"object"); {
	case errors.Is(err, artifact.ErrNotFound):
		return nil
	case err != nil:
		return err
	default:
		return errors.Join(errors.New("it is still there after it was deleted"), r.Close())
	}
}

func (p *prover) replace(ctx context.Context) error {
	for i := range 5 {
		if err := p.putRead(ctx, "replaced", []byte(strings.Repeat("x", i+1))); err != nil {
			return err
		}
	}
	return nil
}

func (p *prover) conditions(ctx context.Context) error {
	var wins atomic.Int32
	group, racing := errgroup.WithContext(ctx)
	for i := range 8 {
		group.Go(func() error {
			err := p.PutIfAbsent(racing, p.folder+"prize", []byte{byte(i)})
			if errors.Is(err, artifact.ErrExists) {
				return nil
			}
			if err == nil {
				wins.Add(1)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if wins.Load() != 1 {
		return fmt.Errorf("of 8 puts with If-None-Match at the same time, %d won", wins.Load())
	}
	return nil
}

// names puts keys that servers which keep files might mix up or refuse.
func (p *prover) names(ctx context.Context) error {
	for _, name := range []string{"A=b.c_d-e", "a=B.c_d-e", strings.Repeat("k", 255), "deep/er/and/deeper/0"} {
		if err := p.putRead(ctx, "names/"+name, []byte(name)); err != nil {
			return err
		}
	}
	return p.holds(ctx, p.folder+"names/A=b.c_d-e", []byte("A=b.c_d-e"))
}

func (p *prover) listing(ctx context.Context) error {
	var names []string
	for _, name := range []string{"a-b/x", "a.x", "a/b", "a/c", "a0", "b", "c"} {
		names = append(names, p.folder+"list/"+name)
		if err := p.Put(ctx, p.folder+"list/"+name, strings.NewReader("x")); err != nil {
			return err
		}
	}
	for len(names) > 0 {
		if err := p.lists(ctx, names); err != nil {
			return err
		}
		if err := p.Delete(ctx, names[0]); err != nil {
			return err
		}
		names = names[1:]
	}
	return p.lists(ctx, nil)
}

// lists wants a listing of small pages and one of large pages to be what is there.
func (p *prover) lists(ctx context.Context, want []string) error {
	for _, size := range []int32{2, 0} {
		paged := *p.Store
		paged.page = size
		listed, err := paged.List(ctx, p.folder+"list/")
		if err != nil {
			return err
		}
		var got []string
		for _, o := range listed {
			got = append(got, o.Key)
		}
		if !slices.Equal(got, want) {
			return fmt.Errorf("%d objects are there and the listing names %d of them: %q", len(want), len(got), got)
		}
	}
	return nil
}

func (p *prover) ranges(ctx context.Context) error {
	content := noise(1000)
	if err := p.putRead(ctx, "part", content); err != nil {
		return err
	}
	key := p.folder + "part"
	head, err := p.client.HeadObject(ctx, &awss3.HeadObjectInput{Bucket: &p.bucket, Key: &key})
	if err != nil {
		return p.failed(ctx, "head", key, err)
	}
	out, err := p.client.GetObject(ctx, &awss3.GetObjectInput{Bucket: &p.bucket, Key: &key, Range: aws.String("bytes=400-"), IfMatch: head.ETag})
	if err != nil {
		return p.failed(ctx, "get a part of", key, err)
	}
	got, err := io.ReadAll(out.Body)
	if err := errors.Join(err, out.Body.Close()); err != nil {
		return p.failed(ctx, "get a part of", key, err)
	}
	if !bytes.Equal(got, content[400:]) {
		return fmt.Errorf("600 bytes were asked for by Range, and %d others came", len(got))
	}
	_, err = p.client.GetObject(ctx, &awss3.GetObjectInput{Bucket: &p.bucket, Key: &key, IfMatch: aws.String(`"another"`)})
	if answer, ok := errors.AsType[*awshttp.ResponseError](err); !ok || answer.HTTPStatusCode() != http.StatusPreconditionFailed {
		return errors.New("the server ignores If-Match, so a download that goes on could mix two versions of an object")
	}
	return nil
}

func (p *prover) copies(ctx context.Context) error {
	content := noise(1000)
	if err := p.putRead(ctx, "original", content); err != nil {
		return err
	}
	if err := p.Copy(ctx, artifact.Object{Key: p.folder + "original", Size: 1000}, p.folder+"copy"); err != nil {
		return err
	}
	return p.holds(ctx, p.folder+"copy", content)
}

// cured says which setting mends a rule that failed: with it, the rule held.
type cured struct {
	error

	by string
}

func (c *cured) Unwrap() error { return c.error }

// parts puts a large object as work does. Where that fails it looks whether another
// setting mends it.
func (p *prover) parts(ctx context.Context) error {
	content := noise(partSize + 1000)
	err := p.putRead(ctx, "large", content)
	if err == nil || p.away(err) || p.checksum() == "" {
		return err
	}
	plain := prover{p.without(), p.folder}
	if plain.putRead(ctx, "large", content) != nil {
		return &cured{err, "try checksums: when_required under s3 in floe.yaml; here that did not help, so the server or a proxy before it damages large objects"}
	}
	return &cured{err, "set checksums: when_required under s3 in floe.yaml; with it this works here, since the server cannot do checksums of parts"}
}

// without is the store as it is with checksums: when_required.
func (s *Store) without() *Store {
	o := s.client.Options()
	Settings{Checksums: checksumsWhenRequired}.checksums(&o)
	other := *s
	other.client = awss3.New(o)
	return &other
}

func (p *prover) uploads(ctx context.Context) error {
	u := &upload{store: p.Store, key: p.folder + "unfinished"}
	if err := u.begin(ctx); err != nil {
		return p.failed(ctx, "begin an upload of", u.key, err)
	}
	ours := func() (there bool, err error) {
		_, err = p.eachUpload(ctx, time.Now().AddDate(1, 0, 0), func(one types.MultipartUpload) error {
			there = there || aws.ToString(one.UploadId) == aws.ToString(u.id)
			return nil
		})
		return there, err
	}
	there, err := ours()
	if err == nil && !there {
		err = errors.New("an upload was begun and is not listed")
	}
	if aborted := p.abortUpload(ctx, &u.key, u.id); err != nil || aborted != nil {
		return errors.Join(err, p.failed(ctx, "abort the upload of", u.key, aborted))
	}
	if there, err = ours(); err == nil && there {
		err = errors.New("an upload was aborted and is still listed")
	}
	return err
}

// noise is bytes that do not compress.
func noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return b
}
