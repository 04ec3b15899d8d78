package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"floe/internal/artifact"
)

const resumes = 3 // of a broken download that makes no progress

// object is an open object. When its connection breaks it goes on where it was,
// in the same version of the object.
type object struct {
	ctx   context.Context //nolint:containedctx // a reader has no other way to be cancelled
	store *Store
	key   string
	body  io.ReadCloser
	etag  *string
	off   int64
	size  int64
	stuck int // breaks since the last progress
}

func (o *object) open() error {
	in := &awss3.GetObjectInput{Bucket: &o.store.bucket, Key: &o.key}
	if o.off > 0 {
		in.Range = aws.String(fmt.Sprintf("bytes=%d-", o.off))
		in.IfMatch = o.etag
	}
	out, err := o.store.client.GetObject(o.ctx, in)
	if err == nil && aws.ToString(out.ETag) == "" {
		err = errors.Join(errNoS3, out.Body.Close())
	}
	if err != nil {
		if status(err) == http.StatusNotFound && code(err) != "NoSuchBucket" {
			return fmt.Errorf("get %s: %w", o.store.URL(o.key), artifact.ErrNotFound)
		}
		return o.store.failed(o.ctx, "get", o.key, err)
	}
	o.body = out.Body
	if o.off == 0 {
		o.etag, o.size = out.ETag, aws.ToInt64(out.ContentLength)
	}
	return nil
}

func (o *object) Read(p []byte) (int, error) {
	for {
		n, err := o.body.Read(p)
		o.off += int64(n)
		if n > 0 {
			o.stuck = 0
		}
		switch {
		case err == nil || errors.Is(err, io.EOF) && o.off >= o.size:
			return n, err
		case o.ctx.Err() != nil:
			return n, o.store.failed(o.ctx, "get", o.key, err)
		case o.off >= o.size:
			// All came, and then an error: the checksum that the server keeps is
			// not that of what it sent.
			return n, &artifact.CorruptError{Object: o.key, Want: "what its stored checksum says", Got: err.Error()}
		case n > 0:
			return n, nil // give what there is; the next read meets the break
		}
		if err := o.resume(err); err != nil {
			return 0, err
		}
	}
}

func (o *object) resume(broken error) error {
	if o.stuck++; o.stuck > resumes {
		return o.store.failed(o.ctx, "get", o.key, broken)
	}
	_ = o.body.Close() // it is broken already
	return o.open()
}

func (o *object) Close() error { return o.body.Close() }
