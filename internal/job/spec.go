package job

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"

	"floe/internal/experiment"
)

// Schemas of the contract's files.
const (
	SpecSchema       = "floe.job/v1"
	ProgressSchema   = "floe.progress/v1"
	CheckpointSchema = "floe.checkpoint/v1"
	ResultSchema     = "floe.result/v1"
)

// Spec is spec.json: what a job is asked to do.
type Spec struct {
	Schema        string          `json:"schema"`
	Trainer       string          `json:"trainer"`
	BaseModel     Model           `json:"base_model"`
	Init          *Init           `json:"init" job:"optional"`
	Dataset       Dataset         `json:"dataset"`
	Reward        Reward          `json:"reward"`
	Epochs        int             `json:"epochs"`
	Seed          string          `json:"seed"`
	ExpectedSteps int             `json:"expected_steps"`
	Resume        string          `json:"resume" job:"optional"` // ResumeLatest or ResumeNone
	Limits        Limits          `json:"limits" job:"optional"`
	Settings      json.RawMessage `json:"settings" job:"optional"` // the trainer's own
}

// What an attempt does with checkpoints that it finds.
const (
	ResumeLatest = "latest"
	ResumeNone   = "none"
)

// Model is an untrained model: a directory, an s3:// prefix or a name on a hub.
type Model struct {
	URI      string  `json:"uri"`
	Revision *string `json:"revision" job:"optional"`
	SHA256   *string `json:"sha256" job:"optional"` // tree digest of a directory
}

// Init is the checkpoint that a job starts from.
type Init struct {
	URI            string `json:"uri"`
	ManifestSHA256 string `json:"manifest_sha256"`
}

// Dataset is the file with the tasks.
type Dataset struct {
	URI    string `json:"uri"`
	SHA256 string `json:"sha256"`
	Rows   int    `json:"rows"`
}

// Reward is the referee, the reward's numbers, and the counts to go on from.
type Reward struct {
	Referee     []string              `json:"referee"`
	Environment string                `json:"environment"`
	Settings    experiment.RewardSpec `json:"settings"`
	State       RewardState           `json:"state"`
}

// RewardState is what dynamic weights depend on.
type RewardState struct {
	Answers int64 `json:"answers"` // scored so far, in all rounds
	Within  int64 `json:"within"`  // of them within the free length
}

// Limits bound an attempt, in seconds.
type Limits struct {
	WallSeconds  int `json:"wall_seconds" job:"optional"` // 0: no limit
	GraceSeconds int `json:"grace_seconds" job:"optional"`
}

const (
	defaultGraceSeconds = 120
	largestSpec         = 1 << 20
)

// ReadSpec reads spec.json strictly and fills in defaults; the error has every
// fault. The digest names the spec in checkpoints and results.
func ReadSpec(r io.Reader) (spec Spec, digest string, err error) {
	body, err := io.ReadAll(io.LimitReader(r, largestSpec+1))
	if err != nil {
		return Spec{}, "", fmt.Errorf("read spec: %w", err)
	}
	if len(body) > largestSpec {
		return Spec{}, "", fmt.Errorf("spec: found more than %d bytes; want less", largestSpec)
	}
	spec = Spec{Resume: ResumeLatest, Limits: Limits{GraceSeconds: defaultGraceSeconds}, Settings: json.RawMessage("{}")}
	if err := decode("spec", body, &spec, unknownRefused); err != nil {
		return Spec{}, "", err
	}
	if err := spec.Validate(); err != nil {
		return Spec{}, "", err
	}
	return spec, Digest(body), nil
}

// Marshal writes spec.json. Equal specs have equal bytes, and so equal digests.
func (s Spec) Marshal() (body []byte, digest string, err error) {
	if s.Schema == "" {
		s.Schema = SpecSchema
	}
	if s.Resume == "" {
		s.Resume = ResumeLatest
	}
	if len(s.Settings) == 0 {
		s.Settings = json.RawMessage("{}")
	}
	if err := s.Validate(); err != nil {
		return nil, "", err
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(s); err != nil {
		return nil, "", fmt.Errorf("write spec: %w", err)
	}
	// What is written must be readable: settings come from elsewhere.
	if _, _, err := ReadSpec(bytes.NewReader(b.Bytes())); err != nil {
		return nil, "", err
	}
	return b.Bytes(), Digest(b.Bytes()), nil
}

// Validate returns everything that is wrong between and within the keys.
func (s Spec) Validate() error {
	f := faults{name: "spec"}
	f.want(s.Schema == SpecSchema, "schema", s.Schema, SpecSchema)
	for _, t := range []struct{ path, value string }{
		{"trainer", s.Trainer},
		{"base_model.uri", s.BaseModel.URI},
		{"dataset.uri", s.Dataset.URI},
		{"reward.environment", s.Reward.Environment},
		{"seed", s.Seed},
	} {
		f.want(t.value != "", t.path, t.value, "a text that is not empty")
	}
	f.digest("dataset.sha256", &s.Dataset.SHA256)
	f.digest("base_model.sha256", s.BaseModel.SHA256)
	if s.Init != nil {
		f.want(s.Init.URI != "", "init.uri", s.Init.URI, "a directory or an s3:// prefix")
		f.digest("init.manifest_sha256", &s.Init.ManifestSHA256)
	}
	f.want(len(s.Reward.Referee) > 0 && s.Reward.Referee[0] != "", "reward.referee", s.Reward.Referee, "an argument vector such as [starter, score]")
	for _, n := range []struct {
		path        string
		value, from int64
	}{
		{"dataset.rows", int64(s.Dataset.Rows), 1},
		{"epochs", int64(s.Epochs), 1},
		{"expected_steps", int64(s.ExpectedSteps), 1},
		{"reward.state.answers", s.Reward.State.Answers, 0},
		{"reward.state.within", s.Reward.State.Within, 0},
		{"limits.wall_seconds", int64(s.Limits.WallSeconds), 0},
		{"limits.grace_seconds", int64(s.Limits.GraceSeconds), 0},
	} {
		f.want(n.value >= n.from, n.path, n.value, fmt.Sprintf("%d or more", n.from))
	}
	f.want(s.Reward.State.Within <= s.Reward.State.Answers, "reward.state.within", s.Reward.State.Within, fmt.Sprintf("at most answers = %d", s.Reward.State.Answers))
	f.want(s.Resume == ResumeLatest || s.Resume == ResumeNone, "resume", s.Resume, "latest or none")
	f.reward(s.Reward.Settings)
	return f.err()
}

func (f *faults) reward(r experiment.RewardSpec) {
	for _, n := range []struct {
		key   string
		value float64
	}{{"floor", r.Floor}, {"accuracy_low", r.AccuracyLow}, {"accuracy_top", r.AccuracyTop}} {
		f.want(n.value >= 0 && n.value <= 1, "reward.settings."+n.key, n.value, "a share from 0 to 1") // this way round, NaN is refused too
	}
	f.want(r.FreeTokens >= 0, "reward.settings.free_tokens", r.FreeTokens, "0 or more")
	f.want(r.FullTokens > r.FreeTokens, "reward.settings.full_tokens", r.FullTokens, fmt.Sprintf("more than free_tokens = %d", r.FreeTokens))
	f.want(r.AccuracyLow <= r.AccuracyTop, "reward.settings.accuracy_low", r.AccuracyLow, fmt.Sprintf("at most accuracy_top = %v", r.AccuracyTop))
	f.want(r.LengthOf == "valid" || r.LengthOf == "all", "reward.settings.length_of", r.LengthOf, "valid or all")
}

// Digest is the sha256 of bytes, in lower-case hex.
func Digest(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}
