package endpoint

import "sync"

// Budget bounds the tokens of many calls at one time: what they have used and
// what those under way may still use. It is safe for concurrent use.
type Budget struct {
	limit int64 // 0: none

	mu      sync.Mutex
	settled sync.Cond
	used    int64
	held    int64
}

// NewBudget bounds the tokens to a limit, of which some are used already. A limit
// of 0 bounds nothing.
func NewBudget(limit, used int64) *Budget {
	b := &Budget{limit: limit, used: used}
	b.settled.L = &b.mu
	return b
}

// Hold sets aside the most that a call can use, waiting for calls under way to
// leave room. It says no when they have all been settled and there still is none.
func (b *Budget) Hold(most int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.limit > 0 && b.used+b.held+most > b.limit {
		if b.held == 0 {
			return false
		}
		b.settled.Wait()
	}
	b.held += most
	return true
}

// Settle ends a call that Hold set tokens aside for, with what it used.
func (b *Budget) Settle(most, used int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held -= most
	b.used += used
	b.settled.Broadcast()
}

// Used is the number of tokens used so far.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}
