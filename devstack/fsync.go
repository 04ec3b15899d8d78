package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/versity/versitygw/backend"
	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/s3response"
)

// The storage layer of the S3 server never calls fsync: after a power cut an
// object that was acknowledged may be empty or gone. The two wrappers here put
// the calls where they are needed:
//
//  1. the bytes, before the object gets its name: when its etag is stored;
//  2. the object again, for attributes stored after the etag, and its folders,
//     for its name: after it got its name, before the client gets its answer.
//
// The first matters without power cuts in sight, too: a name must never point
// to bytes that are not there. Parts of a multipart upload get step 1 only. If
// a crash loses a part's name, completing the upload is refused (InvalidPart),
// and the client sends the part again; a part with the right etag and wrong
// bytes would go unnoticed.

// etagAttribute is stored once per object or part, after all its bytes.
const etagAttribute = "etag"

// durableMeta syncs what it stores attributes on.
type durableMeta struct{ meta.MetadataStorer }

// StoreAttribute gets the open file while an object has no name yet, and a path
// relative to the root, which is the working directory, when it has one.
func (m durableMeta) StoreAttribute(f *os.File, bucket, object, attribute string, value []byte) error {
	if err := m.MetadataStorer.StoreAttribute(f, bucket, object, attribute, value); err != nil {
		return err
	}
	switch {
	case f == nil:
		return syncPath(filepath.Join(bucket, object))
	case attribute == etagAttribute:
		return f.Sync()
	default:
		return nil
	}
}

func (m durableMeta) DeleteAttribute(bucket, object, attribute string) error {
	if err := m.MetadataStorer.DeleteAttribute(bucket, object, attribute); err != nil {
		return err
	}
	return syncPath(filepath.Join(bucket, object))
}

// durableBackend syncs what changed names. An object that cannot be made
// durable is an error to the client, who will try again.
type durableBackend struct {
	backend.Backend
	root string
}

func (d durableBackend) CreateBucket(ctx context.Context, in *s3.CreateBucketInput, acl []byte) error {
	if err := d.Backend.CreateBucket(ctx, in, acl); err != nil {
		return err
	}
	return errors.Join(syncPath(filepath.Join(d.root, *in.Bucket)), syncPath(d.root))
}

func (d durableBackend) DeleteBucket(ctx context.Context, bucket string) error {
	if err := d.Backend.DeleteBucket(ctx, bucket); err != nil {
		return err
	}
	return syncPath(d.root)
}

func (d durableBackend) PutObject(ctx context.Context, in s3response.PutObjectInput) (s3response.PutObjectOutput, error) {
	out, err := d.Backend.PutObject(ctx, in)
	if err != nil {
		return out, err
	}
	return out, d.syncObject(*in.Bucket, *in.Key)
}

func (d durableBackend) CompleteMultipartUpload(ctx context.Context, in *s3.CompleteMultipartUploadInput) (s3response.CompleteMultipartUploadResult, string, error) {
	out, versionID, err := d.Backend.CompleteMultipartUpload(ctx, in)
	if err != nil {
		return out, versionID, err
	}
	return out, versionID, d.syncObject(*in.Bucket, *in.Key)
}

func (d durableBackend) CopyObject(ctx context.Context, in s3response.CopyObjectInput) (s3response.CopyObjectOutput, error) {
	out, err := d.Backend.CopyObject(ctx, in)
	if err != nil {
		return out, err
	}
	return out, d.syncObject(*in.Bucket, *in.Key)
}

func (d durableBackend) DeleteObject(ctx context.Context, in *s3.DeleteObjectInput) (*s3.DeleteObjectOutput, error) {
	out, err := d.Backend.DeleteObject(ctx, in)
	if err != nil {
		return out, err
	}
	return out, d.syncFolders(*in.Bucket, *in.Key)
}

func (d durableBackend) DeleteObjects(ctx context.Context, in *s3.DeleteObjectsInput) (s3response.DeleteResult, error) {
	out, err := d.Backend.DeleteObjects(ctx, in)
	if err != nil {
		return out, err
	}
	var errs []error
	seen := map[string]bool{}
	for _, o := range in.Delete.Objects {
		if dir := filepath.Dir(*o.Key); !seen[dir] {
			seen[dir] = true
			errs = append(errs, d.syncFolders(*in.Bucket, *o.Key))
		}
	}
	return out, errors.Join(errs...)
}

func (d durableBackend) syncObject(bucket, key string) error {
	if err := syncPath(filepath.Join(d.root, bucket, key)); err != nil {
		return err
	}
	return d.syncFolders(bucket, key)
}

// syncFolders syncs every folder between an object and the root of its bucket:
// any of them may be new, or, after a delete, may have lost an empty child.
func (d durableBackend) syncFolders(bucket, key string) error {
	top := filepath.Join(d.root, bucket)
	for dir := filepath.Dir(filepath.Join(top, key)); len(dir) >= len(top); dir = filepath.Dir(dir) {
		if err := syncPath(dir); err != nil {
			return err
		}
	}
	return nil
}

// syncPath syncs a file or a folder. One that is gone has been deleted by
// somebody else since, so there is nothing to keep.
func syncPath(path string) error {
	f, err := os.Open(path) // #nosec G304 -- below our own folder
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
