package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"
)

// stateSchema names the form of stack.json; a change that breaks readers gets a
// new number.
const stateSchema = "floe.devstack/v1"

// state is what other programs need to find the stack. It holds no secret, only
// the path of the file that does.
type state struct {
	Schema      string    `json:"schema"`
	PID         int       `json:"pid"`
	Started     time.Time `json:"started"`
	Temporal    string    `json:"temporal"`
	Namespace   string    `json:"namespace"`
	UI          string    `json:"ui"`
	S3          string    `json:"s3"`
	Region      string    `json:"region"`
	Bucket      string    `json:"bucket"`
	Credentials string    `json:"credentials"`
	Version     string    `json:"version"`
}

func newState(o options, d dataDir, p ports, started time.Time) state {
	return state{
		Schema:      stateSchema,
		PID:         os.Getpid(),
		Started:     started.UTC().Truncate(time.Second),
		Temporal:    address(p.temporal),
		Namespace:   namespaceName,
		UI:          "http://" + address(p.ui),
		S3:          "http://" + address(p.s3),
		Region:      s3Region,
		Bucket:      o.bucket,
		Credentials: d.credentials(),
		Version:     version,
	}
}

func (s state) write(d dataDir) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	if err := writeFileAtomically(d.state(), append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("state file: %w", err)
	}
	return nil
}

// removeState forgets a state file; that there is none is as good.
func removeState(d dataDir) error {
	if err := os.Remove(d.state()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("state file: %w", err)
	}
	return nil
}
