// Package plan says what work an experiment is: its steps, in order, with the
// keys under which they are done once. The activities take their keys from here,
// so a plan and a run cannot disagree.
//
// A step's key digests all that determines its result, also the content of what
// earlier steps wrote. Before those have run their content is not known; such a
// step gets an open key instead: a digest of its inputs in which the files of
// unfinished steps are named by their own keys. Equal open keys are equal work.
// Unequal ones may still turn out to be equal work, when two designers propose
// the same curriculum: a plan promises the least that is shared.
package plan
