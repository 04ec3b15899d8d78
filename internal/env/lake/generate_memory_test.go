package lake

import (
	"runtime"
	"testing"

	"floe/internal/env"
)

// largestShare is what a task of a set may take of the memory while the set is
// drawn and checked: the task itself has more than a thousand bytes.
const largestShare = 200

func TestASetTakesLittleMemoryHoweverLargeItIs(t *testing.T) {
	const small, large = 2_000, 22_000
	foundSmall, takenSmall := heapOfASet(t, small)
	foundLarge, takenLarge := heapOfASet(t, large)
	for what, share := range map[string]int64{
		"when all instances are found": (foundLarge - foundSmall) / (large - small),
		"when all tasks are taken":     (takenLarge - takenSmall) / (large - small),
	} {
		if share > largestShare {
			t.Errorf("%s, a task holds %d bytes; want at most %d", what, share, largestShare)
		}
	}
}

// heapOfASet is what is in use, in bytes, at the two fullest moments.
func heapOfASet(t *testing.T, samples int) (found, taken int64) {
	t.Helper()
	check := Lake{}.NewDriftCheck()
	count := 0
	take := func(task env.Task) error {
		if count++; count == samples {
			taken = heapInUse()
		}
		return check.Add(task)
	}
	o := trainOrder(samples, row(6, 0.5, 0.2, 0.2), row(9, 0.5, 0.1, 0.1))
	_, err := Lake{}.Generate(t.Context(), o, take, func(done, total int) {
		if done == total && found == 0 {
			found = heapInUse()
		}
	})
	if err != nil || found == 0 || taken == 0 {
		t.Fatalf("%d samples: %v, %d bytes when found, %d when taken", samples, err, found, taken)
	}
	runtime.KeepAlive(check)
	return found, taken
}

func heapInUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
