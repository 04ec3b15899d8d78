package s3

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"floe/internal/artifact"
	"floe/internal/outage"
)

// checkTimeout bounds how long a wrong setting can keep a person waiting.
const checkTimeout = 10 * time.Second

// UnusableError says why a store cannot be used.
type UnusableError struct {
	Endpoint string
	Bucket   string
	Why      string
	cause    error
}

// Error names endpoint, bucket and cause.
func (e *UnusableError) Error() string {
	return fmt.Sprintf("artifact store cannot be used: endpoint %s, bucket %s: %s", e.Endpoint, e.Bucket, e.Why)
}

// Unwrap gives the cause.
func (e *UnusableError) Unwrap() error { return e.cause }

// Check implements artifact.Store. It proves what work needs: beside all of
// CheckReads it writes and deletes a small object under "checks/", so that
// credentials that may only read, a full store, and servers that ignore conditions
// are found before work is done. It takes at most ten seconds; what is wrong is an
// *UnusableError.
func (s *Store) Check(ctx context.Context) error {
	return s.check(ctx, s.tryReading, s.tryConditions)
}

// CheckReads is Check for those who only look: it writes nothing, so a full store can
// be read, also with credentials that may not write.
func (s *Store) CheckReads(ctx context.Context) error { return s.check(ctx, s.tryReading) }

func (s *Store) check(ctx context.Context, tries ...func(context.Context) error) error {
	short, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	why, err := s.probe(short, tries)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("check artifact store: %w", ctx.Err())
	case short.Err() != nil:
		why, err = fmt.Sprintf("no answer within %s", s.patience), outage.Of(s.service, err)
	}
	return &UnusableError{Endpoint: s.endpoint, Bucket: s.bucket, Why: why, cause: s.mark(err, err)}
}

// probe says what cannot be done, and why.
func (s *Store) probe(ctx context.Context, tries []func(context.Context) error) (why string, err error) {
	if err := s.haveCredentials(ctx); err != nil {
		return noCredentials, err
	}
	if err := s.reach(ctx); err != nil {
		return s.describe(ctx, err), err
	}
	for _, try := range tries {
		if err := try(ctx); err != nil {
			return err.Error(), err
		}
	}
	return "", nil
}

const noCredentials = "no credentials found; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"

var errNoCredentials = errors.New("no credentials")

func (s *Store) haveCredentials(ctx context.Context) error {
	_, err := s.keys.Retrieve(ctx)
	return err
}

// reach lists one object. A HEAD of the bucket would be shorter, but its answer
// has no room for a reason.
func (s *Store) reach(ctx context.Context) error {
	out, err := s.client.ListObjectsV2(ctx, &awss3.ListObjectsV2Input{Bucket: &s.bucket, MaxKeys: aws.Int32(1)},
		func(o *awss3.Options) { o.RetryMaxAttempts = 2 })
	// A web server gives some page, or a 404 without a reason.
	if err == nil && aws.ToString(out.Name) == "" || code(err) == "NotFound" {
		return errNoS3
	}
	return err
}

func (s *Store) describe(ctx context.Context, err error) string {
	if status(err) == http.StatusForbidden && code(err) == "AccessDenied" {
		return "these credentials may not list the bucket (AccessDenied, status 403)"
	}
	if text := unreachable(err); text != "" {
		return text
	}
	return s.why(ctx, err)
}

// tryReading finds credentials that may list and not read.
func (s *Store) tryReading(ctx context.Context) error {
	r, err := s.Get(ctx, checks+rand.Text())
	switch {
	case errors.Is(err, artifact.ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	return errors.Join(errors.New("the server gives an object for a key that was never put"), r.Close())
}

const checks = "checks/" // where probes lie for a moment; gc sweeps what a kill leaves

// tryConditions proves that of two conditional puts one is refused, and that
// what was put can be read and deleted.
func (s *Store) tryConditions(ctx context.Context) (err error) {
	key, body := checks+rand.Text(), []byte("floe was here\n")
	if err := s.PutIfAbsent(ctx, key, body); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Delete(ctx, key)) }()
	if err := s.PutIfAbsent(ctx, key, body); err == nil {
		return errors.New("the server ignores conditions on puts (If-None-Match), so two attempts of a step could both win")
	} else if !errors.Is(err, artifact.ErrExists) {
		return err
	}
	return s.holds(ctx, key, body)
}
