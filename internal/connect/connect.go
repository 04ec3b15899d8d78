// Package connect settles which Temporal server and which artifact store a
// program talks to, the same way for worker and starter: flags first, then the
// environment, then the project file, then a development stack that is running,
// then the defaults of the SDKs.
package connect

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"
	"go.temporal.io/sdk/client"

	"floe/internal/artifact/s3"
	"floe/internal/config"
	"floe/internal/stack"
	"floe/internal/temporalclient"
	"floe/internal/textfile"
)

// Environment variables beside the SDKs' own (TEMPORAL_*, AWS_*).
const (
	EnvBucket = "FLOE_BUCKET"
	EnvUI     = "FLOE_UI_URL"
)

const projectFile = "floe.yaml"

// Flags are the connection flags that worker and starter share.
type Flags struct {
	Address   string
	Namespace string
	UI        string
	Endpoint  string
	Bucket    string
	Data      string
	Project   string
}

// Register adds the flags to a command.
func (f *Flags) Register(fs *pflag.FlagSet) {
	fs.StringVar(&f.Address, "address", "", "Temporal server, `HOST:PORT` (TEMPORAL_ADDRESS)")
	fs.StringVar(&f.Namespace, "namespace", "", "Temporal `NAMESPACE` (TEMPORAL_NAMESPACE)")
	fs.StringVar(&f.UI, "ui", "", "`URL` of the Temporal Web UI, for links (FLOE_UI_URL)")
	fs.StringVar(&f.Endpoint, "s3-endpoint", "", "`URL` of the S3-compatible store (AWS_ENDPOINT_URL_S3)")
	fs.StringVar(&f.Bucket, "bucket", "", "`BUCKET` that holds the artifacts (FLOE_BUCKET)")
	fs.StringVar(&f.Data, "data", "", "`DIR` of the development stack (default $XDG_STATE_HOME/floe)")
	fs.StringVar(&f.Project, "project", "", "project `FILE` with connection settings (default floe.yaml here or above)")
}

// Settings is what was settled.
type Settings struct {
	Temporal temporalclient.Settings
	S3       s3.Settings
	UI       string
	Data     string      // folder of the development stack
	Stack    *stack.Info // the development stack in use, if any
}

// Resolve settles the settings. A named data folder counts as a flag: its stack
// is then used whatever the environment says.
func Resolve(f Flags) (Settings, error) {
	project, err := loadProject(f.Project)
	if err != nil {
		return Settings{}, err
	}
	s := Settings{Data: cmp.Or(f.Data, project.Data)}
	if s.Data == "" {
		s.Data, _ = stack.DefaultDir() // a user without a home can have no stack there
	}
	info, running := s.findStack()
	if running {
		s.Stack = &info
	} else if f.Data != "" && f.Address == "" && f.Endpoint == "" {
		return Settings{}, &NoStackError{Data: s.Data}
	}
	s.resolveTemporal(f, project, running)
	s.resolveS3(f, project, running)
	return s, nil
}

// LocalTemporal says whether these settings lead to the development stack of the
// data folder, or would while it runs.
func (s Settings) LocalTemporal() bool {
	if s.Stack != nil {
		return s.Temporal.UsesAddress(s.Stack.Temporal)
	}
	return s.Temporal.DefaultAddress == "" && s.Temporal.IsDefault()
}

// LocalStore says so of the artifact store.
func (s Settings) LocalStore() bool {
	if s.Stack != nil {
		return s.S3.Endpoint == s.Stack.S3
	}
	return s.S3.Endpoint == ""
}

func (s Settings) findStack() (info stack.Info, running bool) {
	if s.Data == "" {
		return stack.Info{}, false
	}
	info, err := stack.Read(s.Data)
	return info, err == nil && info.Alive()
}

// Beside is a folder in the data folder; for a user without a home there is none.
func (s Settings) Beside(name string) (string, error) {
	if s.Data == "" {
		_, err := stack.DefaultDir()
		return "", err
	}
	return filepath.Join(s.Data, name), nil
}

// NoStackError says that the named folder has no development stack running.
type NoStackError struct{ Data string }

// Error says what to do.
func (e *NoStackError) Error() string {
	return fmt.Sprintf("no development stack is running in %s; start one with: starter dev --data %s", e.Data, e.Data)
}

func (s *Settings) resolveTemporal(f Flags, p config.Project, running bool) {
	s.Temporal = temporalclient.Settings{
		Address: f.Address, Namespace: f.Namespace,
		DefaultAddress: p.Temporal.Address, DefaultNamespace: p.Temporal.Namespace,
	}
	s.UI = cmp.Or(f.UI, os.Getenv(EnvUI), p.Temporal.UI)
	if !running {
		return
	}
	if f.Data != "" {
		s.Temporal.Address = cmp.Or(f.Address, s.Stack.Temporal)
		s.Temporal.Namespace = cmp.Or(f.Namespace, s.Stack.Namespace)
	}
	s.Temporal.DefaultAddress = cmp.Or(p.Temporal.Address, s.Stack.Temporal)
	if s.Temporal.UsesAddress(s.Stack.Temporal) {
		s.UI = cmp.Or(s.UI, s.Stack.UI)
	}
}

func (s *Settings) resolveS3(f Flags, p config.Project, running bool) {
	s.S3 = s3.Settings{
		Endpoint: cmp.Or(f.Endpoint, firstEnv("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"), p.S3.Endpoint),
		Bucket:   cmp.Or(f.Bucket, os.Getenv(EnvBucket), p.S3.Bucket),
		Region:   cmp.Or(firstEnv("AWS_REGION", "AWS_DEFAULT_REGION"), p.S3.Region),
		Profile:  cmp.Or(os.Getenv("AWS_PROFILE"), p.S3.Profile), Checksums: p.S3.Checksums, PathStyle: p.S3.PathStyle,
	}
	named := f.Data != "" && f.Endpoint == ""
	if running && (named || (s.S3.Endpoint == "" && s.S3.Bucket == "")) {
		pathStyle := true
		s.S3 = s3.Settings{
			Endpoint: s.Stack.S3, Bucket: s.Stack.Bucket, Region: s.Stack.Region,
			CredentialsFile: s.Stack.Credentials, PathStyle: &pathStyle,
		}
	}
	s.S3.Bucket = cmp.Or(s.S3.Bucket, "floe")
}

func loadProject(file string) (config.Project, error) {
	if file == "" {
		if file = findProject(); file == "" {
			return config.Project{}, nil
		}
	}
	src, err := textfile.ReadFile(file, 1<<20)
	if err != nil {
		return config.Project{}, err
	}
	return config.LoadProject(file, src)
}

// findProject looks for a project file here and in the folders above.
func findProject() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	for {
		file := filepath.Join(dir, projectFile)
		if _, err := os.Stat(file); err == nil {
			return file
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

// Dial connects to Temporal.
func (s Settings) Dial(ctx context.Context, logger *slog.Logger) (client.Client, error) {
	t := s.Temporal
	t.Logger = logger
	return temporalclient.Dial(ctx, t)
}

// Store opens the artifact store for work and checks that it takes writes.
func (s Settings) Store(ctx context.Context) (*s3.Store, error) {
	store, err := s3.Open(ctx, s.S3)
	if err != nil {
		return nil, err
	}
	return store, store.Check(ctx)
}

// Reader opens the artifact store for those who look, and checks by reading alone: a
// full store, and one that these credentials may not write, can be read.
func (s Settings) Reader(ctx context.Context) (*s3.Store, error) {
	store, err := s3.Open(ctx, s.S3)
	if err != nil {
		return nil, err
	}
	return store, store.CheckReads(ctx)
}

// Export puts what leads to the artifact store into this process's environment, as
// S3 clients know it, for the programs that it starts: jobs that keep their files in
// the store. What the environment says already stays.
func (s Settings) Export() error {
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_S3": s.S3.Endpoint, "AWS_REGION": s.S3.Region,
		"AWS_SHARED_CREDENTIALS_FILE": s.S3.CredentialsFile, "AWS_PROFILE": s.S3.Profile,
	} {
		if value == "" || os.Getenv(name) != "" {
			continue
		}
		if err := os.Setenv(name, value); err != nil {
			return fmt.Errorf("set %s: %w", name, err)
		}
	}
	return nil
}

func firstEnv(names ...string) string {
	for _, n := range names {
		if v := os.Getenv(n); v != "" {
			return v
		}
	}
	return ""
}

// Namespace is the Temporal namespace that these settings lead to.
func (s Settings) Namespace() string {
	opts, err := temporalclient.Options(s.Temporal)
	if err != nil {
		return s.Temporal.Namespace
	}
	return opts.Namespace
}
