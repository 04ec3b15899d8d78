package skill

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"testing"
)

// EnvDiary names a file in which trainers and servers keep what they did, for tests
// to read; without it they keep nothing.
const EnvDiary = "SKILL_DIARY"

// Events of a diary.
const (
	EventServe  = "serve"  // a server was started
	EventAnswer = "answer" // a task was answered
	EventDesign = "design" // a curriculum was designed
	EventClash  = "clash"  // a program began while another had the device
	EventStart  = "start"  // an attempt of a training began
	EventStep   = "step"   // it made a step
	EventHold   = "hold"   // it waits to be let go
	EventSaved  = "saved"  // it wrote a checkpoint
	EventEnd    = "end"    // it ended by itself
)

// Entry is one line of a diary.
type Entry struct {
	Event   string   `json:"event"`
	PID     int      `json:"pid"`
	Model   string   `json:"model,omitempty"` // that was asked
	Skill   float64  `json:"skill"`
	Job     string   `json:"job,omitempty"` // directory of the job
	Attempt int      `json:"attempt,omitempty"`
	Step    int      `json:"step,omitempty"`
	IDs     []string `json:"ids,omitempty"` // tasks of a step
	Exit    int      `json:"exit,omitempty"`
}

// Write appends a line to the diary, if there is one. The line goes out in one
// write, as several programs share the file.
func Write(e Entry) error {
	name := os.Getenv(EnvDiary)
	if name == "" {
		return nil
	}
	e.PID = os.Getpid()
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600) //nolint:gosec // the test that started us named it
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

// write is Write for a server, which has nobody to tell of an error but its log.
func write(e Entry) {
	if err := Write(e); err != nil {
		panic(err)
	}
}

// Diary reads a diary; a line that is being written is left out.
func Diary(t testing.TB, name string) []Entry {
	t.Helper()
	body, err := os.ReadFile(name) //nolint:gosec // a file of the test
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	var all []Entry
	for line := range bytes.Lines(body[:bytes.LastIndexByte(body, '\n')+1]) {
		var e Entry
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("%s: %v in %.200q", name, err, line)
		}
		all = append(all, e)
	}
	return all
}
