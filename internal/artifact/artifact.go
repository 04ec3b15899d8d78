// Package artifact keeps what steps write: immutable objects in S3-compatible
// storage, each with its sha256 in a manifest.
//
// A step is done when its manifest is there. Objects are written first, read
// back and checked; the manifest comes last, by conditional put, so of two
// attempts that race exactly one wins and the other adopts the winner's work.
// Attempts never write the same place.
//
//	steps/<kind>/<key>/manifest.json
//	steps/<kind>/<key>/<attempt>/<file>
//	steps/<kind>/<key>/partial/<token>-<step>-<sum>/... checkpoints inside a step
//	steps/<kind>/<key>/lease/...                who works on it, see lease.go
//	steps/<kind>/<key>/answers/...              what a model has answered so far
//	steps/<kind>/<key>/job/...                  a job that does the step: attempts, and its files if they are here
//	experiments/<name>/<file>                   spec, provenance, report
//	quarantine/steps/...                        manifests set aside, see Quarantine
//	quarantine/swept/<moment>/steps/...         what Sweep took, until its time there is over
//	checks/<random>                             for a moment, by Check
package artifact

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"floe/internal/experiment"
)

// ErrNotFound is returned for keys that do not exist.
var ErrNotFound = errors.New("artifact: not found")

// ErrExists is returned by PutIfAbsent when the key is taken.
var ErrExists = errors.New("artifact: exists already")

// ErrFull is in the error of a write for which the store has no room.
var ErrFull = errors.New("artifact: the store is full")

// Store is a bucket of immutable objects. Package artifacttest proves a store.
type Store interface {
	// Put writes all of body, from its start, whole or not at all, replacing what
	// is there. After an error the object may be there, but never a part of it.
	Put(ctx context.Context, key string, body io.ReadSeeker) error
	// PutIfAbsent writes only if the key is free; of many racing writers one
	// wins and the others get ErrExists. A writer whose answer got lost may get
	// ErrExists from its own object.
	PutIfAbsent(ctx context.Context, key string, body []byte) error
	// Get opens an object; ErrNotFound if there is none.
	Get(ctx context.Context, key string) (io.ReadCloser, error)
	// List returns the objects under a prefix in key order.
	List(ctx context.Context, prefix string) ([]Object, error)
	// Delete removes an object; no error if it is gone already.
	Delete(ctx context.Context, key string) error
	// Copy copies an object as it was listed, whole or not at all; ErrNotFound if it is
	// gone.
	Copy(ctx context.Context, from Object, to string) error
	// Check fails within seconds, naming endpoint, bucket and cause, when the
	// store cannot be used.
	Check(ctx context.Context) error
	// URL is where a person finds a key, such as s3://floe/steps/...
	URL(key string) string
}

// Object is one listed object.
type Object struct {
	Key      string    `json:"key"`
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified"`
}

// Manifest says what a finished step wrote. It is the step's proof of being done.
type Manifest struct {
	Schema   string            `json:"schema"` // "floe.step/v1"
	ID       experiment.StepID `json:"id"`
	Attempt  string            `json:"attempt"`         // who wrote it; unique per try
	Lease    int               `json:"lease,omitempty"` // token under which it was committed
	Inputs   json.RawMessage   `json:"inputs"`          // what the key digests
	Files    []File            `json:"files"`
	Started  time.Time         `json:"started"`
	Finished time.Time         `json:"finished"`
	Host     string            `json:"host"`
	Version  string            `json:"version"`
}

// File is one object of a step. Object is its full key in the store.
type File struct {
	Name   string `json:"name"`
	Object string `json:"object"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// File finds a file by name.
func (m Manifest) File(name string) (File, bool) {
	for _, f := range m.Files {
		if f.Name == name {
			return f, true
		}
	}
	return File{}, false
}
