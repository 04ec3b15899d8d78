package lake

// memory is what a search knows to be hopeless: states, each with the largest
// budget that did not suffice from there. It starts small, so that clearing it
// costs an easy search nothing, and grows as needed up to a limit; then a new
// state takes the place of one that had little budget, since that is soon
// searched again. A search that forgets takes longer and finds the same.
type memory struct {
	level  int
	slots  []uint64 // open addressing; key above budgetBits, 0 is free
	used   int
	levels [memoryLevels][]uint64 // kept for the next search
}

const (
	smallestMemory = 8 // log2 of the slots of level 0
	memoryStep     = 2 // each level is four times the one before
	memoryLevels   = 8 // the largest: 4 Mi slots, 32 MiB
	budgetBits     = 10
	budgetMask     = 1<<budgetBits - 1
)

// reset forgets everything.
func (m *memory) reset() { m.use(0) }

func (m *memory) use(level int) {
	if m.levels[level] == nil {
		m.levels[level] = make([]uint64, 1<<(smallestMemory+level*memoryStep))
	}
	m.level, m.used, m.slots = level, 0, m.levels[level]
	clear(m.slots)
}

// enter notes that a state is searched with a budget and says whether that is
// worth while: false if it was searched with as much before. A state that is
// met again on the way from itself counts as searched: going round in a circle
// leads nowhere.
func (m *memory) enter(key uint64, budget int) bool {
	slot := m.find(key)
	switch old := m.slots[slot]; {
	case old>>budgetBits != key:
		m.used++
	case int(old&budgetMask) >= budget:
		return false
	}
	m.slots[slot] = key<<budgetBits | uint64(min(budget, budgetMask)) // to note less is safe
	if m.level < memoryLevels-1 && m.used > len(m.slots)/4*3 {
		m.grow()
	}
	return true
}

// find is the slot of a key, or the one where it belongs: free, unless the memory
// has come to its limit.
func (m *memory) find(key uint64) int {
	mask := uint64(len(m.slots) - 1)
	slot := key * 0x9E3779B97F4A7C15 >> (64 - smallestMemory - m.level*memoryStep)
	if m.level == memoryLevels-1 {
		return m.among(key, int(slot&^(choices-1)))
	}
	for m.slots[slot&mask] != 0 && m.slots[slot&mask]>>budgetBits != key {
		slot++
	}
	return int(slot & mask)
}

// choices is how many slots a key can have at the limit: a cache line.
const choices = 8

// among is the slot of a key among some, a free one, or that of the least budget.
func (m *memory) among(key uint64, first int) int {
	least := first
	for slot, entry := range m.slots[first : first+choices] {
		if entry == 0 || entry>>budgetBits == key {
			return first + slot
		}
		if entry&budgetMask < m.slots[least]&budgetMask {
			least = first + slot
		}
	}
	return least
}

func (m *memory) grow() {
	old := m.slots
	m.use(m.level + 1)
	for _, entry := range old {
		if entry != 0 {
			m.slots[m.find(entry>>budgetBits)] = entry
			m.used++
		}
	}
}
