package experiment

import (
	"crypto/sha256"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"strconv"
)

// Seed turns a name into a seed by hashing its parts. Seeds are hashed names,
// never sums: neighbours of a sum share draws, and held-out sets leak into
// training. Parts are length-prefixed, so ("a", "bc") and ("ab", "c") differ.
func Seed(parts ...string) [32]byte {
	h := sha256.New()
	for _, p := range parts {
		_, _ = io.WriteString(h, strconv.Itoa(len(p))+":"+p) // a hash never fails to write
	}
	return [32]byte(h.Sum(nil))
}

// Rand returns a generator for the named stream of draws.
func Rand(parts ...string) *rand.Rand {
	s := Seed(parts...)
	//nolint:gosec // draws must repeat; nothing secret depends on them
	return rand.New(rand.NewPCG(binary.LittleEndian.Uint64(s[:8]), binary.LittleEndian.Uint64(s[8:16])))
}
