package lake

import "math/bits"

// Five agents have hundreds of joint steps, and most of what these lead to has been
// met before. So in hard searches what is met is noted also within a step, when
// some agents have made theirs and others have not: two states that differ only
// in where the first agent was have all else in common once it has moved to the
// same place.

// novel says whether it is worth while to move agents a and later from time t,
// those before having moved, within a budget: not if as much did not suffice
// before.
//
// Where the agents that have moved came from matters no more, but for one thing:
// whoever still stands where one of them has gone cannot change places with it.
func (j *joint) novel(t, a, budget int) bool {
	f, n := &j.frames[t], &j.frames[t+1]
	toMove := ^f.home & (1<<j.k - 1) &^ (1<<a - 1)
	if toMove&(toMove-1) == 0 {
		return true // one step is tried as soon as it is looked up
	}
	key, barred := uint64(0), uint64(0)
	for b := range j.k {
		at := f.at[b]
		if toMove>>b&1 == 0 {
			at = n.at[b]
			if way := direction[f.at[b]-at]; way != 0 {
				barred += way * barring(f, toMove, at)
			}
		}
		key = key<<cellBits | uint64(j.bounds.builder.of[at])
	}
	if j.others.n > 0 { // then there are at most four agents, of whom three are to move
		key = key<<(8+7) | uint64(t&0xff)<<7
	} else {
		key <<= 10
	}
	key = (key|barred)<<8 | uint64(n.home)<<3 | uint64(bits.TrailingZeros8(toMove))
	return j.seen.enter(key|withinStep, budget)
}

const (
	cellBits = 7 // of a cell's number
	// withinStep marks keys of states within a step: those between steps are smaller.
	withinStep = 1 << 53
)

// barring is what a direction counts in a key's barred steps, by who stands at a
// place and is still to move: a digit in base five for every agent but the first,
// who is never left when another has moved. It is 0 if nobody stands there.
func barring(f *frame, toMove uint8, at place) uint64 {
	for m := toMove; m != 0; m &= m - 1 {
		if b := bits.TrailingZeros8(m); f.at[b] == at {
			return powersOf5[b-1]
		}
	}
	return 0
}

var (
	direction = [256]uint64{256 - stride: 1, 256 - 1: 2, 1: 3, stride: 4}
	powersOf5 = [MaxAgents - 1]uint64{1, 5, 25, 125}
)
