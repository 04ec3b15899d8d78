package main

import (
	"context"
	"errors"
	"fmt"

	awscredentials "github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// ensureBucket creates the bucket if it is not there. It goes over the wire
// with the keys that clients will use, so that "ready" means they work.
func ensureBucket(ctx context.Context, endpoint, bucket string, keys credentials) error {
	client := newS3Client(endpoint, keys)
	_, err := client.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &bucket})
	if _, missing := errors.AsType[*types.NotFound](err); missing {
		_, err = client.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: &bucket})
	}
	if err != nil {
		return fmt.Errorf("bucket %s: %w", bucket, err)
	}
	return nil
}

func newS3Client(endpoint string, keys credentials) *s3.Client {
	return s3.New(s3.Options{
		BaseEndpoint: &endpoint,
		Region:       s3Region,
		UsePathStyle: true,
		Credentials:  awscredentials.NewStaticCredentialsProvider(keys.access, keys.secret, ""),
	})
}
