package chaos

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"floe/internal/experiment"
)

// kind is what an event does.
type kind string

const (
	killWorker    kind = "kill worker"    // -9, and a while without it
	killWorkers   kind = "kill workers"   // all of them
	killStack     kind = "kill devstack"  // Temporal, and the store with it
	killStorage   kind = "kill storage"   // the S3 server alone; devstack starts another
	killAll       kind = "kill all"       // workers and devstack
	pauseWorker   kind = "pause worker"   // SIGSTOP past heartbeat and lease, then SIGCONT
	fillDisk      kind = "fill disk"      // of the store
	dropAnswers   kind = "drop answers"   // S3 writes are done, and their answers lost
	delayStore    kind = "delay store"    // each S3 request takes longer
	cutStore      kind = "cut store"      // no S3 request gets through
	cutTemporal   kind = "cut temporal"   // connections break and none is made
	stallTemporal kind = "stall temporal" // connections stay and carry nothing
	corrupt       kind = "corrupt object" // one bit of an artifact, then verify --repair
)

// kinds are all events, in the order in which a seed shuffles them.
var kinds = []kind{
	killWorker, killWorkers, killStack, killStorage, killAll, pauseWorker, fillDisk,
	dropAnswers, delayStore, cutStore, cutTemporal, stallTemporal, corrupt,
}

// event is one disturbance.
type event struct {
	N      int
	Kind   kind
	Victim int           // which worker it is about, where it is about one
	After  time.Duration // since the event before began
	Lasts  time.Duration // how long things stay broken
	Count  int           // answers to drop, milliseconds of delay
	Pick   uint64        // chooses among what is there: an object and a bit of it
}

// spans bound how long each kind lasts. Pauses and some of the cuts go past the
// heartbeat timeout of 15 s; a later attempt takes over at once then, without
// waiting for the lease's 20 s.
var spans = map[kind][2]time.Duration{
	killWorker:    {0, 3 * time.Second},
	killWorkers:   {0, 3 * time.Second},
	killStack:     {0, 3 * time.Second},
	killAll:       {0, 3 * time.Second},
	pauseWorker:   {17 * time.Second, 25 * time.Second},
	fillDisk:      {2 * time.Second, 8 * time.Second},
	dropAnswers:   {3 * time.Second, 10 * time.Second}, // at most
	delayStore:    {3 * time.Second, 10 * time.Second},
	cutStore:      {2 * time.Second, 10 * time.Second},
	cutTemporal:   {2 * time.Second, 20 * time.Second},
	stallTemporal: {5 * time.Second, 20 * time.Second},
}

const (
	workers  = 2
	gapLeast = 500 * time.Millisecond
	gapMost  = 8 * time.Second
)

// schedule draws events. Each kind comes once before any comes again; the same
// seed gives the same schedule, also to a longer one.
func schedule(kinds []kind, seed uint64, n int) []event {
	rng := experiment.Rand("chaos", strconv.FormatUint(seed, 10))
	between := func(least, most time.Duration) time.Duration {
		return (least + time.Duration(rng.Int64N(int64(most-least)+1))).Round(time.Millisecond)
	}
	var events []event
	for len(events) < n {
		for _, k := range rng.Perm(len(kinds)) {
			e := event{N: len(events), Kind: kinds[k], Victim: rng.IntN(workers), After: between(gapLeast, gapMost), Pick: rng.Uint64()}
			if s, ok := spans[e.Kind]; ok {
				e.Lasts = between(s[0], s[1])
			}
			if e.Kind == dropAnswers {
				e.Count = 2 + rng.IntN(9)
			}
			if e.Kind == delayStore {
				e.Count = 50 + rng.IntN(1200)
			}
			events = append(events, e)
		}
	}
	return events[:n]
}

func TestASeedIsAScheduleAndAllKindsComeUp(t *testing.T) {
	long, short := schedule(kinds, 7, 3*len(kinds)), schedule(kinds, 7, 4)
	for i, e := range short {
		if e != long[i] {
			t.Errorf("event %d is %+v in a short schedule and %+v in a long one", i, e, long[i])
		}
	}
	count := map[kind]int{}
	for _, e := range long {
		count[e.Kind]++
	}
	for _, k := range kinds {
		if count[k] != 3 {
			t.Errorf("%s comes %d times in three rounds of all kinds", k, count[k])
		}
	}
	if fmt.Sprint(schedule(kinds, 8, 4)) == fmt.Sprint(short) {
		t.Error("two seeds give the same schedule")
	}
}
