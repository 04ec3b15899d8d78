// Package skill is a language model for tests that is nothing but a number: how
// likely it is to solve a task. It has a base model and adapters, in the files that
// real ones have; it answers prompts of tasks and of designs, and a training can
// raise it. Package trainjob trains it as a job, program scripted serves it.
package skill

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sync"
)

// Skill is the share of tasks that the model solves, from 0 to 1.
type Skill float64

// Files of the model, as PEFT and Hugging Face call them.
const (
	fileAdapter       = "adapter_model.safetensors"
	fileAdapterConfig = "adapter_config.json"
	fileModel         = "model.safetensors"
	fileConfig        = "config.json"
)

// tensor is the name of the one weight.
const tensor = "skill"

// Adapter has the files of an adapter of a base model, by name.
func (s Skill) Adapter(base string, rank int) (map[string][]byte, error) {
	config, err := json.Marshal(map[string]any{"peft_type": "LORA", "base_model_name_or_path": base, "r": rank})
	if err != nil {
		return nil, err
	}
	weights, err := s.weights()
	return map[string][]byte{fileAdapterConfig: config, fileAdapter: weights}, err
}

// Model has the files of a whole model, by name.
func (s Skill) Model() (map[string][]byte, error) {
	weights, err := s.weights()
	return map[string][]byte{fileConfig: []byte(`{"model_type":"skill"}`), fileModel: weights}, err
}

// WriteModel makes a directory of a whole model.
func (s Skill) WriteModel(dir string) error {
	content, err := s.Model()
	if err == nil {
		err = os.MkdirAll(dir, 0o750)
	}
	for name, body := range content {
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), body, 0o600)
		}
	}
	return err
}

// weights is the safetensors file: the length of a header, the header, the number.
func (s Skill) weights() ([]byte, error) {
	header, err := json.Marshal(map[string]any{tensor: map[string]any{"dtype": "F64", "shape": []int{1}, "data_offsets": []int{0, 8}}})
	if err != nil {
		return nil, err
	}
	body := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return binary.LittleEndian.AppendUint64(append(body, header...), math.Float64bits(float64(s))), nil
}

// Read reads the model in a directory, an adapter or a whole one.
func Read(dir fs.FS) (Skill, error) {
	body, err := fs.ReadFile(dir, fileAdapter)
	if errors.Is(err, fs.ErrNotExist) {
		body, err = fs.ReadFile(dir, fileModel)
	}
	if err != nil {
		return 0, err
	}
	return parse(body)
}

func parse(body []byte) (Skill, error) {
	if len(body) < 8 {
		return 0, errors.New("the weights are cut off")
	}
	n := binary.LittleEndian.Uint64(body)
	if n > uint64(len(body)-8) || uint64(len(body)) != 8+n+8 {
		return 0, fmt.Errorf("the weights are %d bytes with a header of %d; want one number behind it", len(body), n)
	}
	var header map[string]json.RawMessage
	if err := json.Unmarshal(body[8:8+n], &header); err != nil || header[tensor] == nil {
		return 0, fmt.Errorf("the weights' header is %.80q; want one of the tensor %s", body[8:8+n], tensor)
	}
	s := Skill(math.Float64frombits(binary.LittleEndian.Uint64(body[8+n:])))
	if !(s >= 0 && s <= 1) {
		return 0, fmt.Errorf("a skill of %v; want 0 to 1", s)
	}
	return s, nil
}

// loaded are the models that this process has read: as in a real server, the files
// are read once.
var loaded sync.Map

// load reads a directory for serving.
func load(dir string) (Skill, error) {
	if s, ok := loaded.Load(dir); ok {
		if s, ok := s.(Skill); ok {
			return s, nil
		}
	}
	s, err := Read(os.DirFS(dir))
	if err != nil {
		return 0, fmt.Errorf("load %s: %w", dir, err)
	}
	loaded.Store(dir, s)
	return s, nil
}
