package job

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"
)

// Manifest is manifest.json of a checkpoint, which is written last: a directory
// without one is torn.
type Manifest struct {
	Schema      string            `json:"schema"`
	Step        int               `json:"step"`
	Kind        string            `json:"kind"` // "lora" or "full"
	Trainer     string            `json:"trainer"`
	BaseModel   BaseRef           `json:"base_model"`
	SpecSHA256  string            `json:"spec_sha256"`
	Parent      *string           `json:"parent"` // sha256 of the manifest gone on from
	RewardState RewardState       `json:"reward_state"`
	Files       []File            `json:"files"`
	Versions    map[string]string `json:"versions"`
	Written     time.Time         `json:"written"`
}

// BaseRef names the model that a checkpoint was trained from.
type BaseRef struct {
	URI      string  `json:"uri"`
	Revision *string `json:"revision" job:"optional"`
}

// File is one file of a checkpoint.
type File struct {
	Path   string `json:"path"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
	Role   string `json:"role"` // RoleModel or RoleState
}

// Roles of files. What has the role of model is what a server loads; state is
// for going on with the training.
const (
	RoleModel = "model"
	RoleState = "state"
)

const (
	fileManifest    = "manifest.json"
	largestManifest = 16 << 20
)

// ReadManifest reads the manifest of a checkpoint's directory, and digests it.
// The files that it names are not looked at: VerifyFiles does.
func ReadManifest(files fs.FS, dir string) (m Manifest, digest string, err error) {
	name := path.Join(dir, fileManifest)
	body, err := readFile(files, name, largestManifest)
	if err != nil {
		return Manifest{}, "", err
	}
	return ParseManifest(name, body)
}

// ParseManifest reads the text of a checkpoint's manifest, and digests it. Name is
// what faults call it.
func ParseManifest(name string, body []byte) (m Manifest, digest string, err error) {
	if err := decode(name, body, &m, unknownPassed); err != nil {
		return Manifest{}, "", err
	}
	return m, Digest(body), m.validate(name)
}

func (m Manifest) validate(name string) error {
	f := faults{name: name}
	f.want(m.Schema == CheckpointSchema, "schema", m.Schema, CheckpointSchema)
	f.want(m.Step >= 0, "step", m.Step, "0 or more")
	f.want(m.Kind == "lora" || m.Kind == "full", "kind", m.Kind, "lora or full")
	f.digest("spec_sha256", &m.SpecSHA256)
	f.digest("parent", m.Parent)
	models := 0
	seen := map[string]bool{}
	for i, file := range m.Files {
		at := fmt.Sprintf("files[%d]", i)
		f.want(fs.ValidPath(file.Path) && file.Path != "." && file.Path != fileManifest && !seen[file.Path], at+".path", file.Path, "a path below the directory, once")
		f.want(file.Size >= 0, at+".size", file.Size, "0 or more")
		f.want(file.Role == RoleModel || file.Role == RoleState, at+".role", file.Role, "model or state")
		f.digest(at+".sha256", &file.SHA256)
		seen[file.Path] = true
		if file.Role == RoleModel {
			models++
		}
	}
	f.want(models > 0, "files", len(m.Files), "at least one with the role model")
	return f.err()
}

// VerifyFiles reads every file of a checkpoint and compares size and digest with
// the manifest. Progress hears of the bytes read so far; it may be nil.
func VerifyFiles(files fs.FS, dir string, m Manifest, progress func(done, total int64)) error {
	var errs []error
	var done, total int64
	for _, f := range m.Files {
		total += f.Size
	}
	for _, f := range m.Files {
		count := func(n int64) {
			done += n
			if progress != nil {
				progress(done, total)
			}
		}
		if err := verify(files, path.Join(dir, f.Path), f, count); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func verify(files fs.FS, name string, want File, count func(int64)) error {
	f, err := files.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", name, ErrAbsent)
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", name, err)
	}
	defer func() { _ = f.Close() }() // it was only read
	sum := sha256.New()
	size, err := io.Copy(sum, &counted{f, count})
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	if size != want.Size {
		return fmt.Errorf("%s: found %d bytes; want %d", name, size, want.Size)
	}
	if found := hex.EncodeToString(sum.Sum(nil)); found != want.SHA256 {
		return fmt.Errorf("%s: found sha256 %s; want %s", name, found, want.SHA256)
	}
	return nil
}

// counted tells how much is read.
type counted struct {
	io.Reader
	count func(int64)
}

// Read implements io.Reader.
func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.count(int64(n))
	return n, err
}

// Latest reads the name of the newest whole checkpoint, such as
// "checkpoints/step-000050"; ErrAbsent if there is none.
func Latest(files fs.FS) (string, error) {
	body, err := readFile(files, "LATEST", largestRecord)
	if err != nil {
		return "", err
	}
	name := firstLine(string(body))
	if !strings.HasPrefix(name, "step-") || strings.Contains(name, "/") {
		return "", fmt.Errorf("LATEST: found %q; want a name such as step-000050", short(name))
	}
	return "checkpoints/" + name, nil
}
