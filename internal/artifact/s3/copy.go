package s3

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"floe/internal/artifact"
)

const (
	copyAtOnce = 5 << 30 // bytes: what servers copy in one request
	copyPart   = 1 << 30 // bytes of a part of what is larger
)

// Copy implements artifact.Store. The bytes stay on the server.
func (s *Store) Copy(ctx context.Context, from artifact.Object, to string) error {
	if err := artifact.CheckKey(to); err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	var err error
	if from.Size > s.copyAtOnce {
		err = s.copyInParts(ctx, from, to)
	} else {
		err = settle(ctx, func() error {
			_, err := s.client.CopyObject(ctx, &awss3.CopyObjectInput{Bucket: &s.bucket, Key: &to, CopySource: s.source(from.Key)})
			return err
		})
	}
	if err == nil {
		err = s.arrived(ctx, from, to)
	}
	if status(err) == http.StatusNotFound && code(err) != "NoSuchBucket" && code(err) != "NoSuchUpload" {
		return fmt.Errorf("copy %s: %w", s.URL(from.Key), artifact.ErrNotFound)
	}
	return s.failed(ctx, "copy to", to, err)
}

// source names an object in a header. Keys need no escaping but for the equals sign.
func (s *Store) source(key string) *string {
	return aws.String(s.bucket + "/" + strings.ReplaceAll(key, "=", "%3D"))
}

// arrived believes a copy only when it is there with its size.
func (s *Store) arrived(ctx context.Context, from artifact.Object, to string) error {
	head, err := s.client.HeadObject(ctx, &awss3.HeadObjectInput{Bucket: &s.bucket, Key: &to})
	if err == nil && aws.ToInt64(head.ContentLength) != from.Size {
		err = fmt.Errorf("the copy has %d bytes; want the %d of %s", aws.ToInt64(head.ContentLength), from.Size, from.Key)
	}
	return err
}

func (s *Store) copyInParts(ctx context.Context, from artifact.Object, to string) error {
	// No byte passes here that a checksum could guard, and what servers answer as the
	// checksum of a copied part is not always one.
	u := &upload{store: s.without(), key: to, size: from.Size}
	if err := u.begin(ctx); err != nil {
		return err
	}
	err := u.copyParts(ctx, from)
	if err == nil {
		err = u.complete(ctx)
	}
	if err != nil {
		u.abort(ctx)
	}
	return err
}

func (u *upload) copyParts(ctx context.Context, from artifact.Object) error {
	for at := int64(0); at < from.Size; at += u.store.copyPart {
		number := aws.Int32(int32(len(u.parts)) + 1)
		out, err := u.store.client.UploadPartCopy(ctx, &awss3.UploadPartCopyInput{
			Bucket: &u.store.bucket, Key: &u.key, UploadId: u.id, PartNumber: number, CopySource: u.store.source(from.Key),
			CopySourceRange: aws.String(fmt.Sprintf("bytes=%d-%d", at, min(at+u.store.copyPart, from.Size)-1)),
		})
		if err != nil {
			return err
		}
		if out.CopyPartResult == nil {
			return errNoS3
		}
		u.parts = append(u.parts, types.CompletedPart{PartNumber: number, ETag: out.CopyPartResult.ETag})
	}
	return nil
}

// Now is the server's time. It implements artifact.Clock.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	out, err := s.client.ListObjectsV2(ctx, &awss3.ListObjectsV2Input{Bucket: &s.bucket, MaxKeys: aws.Int32(1)})
	if err != nil {
		return time.Time{}, s.failed(ctx, "ask the time of", "", err)
	}
	if now, ok := awsmiddleware.GetServerTime(out.ResultMetadata); ok {
		return now.UTC(), nil
	}
	return time.Time{}, s.failed(ctx, "ask the time of", "", errors.New("the server's answer has no Date"))
}

var _ artifact.Clock = (*Store)(nil)
