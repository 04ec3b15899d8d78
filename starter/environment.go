package main

import "github.com/spf13/cobra"

// environmentCmds are the verbs that work on an environment alone: they need no
// server and no store.
func (a *app) environmentCmds() []*cobra.Command {
	return []*cobra.Command{
		a.solveCmd(), a.datasetCmd(),
		a.scoreCmd(), a.renderCmd(),
		a.benchmarkCmd(), a.rescoreCmd(),
	}
}
