package s3

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
)

const (
	renewAgain  = 5 * time.Second  // between two renewals that the server's answers ask for
	renewWithin = 30 * time.Second // a credential_process may ask another service
	renewedFor  = time.Minute      // how long a refusal is put down to credentials that were replaced meanwhile
)

// Codes by which servers refuse credentials.
var (
	expired = []string{"ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired"}
	unknown = []string{"InvalidAccessKeyId", "InvalidToken", "InvalidTokenId", "InvalidClientTokenId", "UnrecognizedClientException"}
	replace = slices.Concat(expired, unknown, []string{"SignatureDoesNotMatch"}) // read the credentials again
)

// keys are the credentials of a store. The SDK reads a credentials file once; keys
// read it again when it has changed and when the server refuses what was in it.
type keys struct {
	load  func(context.Context) (aws.CredentialsProvider, error)
	files []string // that may hold credentials, or say where they come from

	mu       sync.Mutex
	from     aws.CredentialsProvider
	stamp    string // of the files when they were read
	last     aws.Credentials
	asked    time.Time // of the last renewal that an answer asked for
	replaced time.Time
	worked   bool // a request with them was served
}

// newKeys takes what a configuration found, and how to find it again.
func (s Settings) newKeys(found aws.CredentialsProvider) *keys {
	k := &keys{from: found, files: []string{
		cmp.Or(s.CredentialsFile, os.Getenv("AWS_SHARED_CREDENTIALS_FILE"), config.DefaultSharedCredentialsFilename()),
		cmp.Or(os.Getenv("AWS_CONFIG_FILE"), config.DefaultSharedConfigFilename()),
	}}
	k.stamp = k.stampNow()
	k.load = func(ctx context.Context) (aws.CredentialsProvider, error) {
		cfg, err := s.load(ctx)
		return cfg.Credentials, err
	}
	return k
}

func (k *keys) stampNow() string {
	var b strings.Builder
	for _, file := range k.files {
		if info, err := os.Stat(file); err == nil {
			fmt.Fprintf(&b, "%s %d %d\n", file, info.ModTime().UnixNano(), info.Size())
		}
	}
	return b.String()
}

// Retrieve implements aws.CredentialsProvider. It is called for every request.
func (k *keys) Retrieve(ctx context.Context) (aws.Credentials, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if stamp := k.stampNow(); stamp != k.stamp {
		// A file that is only half written is read again at the next request.
		if from, err := k.load(ctx); err == nil {
			k.from, k.stamp = from, stamp
		}
	}
	if k.from == nil {
		return aws.Credentials{}, errNoCredentials
	}
	got, err := k.from.Retrieve(ctx)
	if err != nil {
		return got, sourceError{err}
	}
	k.keep(got)
	return got, nil
}

// sourceError says that credentials could not be had from where they come from.
type sourceError struct{ error }

func (e sourceError) Unwrap() error { return e.error }

func (k *keys) keep(got aws.Credentials) {
	if k.last.HasKeys() && !same(got, k.last) {
		k.replaced = time.Now()
	}
	k.last = got
}

func same(a, b aws.Credentials) bool {
	return a.AccessKeyID == b.AccessKeyID && a.SecretAccessKey == b.SecretAccessKey && a.SessionToken == b.SessionToken
}

// renew reads the credentials again, from wherever they come, after the server has
// refused them. It says whether another try may go better: they were replaced just now.
func (k *keys) renew() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if time.Since(k.asked) >= renewAgain {
		k.asked = time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), renewWithin)
		defer cancel()
		stamp := k.stampNow()
		from, err := k.load(ctx)
		if err != nil || from == nil {
			return false
		}
		got, err := from.Retrieve(ctx)
		if err != nil {
			return false
		}
		k.from, k.stamp = from, stamp
		k.keep(got)
	}
	return time.Since(k.replaced) < renewedFor
}

func (k *keys) accepted() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.worked = true
}

// once says that these credentials, or earlier ones, were good.
func (k *keys) once() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.worked
}

// whenExpired says what can be done about credentials that have expired.
func (k *keys) whenExpired() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.last.Source == config.CredentialsSourceName {
		return "the credentials in this process's environment have expired; start it again with new ones, or keep them in a credentials file or behind credential_process, which are read again"
	}
	return fmt.Sprintf("the credentials have expired and are not renewed yet; their source is read again at every try (%s)", k.last.Source)
}

// renewed has a client try again with credentials that were replaced meanwhile.
func (k *keys) renewed(o *awss3.Options) {
	if tries, ok := o.Retryer.(aws.RetryerV2); ok {
		o.Retryer = renewing{tries, k}
	}
}

// renewing tries a request again when the server refused credentials that have been
// replaced since they were read.
type renewing struct {
	aws.RetryerV2

	keys *keys
}

// IsErrorRetryable implements aws.Retryer.
func (r renewing) IsErrorRetryable(err error) bool {
	return r.RetryerV2.IsErrorRetryable(err) || slices.Contains(replace, code(err)) && r.keys.renew()
}

// GetAttemptToken implements aws.RetryerV2. It learns how each attempt ends.
func (r renewing) GetAttemptToken(ctx context.Context) (func(error) error, error) {
	release, err := r.RetryerV2.GetAttemptToken(ctx)
	if err != nil {
		return release, err
	}
	return func(err error) error {
		if err == nil {
			r.keys.accepted()
		}
		return release(err)
	}, nil
}

var _ aws.CredentialsProvider = (*keys)(nil)
