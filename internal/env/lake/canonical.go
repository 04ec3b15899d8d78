package lake

import (
	"crypto/sha256"
	"slices"

	"floe/internal/env"
)

// digest identifies an instance up to the names of its agents.
type digest [sha256.Size]byte

// digestOf digests an instance with its agents in a fixed order: renaming
// agents gives the same problem.
func digestOf(in Instance) digest {
	var room [MaxSize*MaxSize + 1 + 4*MaxAgents]byte
	b := append(room[:0], byte(in.N))
	for _, row := range in.Grid {
		b = append(b, row...)
	}
	agents := make([][4]byte, in.Agents())
	for i := range agents {
		s, g := in.Starts[i], in.Goals[i]
		agents[i] = [4]byte{byte(s[0]), byte(s[1]), byte(g[0]), byte(g[1])}
	}
	slices.SortFunc(agents, func(a, b [4]byte) int { return slices.Compare(a[:], b[:]) })
	for _, a := range agents {
		b = append(b, a[:]...)
	}
	return sha256.Sum256(b)
}

// split is the only split that may hold an instance. It is decided by the
// instance's own content, so no set can leak into another, and by a hash, so
// that all splits have the same distribution: 2/16 validation, 2/16 benchmark,
// the rest training.
func (d digest) split() string {
	switch d[0] % 16 {
	case 0, 1:
		return env.SplitValidation
	case 2, 3:
		return env.SplitBenchmark
	default:
		return env.SplitTrain
	}
}
