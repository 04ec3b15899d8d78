// Package s3 keeps artifacts in any S3-compatible store. It needs conditional
// puts (If-None-Match), which AWS and all current servers have; Check proves it.
package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"

	"floe/internal/artifact"
)

// conflicts is how often a put may meet another change under way.
const conflicts = 8

// Store is a bucket. It is safe for concurrent use.
type Store struct {
	client   *awss3.Client
	bucket   string
	endpoint string // for people
	service  string // what does not answer in an outage
	keys     *keys
	patience time.Duration // of Check
	page     int32         // keys on a page of a listing; 0 leaves it to the server

	copyAtOnce, copyPart int64 // bytes
}

var (
	_ artifact.Store         = (*Store)(nil)
	_ artifact.UploadSweeper = (*Store)(nil)
)

// Open settles how the bucket is reached. It sends nothing there; see Check.
func Open(ctx context.Context, s Settings) (*Store, error) {
	if err := s.validate(); err != nil {
		return nil, fmt.Errorf("open artifact store: %w", err)
	}
	cfg, err := s.load(ctx)
	if err != nil {
		return nil, fmt.Errorf("open artifact store: %w", err)
	}
	k := s.newKeys(cfg.Credentials)
	cfg.Credentials = k
	client := awss3.NewFromConfig(cfg, s.client, k.renewed)
	o := client.Options()
	if err := checkEndpoint(aws.ToString(o.BaseEndpoint)); err != nil {
		return nil, fmt.Errorf("open artifact store: %w", err)
	}
	if o.Region == "" {
		return nil, errors.New("open artifact store: no region; name it in the settings, in AWS_REGION or in the profile, or name the endpoint of another store than AWS")
	}
	endpoint, service := aws.ToString(o.BaseEndpoint), "S3 at "+aws.ToString(o.BaseEndpoint)
	if endpoint == "" {
		endpoint, service = "of AWS in "+o.Region, "S3 of AWS in "+o.Region
	}
	return &Store{client: client, bucket: s.Bucket, endpoint: endpoint, service: service, keys: k, patience: checkTimeout, copyAtOnce: copyAtOnce, copyPart: copyPart}, nil
}

// Put implements artifact.Store. Bodies over 16 MiB go up in parts.
func (s *Store) Put(ctx context.Context, key string, body io.ReadSeeker) error {
	if err := artifact.CheckKey(key); err != nil {
		return fmt.Errorf("put: %w", err)
	}
	size, err := body.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = body.Seek(0, io.SeekStart)
	}
	switch {
	case err != nil:
		err = bodyError{err}
	case size > partSize:
		err = s.putInParts(ctx, key, body, size)
	default:
		err = s.putWhole(ctx, key, body, size)
	}
	return s.failed(ctx, "put", key, err)
}

func (s *Store) putWhole(ctx context.Context, key string, body io.Reader, size int64) error {
	content := make([]byte, size)
	if _, err := io.ReadFull(body, content); err != nil {
		return bodyError{fmt.Errorf("read what to put: %w", err)}
	}
	return s.putObject(ctx, key, content, nil)
}

// PutIfAbsent implements artifact.Store.
func (s *Store) PutIfAbsent(ctx context.Context, key string, body []byte) error {
	if err := artifact.CheckKey(key); err != nil {
		return fmt.Errorf("put: %w", err)
	}
	err := s.putObject(ctx, key, body, aws.String("*"))
	if status(err) == http.StatusPreconditionFailed {
		return fmt.Errorf("put %s: %w", s.URL(key), artifact.ErrExists)
	}
	return s.failed(ctx, "put", key, err)
}

func (s *Store) putObject(ctx context.Context, key string, body []byte, unless *string) error {
	return settle(ctx, func() error {
		out, err := s.client.PutObject(ctx, &awss3.PutObjectInput{
			Bucket: &s.bucket, Key: &key, Body: bytes.NewReader(body), IfNoneMatch: unless,
		})
		if err == nil && aws.ToString(out.ETag) == "" {
			return errNoS3
		}
		return err
	})
}

// settle tries again while a put meets a change that is under way: another
// conditional put, which may yet fail, or a neighbour's delete that takes away
// the folder on servers that keep files.
func settle(ctx context.Context, put func() error) error {
	for try := 1; ; try++ {
		err := put()
		if status(err) != http.StatusConflict || try == conflicts || !pause(ctx, try) {
			return err
		}
	}
}

// pause waits longer from try to try, and says false when ctx ends.
func pause(ctx context.Context, try int) bool {
	most := min(time.Second, 10*time.Millisecond<<try)
	t := time.NewTimer(most/2 + rand.N(most/2)) //nolint:gosec // spreads tries, hides nothing
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Get implements artifact.Store. A connection that breaks is taken up again
// where it broke.
func (s *Store) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	if err := artifact.CheckKey(key); err != nil {
		return nil, fmt.Errorf("get: %w", err)
	}
	o := &object{ctx: ctx, store: s, key: key}
	if err := o.open(); err != nil {
		return nil, err
	}
	return o, nil
}

// Delete implements artifact.Store.
func (s *Store) Delete(ctx context.Context, key string) error {
	_, err := s.client.DeleteObject(ctx, &awss3.DeleteObjectInput{Bucket: &s.bucket, Key: &key})
	if code(err) == "NoSuchKey" { // most servers say nothing
		return nil
	}
	return s.failed(ctx, "delete", key, err)
}

// URL implements artifact.Store.
func (s *Store) URL(key string) string { return "s3://" + s.bucket + "/" + key }

func code(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return api.ErrorCode()
	}
	return ""
}
