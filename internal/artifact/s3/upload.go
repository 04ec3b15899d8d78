package s3

import (
	"bytes"
	"cmp"
	"context"
	"crypto/md5" //nolint:gosec // what servers make ETags of
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"golang.org/x/sync/errgroup"
)

const (
	partSize     = 16 << 20 // bytes; all servers take parts of this size, and some want them equal
	partsAtOnce  = 4        // 64 MiB in memory per upload
	maxParts     = 10_000   // of one object; larger objects get larger parts
	abortTimeout = 10 * time.Second
)

// upload is one object on its way up in parts. The SDK's own manager is not used:
// as of v0.5.7 it panics when a server gives no upload ID, writes to the standard
// log, and reports an object that is there as lost when only an answer was.
type upload struct {
	store *Store
	key   string
	id    *string
	size  int64
	parts []types.CompletedPart
}

func (s *Store) putInParts(ctx context.Context, key string, body io.Reader, size int64) error {
	u := &upload{store: s, key: key, size: size}
	if err := u.begin(ctx); err != nil {
		return err
	}
	err := u.send(ctx, body)
	if err == nil {
		err = u.complete(ctx)
	}
	if err != nil {
		u.abort(ctx)
	}
	return err
}

// checksum is the algorithm that guards parts on their way, unless settings say
// that the server cannot do it.
func (s *Store) checksum() types.ChecksumAlgorithm {
	if s.client.Options().RequestChecksumCalculation == aws.RequestChecksumCalculationWhenRequired {
		return ""
	}
	return types.ChecksumAlgorithmCrc32
}

func (u *upload) begin(ctx context.Context) error {
	out, err := u.store.client.CreateMultipartUpload(ctx, &awss3.CreateMultipartUploadInput{
		Bucket: &u.store.bucket, Key: &u.key, ChecksumAlgorithm: u.store.checksum(),
	})
	if err == nil && aws.ToString(out.UploadId) == "" {
		return errNoS3
	}
	if err == nil {
		u.id = out.UploadId
	}
	return err
}

// send reads the body part by part and has a few of them on the way at once.
func (u *upload) send(ctx context.Context, body io.Reader) error {
	length := partLength(u.size)
	u.parts = make([]types.CompletedPart, (u.size+length-1)/length)
	free := make(chan []byte, partsAtOnce)
	for range partsAtOnce {
		free <- nil
	}
	group, sending := errgroup.WithContext(ctx)
	var broken error
	for i := range u.parts {
		buffer := <-free
		if sending.Err() != nil {
			break
		}
		if buffer == nil {
			buffer = make([]byte, min(length, u.size))
		}
		part := buffer[:min(length, u.size-int64(i)*length)]
		if _, err := io.ReadFull(body, part); err != nil {
			broken = bodyError{fmt.Errorf("read what to put: %w", err)}
			break
		}
		group.Go(func() error {
			defer func() { free <- buffer }()
			return u.sendPart(sending, i, part)
		})
	}
	return cmp.Or(broken, group.Wait(), ctx.Err())
}

// partLength cuts all parts but the last to one length.
func partLength(size int64) int64 {
	const step = 1 << 20
	least := (size + maxParts - 1) / maxParts
	return max(partSize, (least+step-1)/step*step)
}

func (u *upload) sendPart(ctx context.Context, i int, content []byte) error {
	number := aws.Int32(int32(i) + 1)
	out, err := u.store.client.UploadPart(ctx, &awss3.UploadPartInput{
		Bucket: &u.store.bucket, Key: &u.key, UploadId: u.id, PartNumber: number,
		Body: bytes.NewReader(content), ChecksumAlgorithm: u.store.checksum(),
	})
	if err == nil {
		u.parts[i] = types.CompletedPart{PartNumber: number, ETag: out.ETag, ChecksumCRC32: out.ChecksumCRC32}
	}
	return err
}

// complete puts the object together. When the answer gets lost, the SDK asks
// again and hears that there is no such upload; then the object itself tells.
func (u *upload) complete(ctx context.Context) error {
	err := settle(ctx, func() error {
		_, err := u.store.client.CompleteMultipartUpload(ctx, &awss3.CompleteMultipartUploadInput{
			Bucket: &u.store.bucket, Key: &u.key, UploadId: u.id,
			MultipartUpload: &types.CompletedMultipartUpload{Parts: u.parts},
		})
		return err
	})
	if code(err) != "NoSuchUpload" {
		return err
	}
	head, headErr := u.store.client.HeadObject(ctx, &awss3.HeadObjectInput{Bucket: &u.store.bucket, Key: &u.key})
	if headErr == nil && aws.ToInt64(head.ContentLength) == u.size && aws.ToString(head.ETag) == u.etag() {
		return nil
	}
	return err
}

// etag is what servers make of the parts' ETags, where those are MD5 sums.
func (u *upload) etag() string {
	var sums []byte
	for _, p := range u.parts {
		sum, err := hex.DecodeString(strings.Trim(aws.ToString(p.ETag), `"`))
		if err != nil {
			return ""
		}
		sums = append(sums, sum...)
	}
	return fmt.Sprintf(`"%x-%d"`, md5.Sum(sums), len(u.parts)) //nolint:gosec // not for secrecy
}

// abort frees the space of the parts, also when the context has ended. What it
// cannot free is left to SweepUploads.
func (u *upload) abort(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTimeout)
	defer cancel()
	_ = u.store.abortUpload(ctx, &u.key, u.id)
}

func (s *Store) abortUpload(ctx context.Context, key, id *string) error {
	_, err := s.client.AbortMultipartUpload(ctx, &awss3.AbortMultipartUploadInput{Bucket: &s.bucket, Key: key, UploadId: id})
	if code(err) == "NoSuchUpload" { // finished or aborted meanwhile
		return nil
	}
	return err
}

// SweepUploads aborts uploads that were begun before a moment and never
// finished, which a killed program leaves behind, and says how many. They cost
// space and nobody sees them.
func (s *Store) SweepUploads(ctx context.Context, before time.Time) (int, error) {
	return s.eachUpload(ctx, before, func(u types.MultipartUpload) error {
		if err := s.abortUpload(ctx, u.Key, u.UploadId); err != nil {
			return s.failed(ctx, "abort upload", aws.ToString(u.Key), err)
		}
		return nil
	})
}

// CountUploads counts what SweepUploads would abort.
func (s *Store) CountUploads(ctx context.Context, before time.Time) (int, error) {
	return s.eachUpload(ctx, before, func(types.MultipartUpload) error { return nil })
}

// eachUpload calls do for unfinished uploads that were begun before a moment, and
// counts them.
func (s *Store) eachUpload(ctx context.Context, before time.Time, do func(types.MultipartUpload) error) (int, error) {
	n := 0
	in := &awss3.ListMultipartUploadsInput{Bucket: &s.bucket}
	for {
		page, err := s.client.ListMultipartUploads(ctx, in)
		if err != nil {
			return n, s.failed(ctx, "list unfinished uploads", "", err)
		}
		for _, u := range page.Uploads {
			if !aws.ToTime(u.Initiated).Before(before) {
				continue
			}
			if err := do(u); err != nil {
				return n, err
			}
			n++
		}
		if !aws.ToBool(page.IsTruncated) {
			return n, nil
		}
		key, id := aws.ToString(page.NextKeyMarker), aws.ToString(page.NextUploadIdMarker)
		if key+id == "" || key == aws.ToString(in.KeyMarker) && id == aws.ToString(in.UploadIdMarker) {
			return n, s.failed(ctx, "list unfinished uploads", "", distrust("the server says that more follow and not where"))
		}
		in.KeyMarker, in.UploadIdMarker = page.NextKeyMarker, page.NextUploadIdMarker
	}
}
