package s3

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"

	"floe/internal/artifact"
	"floe/internal/outage"
)

var errNoS3 = errors.New("what answers there is no S3 server")

// opError says in plain words what could not be done; the SDK's own words are
// long and say little. It unwraps to them.
type opError struct {
	text  string
	cause error
}

func (e *opError) Error() string { return e.text }
func (e *opError) Unwrap() error { return e.cause }

func (s *Store) failed(ctx context.Context, doing, key string, err error) error {
	if err == nil {
		return nil
	}
	cause := ended(ctx, err)
	if isFull(err) {
		cause = errors.Join(artifact.ErrFull, cause)
	}
	why := s.why(ctx, err)
	said := &opError{fmt.Sprintf("%s %s: %s", doing, s.URL(key), why), cause}
	if ctx.Err() != nil { // whatever broke because of it
		return said
	}
	marked := s.mark(err, said)
	if o, away := outage.As(marked); away {
		o.Reason = why
	}
	return marked
}

// ended makes sure that errors.Is finds the end of the context, whatever broke
// first because of it.
func ended(ctx context.Context, err error) error {
	if ctx.Err() == nil || errors.Is(err, ctx.Err()) {
		return err
	}
	return errors.Join(ctx.Err(), err)
}

// meanings of the errors that people meet, by code of the server.
var meanings = map[string]string{
	"NoSuchBucket":                 "there is no such bucket",
	"InvalidBucketName":            "this cannot be the name of a bucket",
	"InvalidAccessKeyId":           "the server does not know this access key",
	"SignatureDoesNotMatch":        "the secret key is not the one of this access key, or a proxy on the way alters headers that are signed",
	"InvalidToken":                 "the session token is wrong",
	"AccessDenied":                 "these credentials may not do this",
	"RequestTimeTooSkewed":         "the clock of this machine is wrong",
	"AuthorizationHeaderMalformed": "the region is wrong",
	"PermanentRedirect":            "the bucket lives in another region",
	"NotImplemented":               "the server cannot do this",
	"SlowDown":                     "the server asks for fewer requests",
	"EntityTooLarge":               "the object is too large for the server",
	"QuotaExceeded":                "the quota is used up",
	"XMinioStorageFull":            "the store is full",
	"InsufficientStorage":          "the store is full",
}

// why says what is behind an error of the SDK.
func (s *Store) why(ctx context.Context, err error) string {
	if ctx.Err() != nil {
		return ctx.Err().Error()
	}
	if text := answered(err); text != "" {
		if slices.Contains(expired, code(err)) {
			return s.keys.whenExpired() + " (" + text + ")"
		}
		return text
	}
	switch text := unreachable(err); {
	case text == "":
		return innermost(err)
	case s.away(err): // the outage names the endpoint
		return text
	default:
		return text + " (endpoint " + s.endpoint + ")"
	}
}

// answered explains an error that the server sent.
func answered(err error) string {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return ""
	}
	said := api.ErrorCode()
	if m := api.ErrorMessage(); m != "" {
		said += ": " + m
	}
	if n := status(err); n != 0 {
		said = fmt.Sprintf("%s, status %d", said, n)
	}
	if meaning, ok := meanings[api.ErrorCode()]; ok {
		return meaning + " (" + said + ")"
	}
	return said
}

// unreachable explains why nothing, or no S3 server, was there to answer.
func unreachable(err error) string {
	var dns *net.DNSError
	var authority x509.UnknownAuthorityError
	var timeout net.Error
	var nonsense *smithy.DeserializationError
	switch {
	case errors.As(err, &dns):
		return fmt.Sprintf("no host is named %s", dns.Name)
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused, nothing listens there"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection broke"
	case errors.As(err, &authority):
		return "the server's certificate is of an authority that is not trusted; name it in AWS_CA_BUNDLE"
	case strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return "the server does not speak TLS; the endpoint may be http://"
	case strings.Contains(err.Error(), "malformed HTTP response"),
		strings.Contains(err.Error(), "readLoopPeekFailLocked"): // it spoke before it was asked, as HTTP/2 servers do
		return errNoS3.Error()
	case errors.As(err, &timeout) && timeout.Timeout():
		return "no answer in time"
	case errors.As(err, &nonsense):
		return errNoS3.Error()
	}
	return ""
}

// innermost leaves out the layers of the SDK that only add words.
func innermost(err error) string {
	var op *smithy.OperationError
	for errors.As(err, &op) {
		err = op.Err
	}
	return err.Error()
}

// status is the HTTP status of the answer behind an error, 0 without one.
func status(err error) int {
	if answer, ok := errors.AsType[*awshttp.ResponseError](err); ok {
		return answer.HTTPStatusCode()
	}
	return 0
}
