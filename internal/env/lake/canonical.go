package lake

import (
	"crypto/sha256"
	"slices"

	"floe/internal/env"
)

// digest identifies an instance up to the names of its agents. With 128 bits, two
// of a billion instances share one with a chance of 10^-21.
type digest [16]byte

// digest is the first half of the sha256 of the instance's canonical bytes: the size n, the grid's
// letters row by row, and for every agent its start's and its goal's row and
// column, the agents sorted by these four.
func (p *puzzle) digest() digest {
	var room [1 + MaxSize*MaxSize + 4*MaxAgents]byte
	b := append(room[:0], byte(p.n))
	for r := range p.n {
		for c := range p.n {
			letter := byte(frozen)
			if p.ground[placeOf(Cell{r, c})] == wall {
				letter = hole
			}
			b = append(b, letter)
		}
	}
	var agents [MaxAgents][4]byte
	for i := range p.agents {
		s, g := cellOf(p.starts[i]), cellOf(p.goals[i])
		agents[i] = [4]byte{byte(s[0]), byte(s[1]), byte(g[0]), byte(g[1])}
	}
	slices.SortFunc(agents[:p.agents], func(a, b [4]byte) int { return slices.Compare(a[:], b[:]) })
	for _, a := range agents[:p.agents] {
		b = append(b, a[:]...)
	}
	sum := sha256.Sum256(b)
	return digest(sum[:len(digest{})])
}

// split is the only split that may hold the instance: 2/16 of all are for
// validation, 2/16 for benchmarks, the rest for training. The instance's content
// decides, so no set can leak into another, whatever seeds and curricula drew
// them; and it decides by a hash, so all splits have the same distribution.
func (d digest) split() string {
	switch d[0] % 16 {
	case 0, 1:
		return env.SplitValidation
	case 2, 3:
		return env.SplitBenchmark
	}
	return env.SplitTrain
}
