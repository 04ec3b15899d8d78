package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

func put(t *testing.T, c *s3.Client, key, body string) {
	t.Helper()
	_, err := c.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String("floe"), Key: &key, Body: strings.NewReader(body)})
	if err != nil {
		t.Fatalf("put %s: %v", key, err)
	}
}

func checkObject(t *testing.T, c *s3.Client, key, want string) {
	t.Helper()
	out, err := c.GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String("floe"), Key: &key})
	if err != nil {
		t.Fatalf("get %s: %v", key, err)
	}
	defer func() { _ = out.Body.Close() }()
	got, err := io.ReadAll(out.Body)
	if err != nil || string(got) != want {
		t.Errorf("get %s: %q, %v; want %q", key, got, err, want)
	}
}

// status returns the HTTP status behind an error.
func status(err error) int {
	if response, ok := errors.AsType[*awshttp.ResponseError](err); ok {
		return response.HTTPStatusCode()
	}
	return 0
}

func TestObjectComesBackAsItWasPut(t *testing.T) {
	c := shared.s3(t)
	put(t, c, "deep/er/object", "hello")
	checkObject(t, c, "deep/er/object", "hello")
}

func TestConditionalPutHasOneWinner(t *testing.T) {
	c := shared.s3(t)
	var wait sync.WaitGroup
	var won, lost atomic.Int32
	for i := range 20 {
		wait.Go(func() {
			_, err := c.PutObject(t.Context(), &s3.PutObjectInput{
				Bucket: aws.String("floe"), Key: aws.String("once"), IfNoneMatch: aws.String("*"),
				Body: strings.NewReader(fmt.Sprint(i)),
			})
			switch {
			case err == nil:
				won.Add(1)
			case status(err) == http.StatusPreconditionFailed:
				lost.Add(1)
			default:
				t.Errorf("conditional put: %v; want status 412", err)
			}
		})
	}
	wait.Wait()
	if won.Load() != 1 || lost.Load() != 19 {
		t.Errorf("%d writers won and %d lost; want 1 and 19", won.Load(), lost.Load())
	}
}

func TestCopyWorks(t *testing.T) {
	c := shared.s3(t)
	put(t, c, "copy/from", "same")
	_, err := c.CopyObject(t.Context(), &s3.CopyObjectInput{
		Bucket: aws.String("floe"), Key: aws.String("copy/to"), CopySource: aws.String("floe/copy/from"),
	})
	if err != nil {
		t.Fatal(err)
	}
	checkObject(t, c, "copy/to", "same")
}

func TestMultipartUploadBecomesOneObject(t *testing.T) {
	c, ctx := shared.s3(t), t.Context()
	bucket, key := aws.String("floe"), aws.String("multi/part")
	upload, err := c.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{
		Bucket: bucket, Key: key, ChecksumAlgorithm: types.ChecksumAlgorithmCrc32,
	})
	if err != nil {
		t.Fatal(err)
	}
	bodies := []string{strings.Repeat("a", 5<<20), "tail"}
	var parts []types.CompletedPart
	for i, body := range bodies {
		number := aws.Int32(int32(i + 1))
		part, err := c.UploadPart(ctx, &s3.UploadPartInput{
			Bucket: bucket, Key: key, UploadId: upload.UploadId, PartNumber: number,
			ChecksumAlgorithm: types.ChecksumAlgorithmCrc32, Body: strings.NewReader(body),
		})
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, types.CompletedPart{ETag: part.ETag, PartNumber: number, ChecksumCRC32: part.ChecksumCRC32})
	}
	_, err = c.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{
		Bucket: bucket, Key: key, UploadId: upload.UploadId,
		MultipartUpload: &types.CompletedMultipartUpload{Parts: parts},
	})
	if err != nil {
		t.Fatal(err)
	}
	checkObject(t, c, *key, strings.Join(bodies, ""))
}

func TestDeletedObjectsAreGone(t *testing.T) {
	c, ctx := shared.s3(t), t.Context()
	bucket := aws.String("floe")
	var all []types.ObjectIdentifier
	for _, key := range []string{"gone/1/a", "gone/1/b", "gone/2/c", "gone/2/d"} {
		put(t, c, key, "x")
		all = append(all, types.ObjectIdentifier{Key: aws.String(key)})
	}
	if _, err := c.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: bucket, Key: all[0].Key}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.DeleteObjects(ctx, &s3.DeleteObjectsInput{Bucket: bucket, Delete: &types.Delete{Objects: all[1:]}}); err != nil {
		t.Fatal(err)
	}
	left, err := c.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: bucket, Prefix: aws.String("gone/")})
	if err != nil || len(left.Contents) != 0 {
		t.Errorf("%d objects left, %v; want none", len(left.Contents), err)
	}
}

func TestWrongKeysAreForbidden(t *testing.T) {
	good := shared.keys(t)
	for name, keys := range map[string]credentials{
		"wrong secret":   {good.access, good.secret + "x"},
		"unknown access": {"NOBODY", good.secret},
	} {
		c := newS3Client(shared.state(t).S3, keys)
		_, err := c.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String("floe"), Key: aws.String("k"), Body: strings.NewReader("x")})
		if got := status(err); got != http.StatusForbidden {
			t.Errorf("%s: status %d, %v; want 403", name, got, err)
		}
	}
}

func TestEncryptionIsRefused(t *testing.T) {
	c := shared.s3(t)
	_, err := c.PutObject(t.Context(), &s3.PutObjectInput{
		Bucket: aws.String("floe"), Key: aws.String("secret"), Body: strings.NewReader("x"),
		ServerSideEncryption: types.ServerSideEncryptionAes256,
	})
	if status(err) != http.StatusNotImplemented || !strings.Contains(err.Error(), "x-amz-server-side-encryption") {
		t.Errorf("put with SSE: %v; want 501 naming the header", err)
	}
	if _, err := c.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: aws.String("floe"), Key: aws.String("secret")}); status(err) != http.StatusNotFound {
		t.Errorf("head after the refused put: %v; want 404", err)
	}
}

func TestS3ChildIsReplacedWhenItDies(t *testing.T) {
	p := start(t, t.TempDir())
	c := p.s3(t)
	put(t, c, "before", "kept")
	old := p.child(t)
	if err := syscall.Kill(old, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		_, err := c.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: aws.String("floe"), Key: aws.String("before")})
		return err
	})
	checkObject(t, c, "before", "kept")
	if got := p.child(t); got == old {
		t.Errorf("child is still pid %d", old)
	}
	if want := fmt.Sprintf("S3 server pid %d died", old); !strings.Contains(p.stderr.String(), want) {
		t.Errorf("stderr %q; want %q", p.stderr.String(), want)
	}
}

func TestStackStopsWhenS3KeepsDying(t *testing.T) {
	needsProc(t)
	p := start(t, t.TempDir())
	for running := true; running; {
		for _, pid := range childrenOf(t, p.pid()) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			awaitGone(t, pid)
		}
		select {
		case <-p.exited:
			running = false
		default:
		}
	}
	if got := p.awaitExit(t); got != exitFailure {
		t.Errorf("exit code %d; want %d", got, exitFailure)
	}
	if !strings.Contains(p.stderr.String(), "S3 server died") {
		t.Errorf("stderr %q; want the reason", p.stderr.String())
	}
}

func TestChildCommandByHandExplainsItself(t *testing.T) {
	code, _, stderr := devstack(t, s3ChildCommand)
	if code != exitFailure || !strings.Contains(stderr, "s3-child") {
		t.Errorf("exit %d, %q; want %d and an explanation", code, stderr, exitFailure)
	}
}
