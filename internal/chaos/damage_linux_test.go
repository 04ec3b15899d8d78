package chaos

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// damagedSteps are what `starter artifacts verify` reports.
type damagedSteps struct {
	Faults []struct {
		Experiment string
		Path       string // as people know it: round-0/train
		Fault      string
		Aside      string
	}
}

// corrupt flips a bit of a step's file on the store's disk, then finds and sets
// aside the step as docs/artifacts.md says.
func (s *storm) corrupt(e event) error {
	s.stack.victim.Lock() // the disk is not full, and the store is asked in peace
	defer s.stack.victim.Unlock()
	var object string
	for object == "" {
		files, err := s.indexed()
		if err != nil {
			return err
		}
		if len(files) > 0 {
			object = files[e.Pick%uint64(len(files))]
		} else if !s.sleep(gapLeast) {
			s.tell(e, nil, "left out: no round is done yet")
			return nil
		}
	}
	bit, err := flip(filepath.Join(s.bucket(), object), e.Pick)
	if err != nil {
		return err
	}
	s.tell(e, nil, "bit %d of %s is flipped", bit, object)
	s.happened(e.Kind)
	var found damagedSteps
	if !within(stopWithin, func() bool { return s.ask(&found, "artifacts", "verify", "--repair") }) {
		return errors.New("starter artifacts verify --repair does not answer")
	}
	aside := 0
	for _, f := range found.Faults {
		if f.Aside != "" {
			aside++
			s.tell(e, nil, "found and set aside: %s of %s: %s", f.Path, f.Experiment, f.Fault)
		}
	}
	if aside != 1 {
		return fmt.Errorf("verify --repair set %d steps aside after one bit of %s was flipped", aside, object)
	}
	return nil
}

// indexed are the files of steps of rounds and benchmarks that an experiment's
// index names, for which a retry by round can do the step again.
func (s *site) indexed() ([]string, error) {
	indexes, err := filepath.Glob(filepath.Join(s.bucket(), "experiments", "*", "index.json"))
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for _, index := range indexes {
		body, err := os.ReadFile(index)
		var refs struct {
			Rounds []map[string]json.RawMessage `json:"rounds"`
		}
		if err != nil || json.Unmarshal(body, &refs) != nil {
			continue // it is just being replaced
		}
		for _, round := range refs.Rounds {
			for _, step := range round {
				var done struct{ ID struct{ Kind, Key string } }
				if json.Unmarshal(step, &done) == nil && done.ID.Key != "" && done.ID.Kind != "curriculum" {
					found[filepath.Join("steps", done.ID.Kind, done.ID.Key)] = true
				}
			}
		}
	}
	var objects []string
	for step := range found {
		objects = append(objects, s.namedBy(filepath.Join(step, "manifest.json"))...)
	}
	slices.Sort(objects)
	return objects, nil
}

// namedBy are the objects that a manifest names.
func (s *site) namedBy(manifest string) []string {
	body, err := os.ReadFile(filepath.Join(s.bucket(), manifest))
	var m struct {
		Files []struct{ Object string }
	}
	if err != nil || json.Unmarshal(body, &m) != nil {
		return nil
	}
	var objects []string
	for _, f := range m.Files {
		objects = append(objects, f.Object)
	}
	return objects
}

// flip changes one bit of a file.
func flip(file string, pick uint64) (bit uint64, err error) {
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	bit = pick / 64 % uint64(8*info.Size())
	b := make([]byte, 1)
	if _, err = f.ReadAt(b, int64(bit/8)); err == nil {
		b[0] ^= 1 << (bit % 8)
		_, err = f.WriteAt(b, int64(bit/8))
	}
	return bit, err
}

// roundOf is the round of a path such as round-0/train; ok is false for others.
func roundOf(path string) (round string, ok bool) {
	where, _, _ := strings.Cut(path, "/")
	return strings.CutPrefix(where, "round-")
}
