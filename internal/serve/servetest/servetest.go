// Package servetest is a scripted model server for tests, and what a test program
// must be for servers to be started from it: starting, proving, loading, sleeping,
// asking and ending are tested with it without a GPU. `make test-serve` does the
// same with real ones.
package servetest

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"floe/internal/endpoint"
	"floe/internal/job/backend/process"
	"floe/internal/serve"
)

// Question is what a scripted server is asked.
type Question struct {
	Kind    string // of the server, such as vllm
	Base    string // the base model that the server was started with
	Adapter string // directory of the adapter that is asked; empty: the base model

	Model     string             `json:"model"` // as the request names it
	Messages  []endpoint.Message `json:"messages"`
	MaxTokens int                `json:"max_tokens"`
	Body      []byte             `json:"-"` // the request as it came
}

// Last is the newest message, which is what there is to answer.
func (q Question) Last() string {
	if len(q.Messages) == 0 {
		return ""
	}
	return q.Messages[len(q.Messages)-1].Content
}

// Answer answers questions, several at one time.
type Answer func(q Question) string

// Variables that make a scripted server misbehave.
const (
	EnvWrongRoot = "SCRIPTED_ROOT" // it says that this is its model
	EnvBroken    = "SCRIPTED_BROKEN"
	EnvStubborn  = "SCRIPTED_STUBBORN" // SIGTERM does not end it
	EnvFragile   = "SCRIPTED_FRAGILE"  // the first question ends it
)

const verb = "scripted"

// Command is the program of a scripted server of a kind, in place of the real one:
// this test program, whose TestMain must call Main.
func Command(kind string) []string { return []string{os.Args[0], verb, kind} }

// Main makes a test program what it was called as: a supervisor of jobs, a guard of
// servers or a scripted server, which answers so; nil: as Who. It returns where the
// program is none of them. TestMain calls it first.
func Main(answer Answer) {
	if len(os.Args) < 3 {
		return
	}
	switch os.Args[1] {
	case process.Verb:
		os.Exit(process.Supervise(os.Args[2], os.Stderr))
	case serve.Verb:
		os.Exit(serve.Guard(os.Args[2], os.Stderr))
	case verb:
		os.Exit(listen(os.Args[2], os.Args[3:], answer))
	}
}

// Who says who answers: process, model, adapter's directory and settings.
func Who(q Question) string {
	return fmt.Sprintf("pid %d model %s adapter %q gpus %q key %q args %q",
		os.Getpid(), q.Base, q.Adapter, os.Getenv("CUDA_VISIBLE_DEVICES"), os.Getenv("OPENAI_API_KEY"), os.Args[1:])
}

// flagOf finds a flag's value in an argument vector.
func flagOf(args []string, flag string) string {
	if i := slices.Index(args, flag); i >= 0 && i+1 < len(args) {
		return args[i+1]
	}
	return ""
}

// listen is a server's whole life.
func listen(kind string, args []string, answer Answer) int {
	if os.Getenv(EnvBroken) != "" {
		fmt.Fprintln(os.Stdout, "RuntimeError: no device was found")
		return 3
	}
	if os.Getenv(EnvStubborn) != "" {
		signal.Ignore(syscall.SIGTERM)
	}
	model, served := described(kind, args)
	if root := os.Getenv(EnvWrongRoot); root != "" {
		model = root
	}
	//nolint:gosec // a test's server needs no time limits
	err := http.ListenAndServe(net.JoinHostPort(flagOf(args, "--host"), flagOf(args, "--port")), New(kind, model, served, answer))
	fmt.Fprintln(os.Stdout, err)
	return 1
}

// described reads model and served name from the flags of a kind.
func described(kind string, args []string) (model, served string) {
	names := map[string]string{"vllm": "--served-model-name", "sglang": "--served-model-name", "llamacpp": "--alias", "llamacpp-python": "--model_alias"}
	switch kind {
	case "vllm":
		model = args[0]
	case "sglang":
		model = flagOf(args, "--model-path")
	default:
		model = flagOf(args, "--model")
	}
	return model, flagOf(args, names[kind])
}
