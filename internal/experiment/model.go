package experiment

// Trainers of language models, as in TrainerSpec.Kind; the other one is
// TrainerEmbedded.
const (
	TrainerEmbedded = "embedded"
	TrainerTRL      = "trl"
	TrainerVerl     = "verl"
)

// TrainsModel says that a language model is trained, as a job.
func (t TrainerSpec) TrainsModel() bool { return t.Kind == TrainerTRL || t.Kind == TrainerVerl }

// ModelSpec names the language model that a trainer starts from.
type ModelSpec struct {
	URI      string `json:"uri" yaml:"uri" required:"true" doc:"The model: a name on the Hugging Face hub (paper: Qwen3-4B), a directory, or an s3:// prefix."`
	Revision string `json:"revision,omitempty" yaml:"revision" doc:"Revision on the hub, best a commit: without one, the model can change between rounds."`
	SHA256   string `json:"sha256,omitempty" yaml:"sha256" pattern:"^[0-9a-f]{64}$" want:"64 lower-case hex digits" doc:"Tree digest of a directory (docs/jobs.md), checked before training."`
}

// RecipeSpec has the settings of trl and verl that the embedded trainer has not.
// docs/trainer.md says more of each; a test holds the two and the Python side
// together. All defaults are ours, for Qwen3-4B on one GPU of 80 GB.
type RecipeSpec struct {
	Tuning       string  `json:"tuning" yaml:"tuning" default:"lora" enum:"lora|full" doc:"lora trains an adapter, full all weights."`
	LoraRank     int     `json:"lora_rank" yaml:"lora_rank" default:"32" min:"1" max:"512" doc:"Rank of the adapter. vLLM serves 8, 16, 32, 64, 128, 256, 320 and 512."`
	LoraAlpha    float64 `json:"lora_alpha" yaml:"lora_alpha" default:"64" min:"0.001" max:"100000" doc:"The adapter's product is scaled by lora_alpha / lora_rank."`
	LoraTargets  string  `json:"lora_targets" yaml:"lora_targets" default:"all-linear" doc:"Layers with an adapter: all-linear, or names with commas, such as q_proj,v_proj."`
	Schedule     string  `json:"schedule" yaml:"schedule" default:"constant" enum:"constant|linear|cosine" doc:"Learning rate after the warm-up."`
	WarmupSteps  int     `json:"warmup_steps" yaml:"warmup_steps" default:"5" min:"0" doc:"Steps over which the learning rate rises from 0."`
	WeightDecay  float64 `json:"weight_decay" yaml:"weight_decay" default:"0" min:"0" max:"1" doc:"AdamW's weight decay."`
	AdamBeta1    float64 `json:"adam_beta1" yaml:"adam_beta1" default:"0.9" min:"0" max:"0.999999" doc:"Decay of AdamW's first moment."`
	AdamBeta2    float64 `json:"adam_beta2" yaml:"adam_beta2" default:"0.99" min:"0" max:"0.999999" doc:"Decay of AdamW's second moment; below the usual 0.999, as a round has few steps."`
	Updates      int     `json:"updates" yaml:"updates" default:"1" min:"1" max:"64" doc:"Optimizer updates from each batch of answers. With 1, the clip range has no effect."`
	MicroBatch   int     `json:"micro_batch" yaml:"micro_batch" default:"4" min:"1" doc:"Answers in one pass of the model; changes memory and speed, not the result but for rounding."`
	Loss         string  `json:"loss" yaml:"loss" default:"dapo" enum:"grpo|dapo|dr_grpo" doc:"How tokens are averaged: grpo over each answer, dapo over all tokens of the batch, dr_grpo by a constant."`
	Advantage    string  `json:"advantage" yaml:"advantage" default:"group" enum:"group|none" doc:"group divides a reward's distance from its group's mean by the group's deviation; none does not."`
	ClipLow      float64 `json:"clip_low" yaml:"clip_low" default:"0.2" min:"0.000001" max:"1" doc:"Clip range of the probability ratio below 1."`
	ClipHigh     float64 `json:"clip_high" yaml:"clip_high" default:"0.2" min:"0.000001" max:"10" doc:"Clip range of the probability ratio above 1."`
	TopP         float64 `json:"top_p" yaml:"top_p" default:"1" min:"0.000001" max:"1" doc:"Nucleus sampling; 1 keeps all tokens."`
	TopK         int     `json:"top_k" yaml:"top_k" default:"0" min:"0" doc:"The likeliest tokens that sampling chooses from; 0 is all."`
	PromptTokens int     `json:"max_prompt_tokens" yaml:"max_prompt_tokens" default:"1024" min:"1" doc:"Longest prompt, template included. A longer one ends the job before training."`
	AnswerTokens int     `json:"max_answer_tokens" yaml:"max_answer_tokens" default:"4096" min:"1" doc:"Longest answer: where the paper's length penalty is full."`
	Chat         bool    `json:"chat" yaml:"chat" default:"true" doc:"The prompt is a user's message in the model's chat template; false: plain text."`
	Thinking     bool    `json:"thinking" yaml:"thinking" default:"false" doc:"enable_thinking of the chat template, in training and in validation."`
	Precision    string  `json:"precision" yaml:"precision" default:"bf16" enum:"bf16|fp32" doc:"Arithmetic of the training pass. Weights that are trained are kept in fp32 either way."`
	Checkpointed bool    `json:"gradient_checkpointing" yaml:"gradient_checkpointing" default:"true" doc:"Recompute activations in the backward pass: about a third more time for much less memory."`
	Keep         int     `json:"keep_checkpoints" yaml:"keep_checkpoints" default:"2" min:"0" doc:"Newest checkpoints that stay while a round trains; 0 keeps all."`

	TRL  *TRLSpec  `json:"trl,omitempty" yaml:"trl" doc:"Settings for trl only."`
	Verl *VerlSpec `json:"verl,omitempty" yaml:"verl" doc:"Settings for verl only."`
}

// TRLSpec has the settings of trl alone.
type TRLSpec struct {
	Device        string  `json:"device" yaml:"device" default:"auto" enum:"auto|cuda|cpu" doc:"cuda, cpu, or auto: the GPU if there is one."`
	VLLM          string  `json:"vllm" yaml:"vllm" default:"colocate" enum:"colocate|off" doc:"colocate: vLLM samples the answers, in this process and on the same GPU; off: transformers does, many times slower."`
	VLLMMemory    float64 `json:"vllm_memory" yaml:"vllm_memory" default:"0.3" min:"0.000001" max:"0.95" doc:"Share of the GPU's memory that vLLM takes for its weights and cache."`
	VLLMSleep     bool    `json:"vllm_sleep" yaml:"vllm_sleep" default:"true" doc:"vLLM gives its memory back while the optimizer works."`
	Attention     string  `json:"attention" yaml:"attention" default:"sdpa" enum:"sdpa|eager|flash_attention_2|flash_attention_3" doc:"Attention of the training pass; flash_attention_2 needs its package."`
	Optimizer     string  `json:"optimizer" yaml:"optimizer" default:"adamw" enum:"adamw|adamw_8bit" doc:"adamw_8bit keeps the moments in 8 bits; it needs bitsandbytes."`
	MaskTruncated bool    `json:"mask_truncated" yaml:"mask_truncated" default:"false" doc:"Answers that the token limit cut off add nothing to the loss."`
}

// VerlSpec has the settings of verl alone.
type VerlSpec struct {
	Nodes          int      `json:"nodes" yaml:"nodes" default:"1" min:"1" doc:"Machines of the Ray cluster that the job takes."`
	GPUsPerNode    int      `json:"gpus_per_node" yaml:"gpus_per_node" default:"8" min:"1" doc:"GPUs on each."`
	TensorParallel int      `json:"tensor_parallel" yaml:"tensor_parallel" default:"1" min:"1" doc:"GPUs over which one copy of the sampling engine is spread."`
	Engine         string   `json:"engine" yaml:"engine" default:"vllm" enum:"vllm|sglang" doc:"Sampling engine."`
	EngineMemory   float64  `json:"engine_memory" yaml:"engine_memory" default:"0.5" min:"0.000001" max:"0.95" doc:"Share of a GPU's memory that the sampling engine takes."`
	Offload        bool     `json:"offload" yaml:"offload" default:"false" doc:"Parameters and optimizer wait in the machine's memory while answers are sampled."`
	RayAddress     string   `json:"ray_address,omitempty" yaml:"ray_address" doc:"Address of a running Ray cluster; without one, verl starts one on its machine."`
	Overrides      []string `json:"overrides,omitempty" yaml:"overrides" doc:"Hydra overrides behind all others, such as trainer.balance_batch=false. Unchecked."`
}

// Where a job's files are, as in JobSpec.Files.
const (
	FilesFolder = "folder" // in a folder that the worker sees too
	FilesStore  = "store"  // in the artifact store
)

// JobSpec says where a training runs and with what. It is no part of what is
// trained: the same training elsewhere is the same work.
type JobSpec struct {
	Backend string   `json:"backend" yaml:"backend" required:"true" enum:"process|slurm|ray|kubernetes|command" doc:"Who starts the training: process on the worker's own machine, slurm, ray, kubernetes, or commands of yours (docs/backends.md)."`
	Command []string `json:"command" yaml:"command" default:"python,-m,floe_trainer" min:"1" repeats:"true" doc:"Argument vector of the trainer where it runs (docs/jobs.md)."`
	Referee []string `json:"referee" yaml:"referee" default:"starter,score" min:"1" repeats:"true" doc:"Argument vector of the referee, as the trainer starts it."`
	Files   string   `json:"files,omitempty" yaml:"files" enum:"folder|store" doc:"Where the job's files are: folder is a directory that worker and job share under the same path, store is the artifact store. When absent, store for ray and kubernetes, folder for the others."`
	Folder  string   `json:"folder,omitempty" yaml:"folder" pattern:"^/" want:"an absolute path" doc:"Folder of the jobs' directories where they run; the worker's own (--folder) when absent."`
	GPUs    int      `json:"gpus" yaml:"gpus" default:"1" min:"0" max:"1024" doc:"GPUs that a training takes."`
	CPUs    int      `json:"cpus" yaml:"cpus" default:"0" min:"0" max:"4096" doc:"CPU cores that a training takes; 0 leaves it to the back end."`
	Memory  float64  `json:"memory_gb" yaml:"memory_gb" default:"0" min:"0" max:"1000000" doc:"Main memory that a training takes, in GB of 10^9 bytes; 0 leaves it to the back end."`
	Wall    int      `json:"wall_minutes" yaml:"wall_minutes" default:"0" min:"0" max:"525600" doc:"Longest time of one attempt, after which the next one goes on from its checkpoint; 0 is no limit."`
	Grace   int      `json:"grace_seconds" yaml:"grace_seconds" default:"600" min:"1" max:"86400" doc:"Time that a training gets to save when it is stopped; more than one step takes."`
	Hang    float64  `json:"hang_minutes" yaml:"hang_minutes" default:"30" min:"0.01" max:"10080" doc:"Time without progress, and of three steps at least, after which an attempt counts as hanging and is ended."`
	Resumes int      `json:"resumes" yaml:"resumes" default:"20" min:"0" max:"10000" doc:"Interruptions in a row, such as preemptions, without a new checkpoint before the experiment needs attention."`
	Hours   float64  `json:"hours" yaml:"hours" default:"0" min:"0" max:"10000" doc:"Expected hours of one round's training, from which plan and validate estimate GPU-hours; 0 is unknown."`
	Env     []string `json:"env,omitempty" yaml:"env" doc:"More variables for the training, NAME=value. No secrets: back ends show them."`

	Slurm      *SlurmSpec      `json:"slurm,omitempty" yaml:"slurm" doc:"Settings of slurm."`
	Ray        *RaySpec        `json:"ray,omitempty" yaml:"ray" doc:"Settings of ray."`
	Kubernetes *KubernetesSpec `json:"kubernetes,omitempty" yaml:"kubernetes" doc:"Settings of kubernetes."`
	Commands   *CommandsSpec   `json:"commands,omitempty" yaml:"commands" doc:"Settings of command."`
}

// InStore says that a job's files are in the artifact store.
func (j JobSpec) InStore() bool {
	if j.Files == "" {
		return j.Backend == "ray" || j.Backend == "kubernetes"
	}
	return j.Files == FilesStore
}

// SlurmSpec has the settings of Slurm.
type SlurmSpec struct {
	Partition string   `json:"partition,omitempty" yaml:"partition" doc:"Partition."`
	Account   string   `json:"account,omitempty" yaml:"account" doc:"Account."`
	QOS       string   `json:"qos,omitempty" yaml:"qos" doc:"Quality of service."`
	Options   []string `json:"options,omitempty" yaml:"options" min:"1" repeats:"true" doc:"More options of sbatch, such as --constraint=h100."`
	Setup     string   `json:"setup,omitempty" yaml:"setup" lines:"10000" doc:"Lines of shell that the job runs first, such as module load cuda."`
}

// RaySpec has the settings of Ray.
type RaySpec struct {
	Address        string   `json:"address" yaml:"address" required:"true" doc:"The dashboard: http://head:8265. A token is RAY_AUTH_TOKEN of the worker."`
	EntrypointGPUs *int     `json:"entrypoint_gpus,omitempty" yaml:"entrypoint_gpus" min:"0" doc:"GPUs reserved for the process that is started; job.gpus when absent, and 0 for verl, which reserves them itself."`
	Resources      []string `json:"resources,omitempty" yaml:"resources" min:"1" doc:"Custom resources that the process needs, such as H100=1."`
	WorkingDir     string   `json:"working_dir,omitempty" yaml:"working_dir" doc:"Address of an archive that Ray unpacks for the job."`
}

// KubernetesSpec has the settings of Kubernetes.
type KubernetesSpec struct {
	Context     string `json:"context,omitempty" yaml:"context" doc:"Context in the worker's kubeconfig; its current one when absent."`
	Namespace   string `json:"namespace,omitempty" yaml:"namespace" doc:"Namespace; that of the context when absent."`
	Image       string `json:"image,omitempty" yaml:"image" doc:"Image with the trainer and the referee; needed unless the template has one."`
	Template    string `json:"template,omitempty" yaml:"template" lines:"20000" doc:"Pod template as YAML, with a container named trainer: volumes, tolerations, secrets."`
	Queue       string `json:"queue,omitempty" yaml:"queue" doc:"Kueue's LocalQueue."`
	Priority    string `json:"priority,omitempty" yaml:"priority" doc:"Kueue's WorkloadPriorityClass."`
	GPUResource string `json:"gpu_resource" yaml:"gpu_resource" default:"nvidia.com/gpu" doc:"What a GPU is called."`
}

// CommandsSpec has the settings of commands of one's own (docs/backends.md).
type CommandsSpec struct {
	Submit    []string `json:"submit" yaml:"submit" required:"true" min:"1" repeats:"true" doc:"Starts the job and prints an id on its last line, or nothing; exit code 0 only if it was submitted."`
	Status    []string `json:"status" yaml:"status" required:"true" min:"1" repeats:"true" doc:"Prints the state of {id}."`
	Stop      []string `json:"stop" yaml:"stop" required:"true" min:"1" repeats:"true" doc:"Ends {id}."`
	Logs      []string `json:"logs,omitempty" yaml:"logs" min:"1" repeats:"true" doc:"Prints all that {id} printed."`
	Ask       []string `json:"ask,omitempty" yaml:"ask" min:"1" repeats:"true" doc:"Asks {id} to save and stop; without it, only the file stop.requested does."`
	Find      []string `json:"find,omitempty" yaml:"find" min:"1" repeats:"true" doc:"Prints the id of the job {name}, or nothing."`
	StateForm string   `json:"state_form,omitempty" yaml:"state_form" doc:"Regular expression with the group state, and name, exit and reason if there are any, for what status prints. A job of another name than the attempt's is not ours."`
	States    []string `json:"states" yaml:"states" required:"true" min:"1" doc:"What states mean, such as QUEUED=pending: pending, running, ended, preempted or lost."`
	GoneExit  int      `json:"gone_exit" yaml:"gone_exit" default:"0" min:"0" max:"255" doc:"Exit code of status that says there is no such job; 0 is none."`
	Timeout   int      `json:"timeout_seconds" yaml:"timeout_seconds" default:"120" min:"1" max:"86400" doc:"Longest time of one call."`
}

// ServeExternal is the kind of server that floe does not start.
const ServeExternal = "external"

// ServeSpec says how a trained checkpoint, and the untrained model, come to answer.
type ServeSpec struct {
	Kind      string   `json:"kind" yaml:"kind" default:"vllm" enum:"vllm|sglang|external" doc:"vllm and sglang are started by the worker, on its machine; external is a server that you run yourself."`
	Program   []string `json:"program,omitempty" yaml:"program" min:"1" repeats:"true" doc:"Argument vector in place of the server's own program, such as [/opt/vllm/bin/vllm, serve]."`
	Args      []string `json:"args,omitempty" yaml:"args" min:"1" repeats:"true" doc:"More flags of the server, behind all others."`
	Context   int      `json:"context" yaml:"context" default:"0" min:"0" doc:"Tokens of prompt and answer together; 0: what recipe and ask need."`
	Parallel  int      `json:"parallel" yaml:"parallel" default:"0" min:"0" max:"65536" doc:"Answers at one time; 0 leaves it to the server."`
	Memory    float64  `json:"memory" yaml:"memory" default:"0" min:"0" max:"1" doc:"Share of the GPU's memory; 0 leaves it to the server."`
	Adapters  int      `json:"adapters" yaml:"adapters" default:"4" min:"1" max:"512" doc:"Checkpoints loaded at one time beside the base model, under tuning lora."`
	Reasoning string   `json:"reasoning,omitempty" yaml:"reasoning" doc:"The server's parser of what a model thinks, such as qwen3."`
	Sleep     bool     `json:"sleep" yaml:"sleep" default:"false" doc:"With one device, a server in the way of another sleeps instead of ending, its weights in main memory: for base model and whole checkpoints in turn. Needs a GPU."`
	Idle      int      `json:"idle_minutes" yaml:"idle_minutes" default:"10" min:"0" max:"10080" doc:"How long an idle server keeps running."`
	Start     int      `json:"start_minutes" yaml:"start_minutes" default:"20" min:"1" max:"1440" doc:"Longest start of a server."`

	Endpoint string `json:"endpoint,omitempty" yaml:"endpoint" doc:"For external: a name in the worker's endpoints file, or the base URL of an OpenAI-compatible server."`
	Model    string `json:"model,omitempty" yaml:"model" doc:"For external: what the server calls the untrained model; base when absent."`
	Load     bool   `json:"load" yaml:"load" default:"false" doc:"For external: whether floe loads checkpoints into the server, over vLLM's interface for adapters; false: they are there under their names already."`
	Folder   string `json:"folder,omitempty" yaml:"folder" pattern:"^/" want:"an absolute path" doc:"For load: the folder where the worker puts checkpoints and the server finds them, under the same path."`
}

// AskSpec says how a served model is asked the tasks of a set.
type AskSpec struct {
	Temperature float64 `json:"temperature" yaml:"temperature" default:"0" min:"0" max:"2" doc:"Sampling temperature of validation and benchmarks (open in the paper; ours: 0)."`
	TopP        float64 `json:"top_p" yaml:"top_p" default:"1" min:"0.000001" max:"1" doc:"Nucleus sampling; 1 keeps all tokens."`
	MaxTokens   int     `json:"max_tokens" yaml:"max_tokens" default:"8192" min:"1" max:"1000000" doc:"Longest answer (open in the paper, whose answers go beyond 4096; ours: 8192)."`
	Concurrency int     `json:"concurrency" yaml:"concurrency" default:"64" min:"1" max:"512" doc:"Tasks asked at one time."`
	TokenBudget int64   `json:"token_budget" yaml:"token_budget" default:"0" min:"0" doc:"Most tokens of one evaluation, prompts included; 0 is no bound."`
	CostBudget  float64 `json:"cost_budget" yaml:"cost_budget" default:"0" min:"0" doc:"Most money of one evaluation, by the prices in the worker's endpoints file; 0 is no bound."`
}

// Model is model.json: a language model as a step names it, untrained or with the
// checkpoint that the step has trained.
type Model struct {
	Base       ModelSpec   `json:"base"`
	Checkpoint *Checkpoint `json:"checkpoint,omitempty"` // nil: untrained
	// Answers and Within are the counts from which the weights of the next round's
	// reward go on (docs/jobs.md, reward.state).
	Answers int64 `json:"answers"`
	Within  int64 `json:"within"`
}

// Checkpoint tells a checkpoint from all others.
type Checkpoint struct {
	Kind           string `json:"kind"` // "lora" or "full"
	Step           int    `json:"step"`
	ManifestSHA256 string `json:"manifest_sha256"`
}
