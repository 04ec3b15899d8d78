//go:build !race

package lake

const raced = false
