package s3

import (
	"slices"
	"strings"
	"time"
)

// SetPatience shortens Check for a test of a silent server.
func (s *Store) SetPatience(d time.Duration) { s.patience = d }

// PathStyle says whether the bucket goes into the path.
func (s *Store) PathStyle() bool { return s.client.Options().UsePathStyle }

// Region is what was settled.
func (s *Store) Region() string { return s.client.Options().Region }

// Unreachable explains errors that a test on one machine cannot provoke.
var Unreachable = unreachable

// SetPage shortens the pages of listings.
func (s *Store) SetPage(keys int32) { s.page = keys }

// SetCopies lets small objects be copied as large ones are.
func (s *Store) SetCopies(atOnce, part int64) { s.copyAtOnce, s.copyPart = atOnce, part }

// WithoutLarge leaves the rule about large objects out, which takes longest, until
// the function it returns is called.
func WithoutLarge() (back func()) {
	all := rules
	rules = slices.DeleteFunc(slices.Clone(all), func(r rule) bool { return strings.HasPrefix(r.name, "an object over") })
	return func() { rules = all }
}
