// Package homes runs the demo in the homes and data folders that people have: paths
// with spaces, links, file systems that are read-only, other users' folders, odd
// environments. `make test-homes` does; without it the tests are skipped, as each of
// some forty homes takes a whole demo.
package homes
