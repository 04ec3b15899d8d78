package s3

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"floe/internal/outage"
)

// Codes by which servers say that they do not serve a request now.
var (
	busy = []string{
		"SlowDown", "ServiceUnavailable", "InternalError", "RequestTimeout", "RequestTimeoutException",
		"TooManyRequests", "TooManyRequestsException", "Throttling", "ThrottlingException", "RequestLimitExceeded",
	}
	full = []string{"QuotaExceeded", "QuotaExceededException", "InsufficientStorage", "StorageFull", "XMinioStorageFull", "XMinioAdminBucketQuotaExceeded"}
)

// bodyError is trouble with what is to be put, on this side of the wire.
type bodyError struct{ error }

func (e bodyError) Unwrap() error { return e.error }

// mark marks an error of a request that the server did not serve as an outage; an
// answer stays what it is.
func (s *Store) mark(raw, err error) error {
	if err == nil || !s.away(raw) {
		return err
	}
	err = outage.Of(s.service, err)
	if o, ok := outage.As(err); ok {
		o.After = retryAfter(raw)
	}
	return err
}

// away says that the server did not serve a request, which says nothing about the
// request itself.
func (s *Store) away(err error) bool {
	said := code(err)
	_, ours := errors.AsType[bodyError](err)
	_, source := errors.AsType[sourceError](err)
	switch {
	case ours:
		return false
	case source: // had before: their source is away
		return s.keys.once()
	case isFull(err), slices.Contains(busy, said), slices.Contains(expired, said):
		return true
	case slices.Contains(unknown, said): // accepted before: they were replaced, and the new ones are not here yet
		return s.keys.once()
	}
	switch status(err) {
	case http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return broken(err)
}

// isFull says that the store has no room for what was to be put.
func isFull(err error) bool {
	return slices.Contains(full, code(err)) || status(err) == http.StatusInsufficientStorage
}

// broken says that a connection was not made, or did not last. A server that speaks
// another protocol, or shows a certificate that is not trusted, has answered.
func broken(err error) bool {
	var timeout net.Error
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return true
	case misconfigured(err):
		return false
	case errors.As(err, &timeout) && timeout.Timeout():
		return true
	}
	_, unsent := errors.AsType[*smithyhttp.RequestSendError](err)
	_, network := errors.AsType[*net.OpError](err)
	return unsent || network
}

// misconfigured says that something answers that no patience makes an S3 server of.
func misconfigured(err error) bool {
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	_, authority := errors.AsType[x509.UnknownAuthorityError](err)
	_, record := errors.AsType[tls.RecordHeaderError](err)
	text := err.Error()
	return certificate || authority || record || errors.Is(err, errNoS3) ||
		strings.Contains(text, "server gave HTTP response to HTTPS client") ||
		strings.Contains(text, "malformed HTTP response") || strings.Contains(text, "readLoopPeekFailLocked")
}

// retryAfter is when the server wants to be asked again; 0 if it did not say.
func retryAfter(err error) time.Duration {
	answer, ok := errors.AsType[*awshttp.ResponseError](err)
	if !ok || answer.Response == nil {
		return 0
	}
	seconds, err := strconv.Atoi(answer.Response.Header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, time.Hour)
}
