package serve

import (
	"context"
	"strconv"
)

// dialect is how a kind of server is started and spoken to. What is nil or empty
// it cannot do.
type dialect struct {
	command []string // its program
	model   string   // flag of the model; empty: a plain argument
	served  string   // flag of the served name
	context string
	// parallel is the flag of answers at one time.
	parallel  string
	revision  string // of a model on a hub
	memory    string
	reasoning string
	fixed     []string // flags that are always given
	env       []string
	sleepable []string // flags and variables that let it sleep
	sleepEnv  []string
	adapters  func(s Settings) []string // flags for adapters at run time
	adapter   func(path string) []string
	// shared says that the context is divided among answers at one time.
	shared bool

	health  string // path
	version string // path that says the version; empty: none does
	// verify proves which base model is served.
	verify func(ctx context.Context, a admin, s Settings) error
	load   func(ctx context.Context, a admin, name, dir string) error
	unload func(ctx context.Context, a admin, name string) error
	// asked is what requests name an adapter; nil: by its own name.
	asked    func(base, name string) string
	sleep    func(ctx context.Context, a admin) error
	wake     func(ctx context.Context, a admin) error
	sleeping func(ctx context.Context, a admin) (bool, error)
}

// dialects are the servers that floe can start. Flags and paths are those of vLLM
// 0.32, SGLang 0.5, llama.cpp's server and llama-cpp-python 0.3; docs/serving.md
// says which of them were run.
var dialects = map[string]dialect{
	"vllm": {
		command: []string{"vllm", "serve"}, served: "--served-model-name", context: "--max-model-len",
		parallel: "--max-num-seqs", revision: "--revision", memory: "--gpu-memory-utilization", reasoning: "--reasoning-parser",
		// The model's own sampling settings would be applied where a request is silent.
		fixed: []string{"--generation-config", "vllm"}, env: []string{"VLLM_NO_USAGE_STATS=1", "DO_NOT_TRACK=1"},
		sleepable: []string{"--enable-sleep-mode"}, sleepEnv: []string{"VLLM_SERVER_DEV_MODE=1"},
		adapters: vllmAdapters, health: "/health", version: "/version", verify: verifyRoot,
		load: vllmLoad, unload: vllmUnload,
		sleep: vllmSleep, wake: vllmWake, sleeping: vllmSleeping,
	},
	"sglang": {
		command: []string{"python3", "-m", "sglang.launch_server"}, model: "--model-path", served: "--served-model-name",
		context: "--context-length", parallel: "--max-running-requests", revision: "--revision", memory: "--mem-fraction-static", reasoning: "--reasoning-parser",
		sleepable: []string{"--enable-memory-saver"},
		adapters:  sglangAdapters, health: "/health", version: "/server_info", verify: verifySGLang,
		load: sglangLoad, unload: sglangUnload, asked: func(base, name string) string { return base + ":" + name },
		sleep: sglangSleep, wake: sglangWake,
	},
	"llamacpp": {
		command: []string{"llama-server"}, model: "--model", served: "--alias", context: "--ctx-size", parallel: "--parallel", shared: true,
		adapter: func(path string) []string { return []string{"--lora", path} },
		health:  "/health", verify: verifyLlama,
	},
	"llamacpp-python": {
		command: []string{"python3", "-m", "llama_cpp.server"}, model: "--model", served: "--model_alias", context: "--n_ctx",
		adapter: func(path string) []string { return []string{"--lora_path", path} },
		health:  "/v1/models", verify: verifyListed,
	},
}

// portHole stands in an argument vector for the port, which the guard picks.
const portHole = "{port}"

// launch is the argument vector and the variables that settings come to.
func (s Settings) launch() (argv, env []string) {
	d := dialects[s.Kind]
	argv = append(argv, d.command...)
	if len(s.Command) > 0 {
		argv = append([]string{}, s.Command...)
	}
	if d.model != "" {
		argv = append(argv, d.model)
	}
	argv = append(argv, s.Model, d.served, s.served(), "--host", "127.0.0.1", "--port", portHole)
	argv = append(argv, d.fixed...)
	add := func(flag string, is bool, value string) {
		if is {
			argv = append(argv, flag, value)
		}
	}
	context := s.Context
	if d.shared && s.Parallel > 0 {
		context *= s.Parallel
	}
	add(d.revision, s.Revision != "", s.Revision)
	add(d.context, s.Context > 0, strconv.Itoa(context))
	add(d.parallel, s.Parallel > 0, strconv.Itoa(s.Parallel))
	add(d.memory, s.MemoryShare > 0, strconv.FormatFloat(s.MemoryShare, 'f', -1, 64))
	add(d.reasoning, s.Reasoning != "", s.Reasoning)
	env = append(env, d.env...)
	if s.MaxAdapters > 0 {
		argv = append(argv, d.adapters(s)...)
		if s.Kind == "vllm" {
			env = append(env, "VLLM_ALLOW_RUNTIME_LORA_UPDATING=True")
		}
	}
	if s.Adapter != "" {
		argv = append(argv, d.adapter(s.Adapter)...)
	}
	if s.Sleep {
		argv, env = append(argv, d.sleepable...), append(env, d.sleepEnv...)
	}
	if s.GPUs != "" {
		env = append(env, "CUDA_VISIBLE_DEVICES="+s.GPUs)
	}
	return append(argv, s.Args...), append(env, s.Env...)
}

// ranks are the ranks of adapters that vLLM makes room for.
var ranks = []int{1, 8, 16, 32, 64, 128, 256, 320, mostRank}

const mostRank = 512

func roomFor(rank int) string {
	for _, r := range ranks {
		if rank <= r {
			return strconv.Itoa(r)
		}
	}
	return strconv.Itoa(mostRank)
}

func vllmAdapters(s Settings) []string {
	n := strconv.Itoa(s.MaxAdapters)
	return []string{"--enable-lora", "--max-loras", n, "--max-cpu-loras", n, "--max-lora-rank", roomFor(s.MaxRank)}
}

func sglangAdapters(s Settings) []string {
	n := strconv.Itoa(s.MaxAdapters)
	// Without adapters at its start SGLang must be told what they may touch.
	return []string{"--enable-lora", "--max-loras-per-batch", n, "--max-loaded-loras", n, "--max-lora-rank", strconv.Itoa(s.MaxRank), "--lora-target-modules", "all"}
}
