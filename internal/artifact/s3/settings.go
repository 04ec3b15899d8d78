package s3

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/logging"
)

// Settings say which bucket, and how to reach it. What is empty is taken from
// where AWS tools take it: the environment (AWS_ACCESS_KEY_ID, AWS_REGION,
// AWS_ENDPOINT_URL_S3, AWS_CA_BUNDLE, AWS_PROFILE, ...), then the shared
// configuration files, then the machine's own role. Secrets are never settings.
type Settings struct {
	Bucket          string
	Endpoint        string // URL of the server; empty is AWS
	Region          string // us-east-1 where an endpoint is set and no region
	PathStyle       *bool  // bucket in the path, not in the host; nil: where an endpoint is set
	Profile         string // in the shared configuration files
	CredentialsFile string // instead of ~/.aws/credentials
	Checksums       string // "when_supported"; "when_required" for older servers
	CABundle        string // PEM file of the authorities to trust
}

const (
	connectTimeout = 5 * time.Second
	// silence is how long a server may say nothing before the call is given up
	// and tried again. Putting a large upload together takes servers a while.
	silence  = 2 * time.Minute
	attempts = 5 // of each request, with growing pauses, below half a minute in all

	checksumsWhenSupported = "when_supported"
	checksumsWhenRequired  = "when_required"

	fallbackRegion = "us-east-1" // what servers other than AWS take for granted
)

func (s Settings) validate() error {
	var errs []error
	if s.Bucket == "" {
		errs = append(errs, errors.New("no bucket named"))
	}
	switch s.Checksums {
	case "", checksumsWhenSupported, checksumsWhenRequired:
	default:
		errs = append(errs, fmt.Errorf("checksums %q; want %s or %s", s.Checksums, checksumsWhenSupported, checksumsWhenRequired))
	}
	return errors.Join(append(errs, checkEndpoint(s.Endpoint))...)
}

func checkEndpoint(endpoint string) error {
	if endpoint == "" {
		return nil
	}
	u, err := url.Parse(endpoint)
	switch {
	// Whatever may hold a secret is not repeated in the error.
	case err == nil && u.RawQuery+u.Fragment != "":
		return errors.New("the endpoint has a query or a fragment; want scheme, host and perhaps a path")
	case strings.Contains(endpoint, "@"):
		return errors.New("the endpoint holds a user name; credentials belong in the environment or in the credentials file")
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return fmt.Errorf("endpoint %q; want a URL such as http://127.0.0.1:9233", endpoint)
	}
	return nil
}

// load resolves the settings the way AWS tools do.
func (s Settings) load(ctx context.Context) (aws.Config, error) {
	options := []func(*config.LoadOptions) error{
		config.WithLogger(logging.Nop{}),
		config.WithHTTPClient(awshttp.NewBuildableClient().
			WithDialerOptions(func(d *net.Dialer) { d.Timeout = connectTimeout }).
			WithReadTimeout(silence)),
	}
	if s.Region != "" {
		options = append(options, config.WithRegion(s.Region))
	}
	if s.CredentialsFile != "" {
		options = append(options, config.WithSharedCredentialsFiles([]string{s.CredentialsFile}))
	}
	if s.Profile != "" || s.CredentialsFile != "" { // naming it puts it before keys in the environment
		options = append(options, config.WithSharedConfigProfile(cmp.Or(s.Profile, "default")))
	}
	if s.CABundle != "" {
		pem, err := os.ReadFile(s.CABundle)
		if err != nil {
			return aws.Config{}, fmt.Errorf("CA bundle: %w", err)
		}
		options = append(options, config.WithCustomCABundle(bytes.NewReader(pem)))
	}
	cfg, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return aws.Config{}, err
	}
	cfg.RetryMaxAttempts = cmp.Or(cfg.RetryMaxAttempts, attempts)
	return cfg, nil
}

// client sets what only this service has.
func (s Settings) client(o *awss3.Options) {
	if s.Endpoint != "" {
		o.BaseEndpoint = &s.Endpoint
	}
	elsewhere := o.BaseEndpoint != nil
	if elsewhere {
		o.Region = cmp.Or(o.Region, fallbackRegion)
	}
	o.UsePathStyle = elsewhere
	if s.PathStyle != nil {
		o.UsePathStyle = *s.PathStyle
	}
	s.checksums(o)
	o.DisableLogOutputChecksumValidationSkipped = true
	o.APIOptions = append(o.APIOptions, unsignedEncoding)
}

func (s Settings) checksums(o *awss3.Options) {
	switch s.Checksums {
	case checksumsWhenSupported:
		o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenSupported
		o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenSupported
	case checksumsWhenRequired:
		o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
		o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
	}
}
