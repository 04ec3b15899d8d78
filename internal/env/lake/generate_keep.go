package lake

// kept is an instance in little memory, as a set may have millions. The size and
// the number of agents are known from elsewhere.
type kept struct {
	holes [(MaxSize*MaxSize + 7) / 8]byte // a bit per cell, row by row
	ends  [2 * MaxAgents]place            // starts, then goals
	class uint8
	cost  uint16 // least sum of costs
}

func keep(p *puzzle, class, cost int) kept {
	k := kept{class: uint8(class), cost: uint16(cost)}
	for i := range p.n * p.n {
		if p.ground[placeOf(Cell{i / p.n, i % p.n})] == wall {
			k.holes[i/8] |= 1 << (i % 8)
		}
	}
	copy(k.ends[:MaxAgents], p.starts[:])
	copy(k.ends[MaxAgents:], p.goals[:])
	return k
}

// puzzle is what was kept.
func (k *kept) puzzle(n, agents int) puzzle {
	p := puzzle{n: n, agents: agents, ground: walled}
	for i := range n * n {
		if k.holes[i/8]>>(i%8)&1 == 0 {
			p.ground[placeOf(Cell{i / n, i % n})] = unseen
		}
	}
	copy(p.starts[:], k.ends[:MaxAgents])
	copy(p.goals[:], k.ends[MaxAgents:])
	return p
}
