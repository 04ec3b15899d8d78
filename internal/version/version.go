// Package version says which build this is.
package version

import (
	"cmp"
	"runtime/debug"
	"strings"
)

// Set by the linker (see the Makefile); a plain `go build` leaves them empty and
// the build information of the toolchain is used instead.
var (
	version string
	commit  string
	dirty   string
)

// Info is what is known of this build.
type Info struct {
	Version string   `json:"version"`
	Commit  string   `json:"commit"`
	Dirty   bool     `json:"dirty"`
	Go      string   `json:"go"`
	Modules []string `json:"modules"`
}

// telling are the dependencies that can change a result or a history.
var telling = []string{
	"go.temporal.io/sdk", "go.temporal.io/api", "gopkg.in/yaml.v3", "github.com/sashabaranov/go-openai",
	"github.com/aws/aws-sdk-go-v2/service/s3", "github.com/klauspost/compress",
}

// Get reads the build's own description.
func Get() Info {
	info := Info{Version: cmp.Or(version, "dev"), Commit: commit, Dirty: dirty == "true"}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return info
	}
	info.Go = build.GoVersion
	for _, s := range build.Settings {
		switch {
		case s.Key == "vcs.revision" && info.Commit == "":
			info.Commit = s.Value
		case s.Key == "vcs.modified" && dirty == "":
			info.Dirty = s.Value == "true"
		}
	}
	for _, m := range build.Deps {
		for _, want := range telling {
			if m.Path == want {
				info.Modules = append(info.Modules, m.Path+"@"+m.Version)
			}
		}
	}
	return info
}

// Build names this build among others, for a worker deployment: the commit, and
// the version where there is none. It has no dots: Temporal joins a deployment's
// name and the build with one.
func (i Info) Build() string {
	name := i.Commit[:min(12, len(i.Commit))]
	if name == "" {
		name = strings.ReplaceAll(i.Version, ".", "-")
	}
	if i.Dirty {
		name += "-dirty"
	}
	return name
}

// String is the one line that `version` prints.
func (i Info) String() string {
	var b strings.Builder
	b.WriteString("floe " + i.Version)
	if i.Commit != "" {
		b.WriteString(" (" + i.Commit[:min(12, len(i.Commit))])
		if i.Dirty {
			b.WriteString(", uncommitted changes")
		}
		b.WriteString(")")
	}
	b.WriteString(" " + i.Go)
	return b.String()
}
