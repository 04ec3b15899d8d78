package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"floe/internal/devtest/binaries"
)

func TestMain(m *testing.M) { os.Exit(binaries.Run(m)) }

// order is what to do, from the environment: `make chaos` sets it.
type order struct {
	seed    uint64
	events  int
	minutes int    // no lap begins after that; 0: until all events have happened
	out     string // folder for diary and logs
}

// Of the short version, which `make check` runs. The seed is one whose events are
// a pause, an artifact damaged, a dead worker, a dead devstack, lost answers and a
// dead store.
const (
	checkSeed    = 204034
	checkEvents  = 6
	checkMinutes = 1
)

func orders(t *testing.T) order {
	t.Helper()
	o := order{seed: checkSeed, events: checkEvents, minutes: checkMinutes, out: os.Getenv("FLOE_CHAOS_OUT")}
	if o.out == "" {
		o.out = filepath.Join(t.TempDir(), "chaos")
	}
	var errs []error
	read := func(name string, set func(uint64)) {
		text, ok := os.LookupEnv(name)
		if !ok || text == "" {
			return
		}
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s is %q; want a whole number from 0 to %d", name, text, uint32(1<<32-1)))
		}
		set(n)
	}
	read("FLOE_CHAOS_SEED", func(n uint64) { o.seed = n })
	read("FLOE_CHAOS_EVENTS", func(n uint64) { o.events = int(n) })
	read("FLOE_CHAOS_MINUTES", func(n uint64) { o.minutes = int(n) })
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return o
}

// over says whether no more laps are to begin.
func (o order) over(began time.Time) bool {
	return o.minutes > 0 && time.Since(began) >= time.Duration(o.minutes)*time.Minute
}

// play is what is run while things break.
type play struct {
	name  string // folder of its diary and logs, below that of the order; may be empty
	kinds []kind
	// text is the sweep of a lap.
	text func(s *site, lap int, long bool) string
	// same says of an artifact, by its path in an experiment, whether it must be that
	// of an undisturbed sweep to the byte.
	same func(path string) bool
}

// TestNothingIsToBeSeenOfChaos is about the embedded trainer, whose artifacts all
// come again.
func TestNothingIsToBeSeenOfChaos(t *testing.T) {
	perform(t, play{"", kinds, func(_ *site, lap int, long bool) string { return sweepText(lap, long) }, func(string) bool { return true }})
}

// perform runs one sweep after the other, each undisturbed and then through the next
// events of the schedule, until all have happened.
func perform(t *testing.T, p play) {
	if testing.Short() {
		t.Skip("it starts Temporal, an S3 store and workers: not with -short")
	}
	o := orders(t)
	o.out = filepath.Join(o.out, p.name)
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		t.Fatal(err)
	}
	d := openDiary(t, filepath.Join(o.out, "chaos.jsonl"))
	d.aside("seed %d, %d events", o.seed, o.events)
	left, began := schedule(p.kinds, o.seed, o.events), time.Now()
	laps := 0
	for ; len(left) > 0 && !t.Failed() && (laps == 0 || !o.over(began)); laps++ {
		t.Run(fmt.Sprintf("lap %d", laps), func(t *testing.T) {
			d.under(t)
			left = lap(t, p, o, d, laps, left)
		})
	}
	d.under(t)
	text, n := d.counts()
	d.aside("seed %d: %d laps in %s; %s", o.seed, laps, time.Since(began).Round(time.Second), text)
	switch {
	case t.Failed():
		t.Errorf("repeat it with: make chaos SEED=%d EVENTS=%d", o.seed, o.events)
	case n == 0:
		t.Error("nothing happened")
	}
}

// lap runs one sweep undisturbed, and again through the next events; those that
// had not begun when it was done are left.
func lap(t *testing.T, p play, o order, d *diary, number int, events []event) []event {
	logs := filepath.Join(o.out, fmt.Sprintf("lap-%d", number))
	long := o.events > checkEvents
	want := calm(t, d, filepath.Join(logs, "undisturbed"), func(s *site) string { return p.text(s, number, long) })

	s := newSite(t, logs, d.aside, func(s *site) {
		if err := s.mountDisk(); err != nil {
			d.aside("the store's disk will not be filled: %v", err)
		}
	})
	s.begin(p.text(s, number, long))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	st := &storm{site: s, diary: d, ctx: ctx, seats: make(chan struct{}, atOnce)}
	over := make(chan []event, 1)
	go func() { over <- st.blow(events) }()
	v := s.followed(d)
	cancel()
	left := <-over
	if t.Failed() {
		s.tellLogs()
		return left
	}
	s.mendAll(d)
	s.check(d, v, p.same, want)
	return left
}

// calm runs a sweep undisturbed and returns the sha256 of its artifacts by cell
// and path.
func calm(t *testing.T, d *diary, logs string, text func(*site) string) map[string]map[string]string {
	t.Helper()
	s := newSite(t, logs, d.aside, func(*site) {})
	s.begin(text(s))
	v := s.followed(d)
	sums := s.sums(v)
	s.close()
	return sums
}
