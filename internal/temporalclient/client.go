// Package temporalclient dials Temporal. It is the only internal package that
// imports the SDK.
package temporalclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
)

// Timeout bounds how long an unreachable server can keep a person waiting.
const Timeout = 10 * time.Second

// Settings say which server. Address and Namespace win over the environment and
// the SDK's own configuration file (TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE,
// TEMPORAL_API_KEY, TEMPORAL_TLS_*); the defaults are used where all of those
// are silent.
type Settings struct {
	Address          string
	Namespace        string
	DefaultAddress   string
	DefaultNamespace string
	Logger           *slog.Logger // nil keeps the SDK quiet
}

// UsesAddress says whether these settings lead to the given server.
func (s Settings) UsesAddress(address string) bool {
	opts, err := Options(s)
	return err == nil && opts.HostPort == address
}

// UnreachableError says that no Temporal server answered.
type UnreachableError struct {
	Address string
	Cause   error
}

// Error names address and cause, and says what to do.
func (e *UnreachableError) Error() string {
	return fmt.Sprintf("no Temporal server answers at %s (%s); `starter dev` starts one on this machine, and --address or TEMPORAL_ADDRESS names another",
		e.Address, Reason(e.Cause))
}

// Unwrap gives the cause.
func (e *UnreachableError) Unwrap() error { return e.Cause }

// Reason says in a few words why a server did not answer, without the layers of
// gRPC around it.
func Reason(err error) string {
	text := strings.TrimSuffix(strings.TrimSpace(err.Error()), `"`)
	if dialled := dialError.FindStringSubmatch(text); dialled != nil {
		text = dialled[1]
	}
	switch {
	case strings.Contains(text, "no children to pick from"), strings.Contains(text, "produced zero addresses"), strings.Contains(text, "no such host"):
		return "the name has no address"
	case errors.Is(err, context.DeadlineExceeded), strings.Contains(text, "deadline exceeded"), strings.Contains(text, "i/o timeout"):
		return "no answer in time"
	case strings.Contains(text, "error reading server preface"):
		return "what listens there does not speak gRPC, or wants TLS"
	}
	return strings.TrimPrefix(text, "failed reaching server: ")
}

// dialError is what the network said of a connection that was not made.
var dialError = regexp.MustCompile(`dial (?:tcp|unix)[^"]*: (?:connect: )?([^:"]+)$`)

// IsDefault says whether nothing names a server, so that the SDK's default is used.
func (s Settings) IsDefault() bool {
	s.DefaultAddress = ""
	opts, err := Options(s)
	return err == nil && opts.HostPort == client.DefaultHostPort
}

// Options resolves settings to what the SDK dials.
func Options(s Settings) (client.Options, error) {
	opts, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		return client.Options{}, fmt.Errorf("read Temporal settings from the environment: %w", err)
	}
	if s.Address != "" {
		opts.HostPort = s.Address
	}
	if s.Namespace != "" {
		opts.Namespace = s.Namespace
	}
	opts.HostPort = cmp.Or(opts.HostPort, s.DefaultAddress, client.DefaultHostPort)
	opts.Namespace = cmp.Or(opts.Namespace, s.DefaultNamespace, client.DefaultNamespace)
	logger := s.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	opts.Logger = log.NewStructuredLogger(logger)
	return opts, nil
}

// Dial connects, or says within Timeout which address failed and why.
func Dial(ctx context.Context, s Settings) (client.Client, error) {
	opts, err := Options(s)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	c, err := client.DialContext(ctx, opts)
	if err != nil {
		return nil, &UnreachableError{opts.HostPort, err}
	}
	return c, nil
}

// EnsureSearchAttributes registers attributes that the namespace lacks. Servers
// that do not let clients do so answer with a sentence that says what to run.
func EnsureSearchAttributes(ctx context.Context, c client.Client, namespace string, keys []temporal.SearchAttributeKey) error {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	have, err := c.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return fmt.Errorf("list search attributes of namespace %s: %w", namespace, err)
	}
	missing := map[string]enumspb.IndexedValueType{}
	for _, k := range keys {
		if _, ok := have.CustomAttributes[k.GetName()]; !ok {
			missing[k.GetName()] = k.GetValueType()
		}
	}
	if len(missing) == 0 {
		return nil
	}
	_, err = c.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
		Namespace: namespace, SearchAttributes: missing,
	})
	var exists *serviceerror.AlreadyExists
	if err != nil && !errors.As(err, &exists) { // another worker may have been quicker
		return fmt.Errorf("add search attributes %v to namespace %s (an operator can: temporal operator search-attribute create): %w", missing, namespace, err)
	}
	return nil
}
