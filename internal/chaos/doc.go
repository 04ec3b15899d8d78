// Package chaos holds tests that break things while a sweep runs: workers,
// Temporal server and store are killed, stopped and cut off, the disk is filled
// and an artifact damaged, by a schedule that a seed determines. Afterwards
// nothing of it may be seen: the artifacts are those of an undisturbed sweep,
// every cell ran once, and nothing is left over. See docs/chaos.md.
package chaos
