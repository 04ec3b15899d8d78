package config_test

import (
	"reflect"
	"strings"
	"testing"

	"floe/internal/config"
	"floe/internal/env/all"
	"floe/internal/experiment"
)

// llm is the least that a file says which trains a language model.
const llm = `name: a
benchmarks: {agents: []}
trainer: {kind: trl, model: {uri: Qwen/Qwen3-4B}}
job: {backend: process}
`

func TestALanguageModelHasDefaultsOfItsOwn(t *testing.T) {
	spec := mustLoad(t, llm)
	recipe := &experiment.RecipeSpec{
		Tuning: "lora", LoraRank: 32, LoraAlpha: 64, LoraTargets: "all-linear", Schedule: "constant", WarmupSteps: 5,
		AdamBeta1: 0.9, AdamBeta2: 0.99, Updates: 1, MicroBatch: 4, Loss: "dapo", Advantage: "group", ClipLow: 0.2, ClipHigh: 0.2,
		TopP: 1, PromptTokens: 1024, AnswerTokens: 4096, Chat: true, Precision: "bf16", Checkpointed: true, Keep: 2,
		TRL: &experiment.TRLSpec{Device: "auto", VLLM: "colocate", VLLMMemory: 0.3, VLLMSleep: true, Attention: "sdpa", Optimizer: "adamw"},
	}
	for _, c := range []struct{ got, want any }{
		{spec.Trainer, experiment.TrainerSpec{
			Kind: "trl", Rollouts: 8, Batch: 32, LearningRate: 1e-5, ClipNorm: 1, Temperature: 1, SaveEvery: 10,
			Model: &experiment.ModelSpec{URI: "Qwen/Qwen3-4B"}, Recipe: recipe,
		}},
		{spec.Job, &experiment.JobSpec{
			Backend: "process", Command: []string{"python", "-m", "floe_trainer"}, Referee: []string{"starter", "score"},
			GPUs: 1, Grace: 600, Hang: 30, Resumes: 20,
		}},
		{spec.Serve, &experiment.ServeSpec{Kind: "vllm", Adapters: 4, Idle: 10, Start: 20}},
		{spec.Ask, &experiment.AskSpec{TopP: 1, MaxTokens: 8192, Concurrency: 64}},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("got\n%+v\nwant\n%+v", c.got, c.want)
		}
	}
	said := mustLoad(t, llm, "trainer.learning_rate=0.002", "trainer.save_every=50", "trainer.warm_start=0")
	if said.Trainer.LearningRate != 0.002 || said.Trainer.SaveEvery != 50 {
		t.Errorf("trainer %+v; want what the file says", said.Trainer)
	}
}

func TestVerlTakesTheGPUsThatItIsToldOf(t *testing.T) {
	verl := strings.Replace(llm, "kind: trl", "kind: verl", 1)
	for _, c := range []struct {
		name string
		sets []string
		want int
	}{
		{"by default", nil, 8},
		{"as the recipe says", []string{"trainer.recipe.verl.gpus_per_node=4"}, 4},
		{"joining a cluster, those of the process that joins it", []string{"trainer.recipe.verl.ray_address=head:6379", "trainer.recipe.verl.nodes=2", "job.gpus=0"}, 0},
		{"on Ray, those that ray reserves for the process", []string{"job.backend=ray", "job.ray.address=http://head:8265", "trainer.recipe.verl.nodes=2"}, 1},
	} {
		spec := mustLoad(t, verl, c.sets...)
		if spec.Job.GPUs != c.want || spec.Trainer.Recipe.TRL != nil || spec.Trainer.Recipe.Verl == nil {
			t.Errorf("%s: %d GPUs, recipe %+v; want %d and the settings of verl alone", c.name, spec.Job.GPUs, spec.Trainer.Recipe, c.want)
		}
		roundTrip(t, spec)
	}
}

func TestFilesOfLanguageModelsAreReadBackTheSame(t *testing.T) {
	for name, sets := range map[string][]string{
		"as little as possible": nil,
		"a pinned directory":    {"trainer.model={uri: /models/q, sha256: " + strings.Repeat("ab", 32) + "}"},
		"a model that designs":  {"designer={kind: trained, thinking: 'off', structured: json_schema}"},
		"the base designs":      {"designer.kind=base"},
		"full":                  {"trainer.recipe={tuning: full, trl: {vllm: 'off', optimizer: adamw_8bit}}", "trainer.learning_rate=1e-6"},
		"slurm": {
			"job={backend: slurm, gpus: 2, cpus: 16, memory_gb: 200.5, wall_minutes: 240, hours: 12, folder: /shared/floe, command: [/opt/venv/bin/python, -m, floe_trainer], slurm: {partition: gpu, options: [--constraint=h100, --constraint=h100], setup: \"module load cuda\\nexport HF_TOKEN=$(cat ~/.hf)\\n\"}}",
		},
		"ray":        {"job={backend: ray, ray: {address: 'http://head:8265', entrypoint_gpus: 0, resources: [H100=1, disk=0.5]}}"},
		"kubernetes": {"job={backend: kubernetes, env: [HF_HOME=/cache, 'OPTS=a=b'], kubernetes: {image: 'registry.example.org/floe:1', queue: gpus}}"},
		"commands": {
			"job={backend: command, files: store, commands: {submit: [sub, '{name}'], status: [stat, '{id}'], stop: [del, '{id}'], states: [Q=pending, R=running, E=ended], state_form: '^(?P<state>[A-Z])'}}",
		},
		"somebody's server":   {"serve={kind: external, endpoint: lab, model: qwen}"},
		"one that is loaded":  {"serve={kind: external, endpoint: 'http://127.0.0.1:8000/v1', load: true, folder: /shared/adapters}"},
		"a server of its own": {"serve={kind: sglang, context: 9216, memory: 0.4, parallel: 32, args: [--tp, '2', --enable-x, --enable-x], reasoning: qwen3}", "ask={temperature: 0.6, max_tokens: 8000, token_budget: 1000000}"},
	} {
		t.Run(name, func(t *testing.T) { roundTrip(t, mustLoad(t, llm, sets...)) })
	}
}

// TestEveryFaultOfALanguageModelIsToldAtOnce also pins where each fault is said to be.
func TestEveryFaultOfALanguageModelIsToldAtOnce(t *testing.T) {
	_, err := load(`
name: a
benchmarks: {agents: []}
trainer:
  kind: trl
  learning_rate: 0
  warm_start: 300
  entropy: 0.1
  recipe:
    lora_rank: 0
    micro_batch: 5
    chat: false
    thinking: true
    verl: {nodes: 2}
    tunning: full
job:
  backend: ray
  wall_minutes: 5
  slurm: {partition: gpu}
  folder: jobs
  env: [A, "1B=x", FLOE_JOB_ID=x, HF_TOKEN=hf_abcdef, "URL=https://me:pw@host", B=1, B=2]
  command: [python, -m, floe_trainer, --api-key=sk-abcdef]
serve:
  kind: external
  args: [--tp, "2"]
  load: true
ask: {max_tokens: many}
designer: {kind: trained, endpoint: lab, model: m}
`)
	checkFaults(t, err, `f.yaml:5:9: trainer.model: found nothing; want the language model that kind trl trains, such as {uri: Qwen/Qwen3-4B, revision: COMMIT}
f.yaml:6:18: trainer.learning_rate: found 0; want more, with kind trl
f.yaml:7:15: trainer.warm_start: found a setting that kind trl does not read; want it only with kind embedded
f.yaml:8:12: trainer.entropy: found a setting that kind trl does not read; want it only with kind embedded
f.yaml:10:16: trainer.recipe.lora_rank: found 0; want a whole number from 1 to 512
f.yaml:11:18: trainer.recipe.micro_batch: found 5; want a divisor of rollouts * batch, which is 256
f.yaml:13:15: trainer.recipe.thinking: found true beside chat: false; want a chat template to think in
f.yaml:14:11: trainer.recipe.verl: found settings of verl beside kind trl; want trl
f.yaml:15:5: trainer.recipe: found unknown key "tunning"; did you mean tuning?
f.yaml:17:12: job.ray: found nothing; want the cluster's address, such as {address: http://head:8265}
f.yaml:18:17: job.wall_minutes: found 5 minutes; want more than grace_seconds, which is 600: an attempt needs that time to save
f.yaml:19:10: job.slurm: found settings that job.backend ray does not read; want them only with their own back end
f.yaml:20:11: job.folder: found "jobs"; want an absolute path
f.yaml:21:9: job.env[0]: found a text without =; want NAME=value
f.yaml:21:12: job.env[1]: found the name "1B"; want NAME=value with letters, digits and _ in the name
f.yaml:21:20: job.env[2]: found FLOE_JOB_ID; want no name that begins with FLOE_: those are the contract's
f.yaml:21:35: job.env[3]: found the variable "HF_TOKEN" with what looks like a secret; want no secrets in files: set them where the training runs
f.yaml:21:55: job.env[4]: found the variable "URL" with what looks like a secret; want no secrets in files: set them where the training runs
f.yaml:21:86: job.env[6]: found the variable B a second time; want it once
f.yaml:22:39: job.command[3]: found the flag "--api-key"; want no secrets in files: set them where the training runs
f.yaml:24:9: serve.endpoint: found nothing; want an external server: a name in the worker's endpoints file, or its base URL
f.yaml:25:9: serve.args: found a setting that kind external does not read; want it only with kind vllm or sglang
f.yaml:26:9: serve.folder: found load: true and folder ""; want both or neither: the server finds the checkpoints in that folder
f.yaml:27:19: ask.max_tokens: found "many"; want a whole number from 1 to 1000000
f.yaml:28:37: designer.endpoint: found a setting that kind trained does not read; want it only with kind openai: the section serve says how the model is served
f.yaml:28:49: designer.model: found a setting that kind trained does not read; want it only with kind openai: the section serve says how the model is served`)
}

func TestSettingsOfALanguageModelAreRefused(t *testing.T) {
	const verl = "trainer.kind=verl"
	for _, c := range []struct {
		name string
		sets []string
		want string
	}{
		{
			"with the embedded trainer",
			[]string{"trainer.kind=embedded"},
			`f.yaml:3:29: trainer.model: found settings that trainer.kind embedded does not read; want them only with trainer.kind trl or verl
f.yaml:4:6: job: found settings that trainer.kind embedded does not read; want them only with trainer.kind trl or verl`,
		},
		{"another back end", []string{"job.backend=sge"}, `--set job.backend=sge: found "sge"; want one of process, slurm, ray, kubernetes, command`},
		{"no back end", []string{"job={gpus: 1}"}, "--set job={gpus: 1}: job.backend: found nothing; want one of process, slurm, ray, kubernetes, command"},
		{"no image", []string{"job.backend=kubernetes"}, "--set job.backend=kubernetes: job.kubernetes.image: found nothing; want the image with trainer and referee, or a template that has one"},
		{"no commands", []string{"job.backend=command"}, "--set job.backend=command: job.commands: found nothing; want submit, status, stop and states (docs/backends.md)"},
		{"no address", []string{"job={backend: ray, ray: {}}"}, "--set job={backend: ray, ray: {}}: job.ray.address: found nothing; want a text"},
		{"an address with a password", []string{"job={backend: ray, ray: {address: 'http://me:pw@head:8265'}}"}, "--set job={backend: ray, ray: {address: 'http://...@head:8265'}}: job.ray.address: found a user or password in the address, and files hold no secrets; want an http or https URL"},
		{"a resource without a number", []string{"job.backend=ray", "job.ray={address: 'http://h', resources: [H100]}"}, `--set job.ray={address: 'http://h', resources: [H100]}: job.ray.resources[0]: found "H100"; want NAME=number, such as H100=1`},
		{"a state that means two things", []string{"job={backend: command, commands: {submit: [a], status: [a], stop: [a], states: [a=b=ended, Q=pending, q=running]}}"}, `--set job={backend: command, commands: {submit: [a], status: [a], stop: [a], states: [...: job.commands.states[2]: found "q" a second time; want it once, whatever its case`},
		{
			"states that mean nothing",
			[]string{"job={backend: command, commands: {submit: [a], status: [a], stop: [a], states: [Q=queued], state_form: 'x('}}"},
			`--set job={backend: command, commands: {submit: [a], status: [a], stop: [a], states: [...: job.commands.states[0]: found "Q=queued"; want STATE=meaning with one of pending, running, ended, preempted, lost
--set job={backend: command, commands: {submit: [a], status: [a], stop: [a], states: [...: job.commands.state_form: found "x("; want a regular expression with a group called state`,
		},
		{"a secret in shell", []string{"job={backend: slurm, slurm: {setup: \"module load a\\nexport WANDB_API_KEY='abc'\\n\"}}"}, `--set job={backend: slurm, slurm: {setup: "module load a\nexport WANDB_API_KEY=...}}: job.slurm.setup: found a value for the variable WANDB_API_KEY; want no secrets in files: set them where the training runs`},
		{"a secret in an override", []string{"job.env=[HF_TOKEN=hf_abcdef]"}, `--set job.env=[HF_TOKEN=...]: job.env[0]: found the variable "HF_TOKEN" with what looks like a secret; want no secrets in files: set them where the training runs`},
		{"a key of a server", []string{"serve.args=[--api-key, abcdef]"}, `--set serve.args=[--api-key, ...]: serve.args[0]: found the flag "--api-key"; want no secrets in files: set them where the training runs`},
		{"an endpoint for a server of one's own", []string{"serve.endpoint=lab"}, "--set serve.endpoint=lab: found a setting that kind vllm does not read; want it only with kind external"},
		{"money for a server of one's own", []string{"ask.cost_budget=1"}, "--set ask.cost_budget=1: found 1 with a server that is not named in the worker's endpoints file and so has no prices; want token_budget, or serve.kind external with such a name"},
		{"a GPU that no job takes", []string{"job.gpus=0", "trainer.recipe.trl.device=cuda"}, "--set job.gpus=0: found 0 with trainer.recipe.trl.device cuda; want at least 1, or device auto or cpu"},
		{"too little context", []string{"serve.context=9215"}, "--set serve.context=9215: found 9215; want at least 9216: max_prompt_tokens + ask.max_tokens is 9216, and a designer that is served takes 8192 for its prompt and designer.max_tokens"},
		{"plain prompts to a server that knows none", []string{"serve.kind=sglang", "trainer.recipe.chat=false"}, "--set trainer.recipe.chat=false: found false with serve.kind sglang, which would ask in the model's chat template; want vllm, which passes prompts on unchanged"},
		{"a whole model that is loaded", []string{"serve={kind: external, endpoint: lab, load: true, folder: /f}", "trainer.recipe.tuning=full"}, "--set serve={kind: external, endpoint: lab, load: true, folder: /f}: serve.load: found true with tuning full; want lora: only adapters can be loaded into a server that runs"},
		{"a digest of another kind", []string{"trainer.model.sha256=abc"}, `--set trainer.model.sha256=abc: found "abc"; want 64 lower-case hex digits`},
		{"trl beside verl", []string{verl, "trainer.recipe.trl.vllm='off'"}, "--set trainer.recipe.trl.vllm='off': trainer.recipe.trl: found settings of trl beside kind verl; want verl"},
		{"machines that no job has", []string{verl, "trainer.recipe.verl.nodes=2"}, "--set trainer.recipe.verl.nodes=2: found 2; want 1, or job.backend ray, or ray_address of a cluster with so many machines: a job of process has one"},
		{"GPUs that verl is not told of", []string{verl, "job.gpus=4"}, "--set job.gpus=4: found 4; want gpus_per_node of verl, which is 8: it has the GPUs of its job alone"},
		{"a batch that cannot be spread", []string{verl, "trainer.batch=17"}, "--set trainer.batch=17: found 136 answers a step, which is batch * rollouts; want a multiple of nodes * gpus_per_node * micro_batch, which is 32"},
		{
			"what verl cannot do",
			[]string{verl, "trainer.kl=0.01", "trainer.recipe={chat: false, schedule: linear, lora_alpha: 0.5, verl: {tensor_parallel: 3}}"},
			`--set trainer.kl=0.01: found 0.01 with kind verl, tuning lora and more than one round; want 0: verl would compare with the base model, not with the round's start
--set trainer.recipe={chat: false, schedule: linear, lora_alpha: 0.5, verl: {tensor_pa...: trainer.recipe.chat: found false; want true with kind verl, which always uses the chat template
--set trainer.recipe={chat: false, schedule: linear, lora_alpha: 0.5, verl: {tensor_pa...: trainer.recipe.schedule: found linear; want constant or cosine with kind verl
--set trainer.recipe={chat: false, schedule: linear, lora_alpha: 0.5, verl: {tensor_pa...: trainer.recipe.lora_alpha: found 0.5; want a whole number with kind verl
--set trainer.recipe={chat: false, schedule: linear, lora_alpha: 0.5, verl: {tensor_pa...: trainer.recipe.verl.tensor_parallel: found 3; want a divisor of the 8 GPUs`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := load(llm, c.sets...)
			checkFaults(t, err, c.want)
			for _, secret := range []string{"hf_abcdef", "abcdef", ":pw@"} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("a fault repeats %q: %v", secret, err)
				}
			}
		})
	}
}

func TestVariablesThatOnlySoundLikeSecretsAreTaken(t *testing.T) {
	spec := mustLoad(t, llm, "job.env=[TOKENIZERS_PARALLELISM=false, MAX_TOKENS=10, HF_HOME=/cache, NCCL_DEBUG=INFO, KEYBOARD=us]")
	if len(spec.Job.Env) != 5 {
		t.Errorf("env %q", spec.Job.Env)
	}
}

func TestTheSchemaHasTheSectionsOfALanguageModel(t *testing.T) {
	doc := string(schema(t))
	for _, key := range []string{`"uri"`, `"lora_rank"`, `"vllm_memory"`, `"gpus_per_node"`, `"wall_minutes"`, `"entrypoint_gpus"`, `"state_form"`, `"start_minutes"`, `"token_budget"`} {
		if !strings.Contains(doc, key) {
			t.Errorf("the schema has no %s", key)
		}
	}
}

// TestRecipesAreThoseOfTheTrainersDocumentation holds the types to the tables of
// docs/trainer.md, which a test of the trainer holds to its settings.
func TestRecipesAreThoseOfTheTrainersDocumentation(t *testing.T) {
	shared := settingsOf(reflect.TypeFor[experiment.RecipeSpec]())
	for name, s := range settingsOf(reflect.TypeFor[experiment.TrainerSpec]()) {
		switch name {
		case "kind", "entropy", "warm_start", "warm_epochs": // no settings of a job
		default:
			shared[name] = s
		}
	}
	tables := recipeTables(t)
	for i, have := range []map[string]setting{shared, settingsOf(reflect.TypeFor[experiment.TRLSpec]()), settingsOf(reflect.TypeFor[experiment.VerlSpec]())} {
		if !reflect.DeepEqual(have, tables[i]) {
			t.Errorf("table %d of docs/trainer.md: the types and the table differ in\n%s", i+1, strings.Join(unequal(have, tables[i]), "\n"))
		}
	}
}

func TestAmendingForgetsWhatTheNewBackEndDoesNotRead(t *testing.T) {
	old := mustLoadReal(t, llm, "job={backend: slurm, hours: 8, slurm: {partition: gpu}}", "designer.kind=trained", "designer.temperature=0.7")
	got, err := config.Amend("the spec of a", old, []string{"job.backend=process", "designer.kind=fixed"}, all.Open)
	if err != nil {
		t.Fatal(err)
	}
	fresh := mustLoadReal(t, llm, "job.hours=8", "designer.kind=fixed")
	if diff := config.Diff(fresh, got); len(diff) != 0 {
		t.Errorf("differs from a file that says the same: %q", diff)
	}
	_, err = config.Amend("the spec of a", old, []string{"job.backend=process", "job.slurm.partition=other"}, all.Open)
	if err == nil || !strings.Contains(err.Error(), "job.slurm: found settings that job.backend process does not read") {
		t.Errorf("error %v; want what was asked for refused", err)
	}
	_, err = config.Amend("the spec of a", old, []string{"trainer.kind=embedded"}, all.Open)
	if err == nil || !strings.Contains(err.Error(), "trainer.recipe: found settings that trainer.kind embedded does not read") {
		t.Errorf("error %v; want another kind of policy refused", err)
	}
}

func mustLoadReal(t *testing.T, src string, sets ...string) experiment.Spec {
	t.Helper()
	spec, err := config.Load("f.yaml", []byte(src), sets, all.Open)
	if err != nil {
		t.Fatal(err)
	}
	return spec
}
