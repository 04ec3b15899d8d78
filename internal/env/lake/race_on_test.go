//go:build race

package lake

// raced says that the race detector is on: pools then forget at random.
const raced = true
