// Package experiment holds the words of the domain as types: curriculum,
// scorecard, transcript, spec, seeds and keys. It has no behaviour beyond what
// keeps those words honest, and imports nothing but the standard library, so
// every other package can speak of the same things.
package experiment
