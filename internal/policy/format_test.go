package policy_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"floe/internal/policy"
)

func TestModelSurvivesItsFile(t *testing.T) {
	m := train(t, config(t, 1)).Model
	file := m.Marshal()
	again, err := policy.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	if again.Features() != m.Features() || again.Actions() != m.Actions() || again.RewardState() != m.RewardState() {
		t.Errorf("loaded %d features, %d actions, %+v; want %d, %d, %+v", again.Features(), again.Actions(), again.RewardState(), m.Features(), m.Actions(), m.RewardState())
	}
	if !bytes.Equal(again.Marshal(), file) {
		t.Error("the loaded model has another file")
	}
}

// forge changes a file at an offset and seals it again.
func forge(file []byte, at int, value uint32) []byte {
	file = bytes.Clone(file)
	binary.LittleEndian.PutUint32(file[at:], value)
	body := len(file) - sha256.Size
	sum := sha256.Sum256(file[:body])
	copy(file[body:], sum[:])
	return file
}

func TestLoadRefusesOtherFiles(t *testing.T) {
	file := newModel(t).Marshal()
	for _, c := range []struct {
		name string
		file []byte
		want string
	}{
		{"empty", nil, "this is no policy"},
		{"another file", []byte("PK\x03\x04 something else, long enough to have a header"), "this is no policy"},
		{"header cut off", file[:15], "cut off"},
		{"cut off", file[:len(file)-1], "cut off"},
		{"too long", append(bytes.Clone(file), 0), "1 bytes too many"},
		{"another version", forge(file, 8, 2), "version 2; this program reads version 1"},
		{"one bit in a weight", flip(file, 1000), "damaged"},
		{"one bit in the checksum", flip(file, len(file)-1), "damaged"},
		{"another width", forge(file, 20, 128), "128 hidden units"},
		{"no features", forge(file, 24, 0), "0 features"},
		{"more features than weights", forge(file, 24, 30), "its shape wants"},
		{"one action", forge(file, 28, 1), "1 actions"},
		{"more answers within than answers", forge(file, 40, 1), "1 of 0 answers"},
		{"a weight that is no number", forge(file, 48, math.Float32bits(float32(math.NaN()))), "not a finite number"},
	} {
		if _, err := policy.Load(c.file); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v; want one with %q", c.name, err, c.want)
		}
	}
}

func FuzzLoad(f *testing.F) {
	m, err := policy.New(3, 2, "fuzz")
	if err != nil {
		f.Fatal(err)
	}
	file := m.Marshal()
	f.Add(file)
	f.Add(file[:40])
	f.Add(forge(file, 24, 1<<31))
	f.Add(forge(file, 12, math.MaxUint32))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, file []byte) {
		if len(file) >= 24+sha256.Size { // sealed well, so that the body is read
			file = forge(file, 20, binary.LittleEndian.Uint32(file[20:]))
		}
		m, err := policy.Load(file)
		if err == nil && !bytes.Equal(m.Marshal(), file) {
			t.Error("a file was read as a model that has another file")
		}
	})
}
