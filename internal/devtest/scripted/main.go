// Scripted is a stand-in for what an experiment with a language model needs a GPU
// for: a trainer and a model server. Its model is a number (package skill).
//
//	job:
//	  backend: process
//	  command: [scripted, train]
//	serve:
//	  program: [scripted, serve]
package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"

	"floe/internal/devtest/skill"
	"floe/internal/devtest/trainjob"
	"floe/internal/serve/servetest"
)

const usage = "want: scripted train, or scripted serve MODEL --served-model-name NAME --host HOST --port PORT"

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	switch {
	case len(args) == 1 && args[0] == "train":
		return trainjob.Run(context.Background(), os.Stdout)
	case len(args) > 1 && args[0] == "serve":
		return serve(args[1:])
	}
	fmt.Fprintln(os.Stderr, usage)
	return 2
}

// serve is a vLLM: the model first, then flags, of which most mean nothing here.
func serve(args []string) int {
	flag := func(name string) string {
		if i := slices.Index(args, name); i >= 0 && i+1 < len(args) {
			return args[i+1]
		}
		return ""
	}
	if _, err := skill.Read(os.DirFS(args[0])); err != nil {
		fmt.Fprintln(os.Stderr, "scripted: load", args[0]+":", err)
		return 1
	}
	err := skill.TakeDevice()
	if err == nil {
		err = skill.Write(skill.Entry{Event: skill.EventServe, Model: args[0]})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "scripted:", err)
		return 1
	}
	s := servetest.New("vllm", args[0], flag("--served-model-name"), skill.Answer)
	//nolint:gosec // a test's server needs no time limits
	err = http.ListenAndServe(net.JoinHostPort(flag("--host"), flag("--port")), s)
	fmt.Fprintln(os.Stderr, "scripted:", err)
	return 1
}
