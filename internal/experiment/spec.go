package experiment

// Spec is an experiment file: one arm with one seed. The field tags are read by
// internal/config, which decodes strictly, reports every fault at once and
// generates the JSON Schema for editors:
//
//	yaml     the key in the file
//	doc      one sentence for the schema and the help
//	default  the value when the key is absent; "paper" in doc marks the paper's value
//	min, max inclusive bounds; for lists they bound the length of the list
//	each_min, each_max  inclusive bounds of a list's entries
//	enum     the values allowed, separated by "|"
//	lines    the most characters of a text that may have several lines
//	pattern  the regular expression that a string matches; want says it in words
//	required "true" when the file must say it
//	llm      the value when the key is absent and a language model is trained
type Spec struct {
	Name        string         `json:"name" yaml:"name" required:"true" pattern:"^[a-z0-9]([a-z0-9-]{0,50}[a-z0-9])?$" want:"lower-case letters, digits and inner dashes, at most 52" doc:"Name of the experiment: lower-case letters, digits and dashes, at most 52. The same name is the same experiment."`
	Environment string         `json:"environment" yaml:"environment" default:"lake" doc:"The family of tasks."`
	Rounds      int            `json:"rounds" yaml:"rounds" default:"3" min:"1" max:"100" doc:"Rounds of generate, train, validate, design (paper: 3)."`
	Seed        int64          `json:"seed" yaml:"seed" default:"0" min:"0" doc:"Root of every random draw of the experiment."`
	Samples     int            `json:"samples" yaml:"samples" default:"4000" min:"1" max:"1000000" doc:"Training samples per round (paper: 4000)."`
	Epochs      int            `json:"epochs" yaml:"epochs" default:"2" min:"1" max:"100" doc:"Passes over a round's samples (paper: 2)."`
	Agents      int            `json:"agents" yaml:"agents" default:"2" min:"2" max:"5" doc:"Agents in training and validation instances (paper: 2)."`
	Objective   string         `json:"objective" yaml:"objective" default:"sum_of_costs" enum:"sum_of_costs|makespan" doc:"What optimal means (open in the paper; ours: sum_of_costs)."`
	Validation  ValidationSpec `json:"validation" yaml:"validation" doc:"The fixed set that every round is measured on."`
	Curriculum  *Curriculum    `json:"curriculum,omitempty" yaml:"curriculum" doc:"Round 0's curriculum; without it, it is drawn at random from the seed (paper)."`
	Reward      RewardSpec     `json:"reward" yaml:"reward" doc:"The reward of an answer."`
	Trainer     TrainerSpec    `json:"trainer" yaml:"trainer" doc:"Who trains the policy."`
	Designer    DesignerSpec   `json:"designer" yaml:"designer" doc:"Who proposes the next curriculum."`
	Job         *JobSpec       `json:"job,omitempty" yaml:"job" doc:"Where a language model is trained; only with trainer.kind trl or verl."`
	Serve       *ServeSpec     `json:"serve,omitempty" yaml:"serve" doc:"How a trained model is served; only with trainer.kind trl or verl."`
	Ask         *AskSpec       `json:"ask,omitempty" yaml:"ask" doc:"How a trained model is asked tasks; only with trainer.kind trl or verl."`
	Benchmarks  BenchmarkSpec  `json:"benchmarks" yaml:"benchmarks" doc:"Held-out sets with more agents, scored after the last round."`
	Limits      LimitsSpec     `json:"limits" yaml:"limits" doc:"Bounds on time and money."`
	Share       *bool          `json:"share,omitempty" yaml:"share" doc:"Whether to reuse steps of other experiments and let them reuse this one's; true when absent."`
}

// Shares says whether equal steps of other experiments count as done for this
// one, and the other way round.
func (s Spec) Shares() bool { return s.Share == nil || *s.Share }

// ValidationSpec describes the validation set. Its composition is open in the
// paper; the defaults are ours.
type ValidationSpec struct {
	Sizes     []string `json:"sizes,omitempty" yaml:"sizes" min:"1" doc:"Sizes in the set; all of the environment's when absent."`
	Instances int      `json:"instances" yaml:"instances" default:"50" min:"1" max:"10000" doc:"Instances per size (ours)."`
	Knobs     []Knob   `json:"knobs,omitempty" yaml:"knobs" doc:"Generator settings of the set, such as hole_ratio; the environment's defaults when absent."`
}

// RewardSpec parameterises the reward. Defaults are the paper's where it gives a
// number; the formulas between them are ours and stand in package env.
type RewardSpec struct {
	Floor       float64 `json:"floor" yaml:"floor" default:"0.3" min:"0" max:"1" doc:"Least accuracy reward of a valid answer (paper: 0.3)."`
	FreeTokens  int     `json:"free_tokens" yaml:"free_tokens" default:"1500" min:"0" doc:"Answers up to this length pay no length penalty (paper: 1500)."`
	FullTokens  int     `json:"full_tokens" yaml:"full_tokens" default:"4096" min:"1" doc:"From this length on the penalty is full; linear between (paper: 4096; linear is ours)."`
	AccuracyLow float64 `json:"accuracy_low" yaml:"accuracy_low" default:"0.5" min:"0" max:"1" doc:"Weight of accuracy at the start (paper: 0.5). The weight of length is the rest."`
	AccuracyTop float64 `json:"accuracy_top" yaml:"accuracy_top" default:"0.8" min:"0" max:"1" doc:"Weight of accuracy once all answers stay within free_tokens (paper: 0.8)."`
	LengthOf    string  `json:"length_of" yaml:"length_of" default:"valid" enum:"valid|all" doc:"Which answers earn the length reward: valid ones only (ours; an all-answers reward taught small policies to fail early), or all."`
}

// TrainerSpec configures the trainer. "embedded" is a small policy trained with
// GRPO on the CPU, in this program; the others train a language model as a job.
type TrainerSpec struct {
	Kind         string  `json:"kind" yaml:"kind" default:"embedded" enum:"embedded|trl|verl" doc:"embedded: a small neural policy trained with GRPO on the CPU; trl: a language model on one GPU (paper: Qwen3-4B with GRPO); verl: one on several GPUs."`
	Rollouts     int     `json:"rollouts" yaml:"rollouts" default:"8" min:"2" max:"256" doc:"Answers sampled per instance (group size)."`
	Batch        int     `json:"batch" yaml:"batch" default:"32" min:"1" max:"4096" doc:"Instances per optimizer step."`
	LearningRate float64 `json:"learning_rate" yaml:"learning_rate" default:"0.002" llm:"0.00001" min:"0" max:"1" doc:"Adam's step size: 0.002 for embedded, 0.001 for long runs; 1e-5 for a language model, about 1e-6 under tuning full."`
	ClipNorm     float64 `json:"clip_norm" yaml:"clip_norm" default:"1" min:"0" max:"1000" doc:"Largest gradient norm; 0 does not clip."`
	KL           float64 `json:"kl" yaml:"kl" default:"0" min:"0" max:"10" doc:"Weight of the KL penalty to the policy at the start of the round."`
	Entropy      float64 `json:"entropy" yaml:"entropy" default:"0" min:"0" max:"10" doc:"Weight of the entropy bonus; embedded alone."`
	Temperature  float64 `json:"temperature" yaml:"temperature" default:"1" min:"0.01" max:"10" doc:"Sampling temperature of training rollouts."`
	WarmStart    int     `json:"warm_start" yaml:"warm_start" default:"300" llm:"0" min:"0" max:"100000" doc:"Solver plans that the untrained policy has imitated, so that the first round has signal (0: random weights); embedded alone."`
	WarmEpochs   int     `json:"warm_epochs" yaml:"warm_epochs" default:"6" llm:"0" min:"0" max:"1000" doc:"Passes over those plans; embedded alone."`
	SaveEvery    int     `json:"save_every" yaml:"save_every" default:"50" llm:"10" min:"1" doc:"Optimizer steps between checkpoints inside a round; a killed training resumes from the last."`

	Model  *ModelSpec  `json:"model,omitempty" yaml:"model" doc:"The language model that is trained; needed for trl and verl."`
	Recipe *RecipeSpec `json:"recipe,omitempty" yaml:"recipe" doc:"More settings of trl and verl."`
}

// DesignerSpec configures the designer.
type DesignerSpec struct {
	Kind       string   `json:"kind" yaml:"kind" default:"learnability" enum:"fixed|random|uniform|linear|learnability|regret|replay|human|openai|trained|base" doc:"fixed keeps round 0's curriculum (the paper's baseline); random redraws it; uniform, linear, learnability, regret and replay are classical rules; human waits for a person; openai asks a model behind an endpoint; trained asks the checkpoint of the round (the paper's designer), base the untrained weights (its control)."`
	Context    string   `json:"context" yaml:"context" default:"V6" enum:"V1|V2|V3|V4|V5|V6|custom" doc:"What the designer sees (paper: V1 to V6); custom shows the sections listed."`
	Sections   []string `json:"sections,omitempty" yaml:"sections" min:"1" doc:"Sections of a custom context, in order: failures, guidelines, history, designed-history, summary, training."`
	Guidelines string   `json:"guidelines,omitempty" yaml:"guidelines" lines:"20000" doc:"Text that takes the place of the guidelines section's own."`
	Details    string   `json:"details" yaml:"details" default:"bookkeeping" enum:"bookkeeping|full" doc:"Depth of the training details in V6 (paper's main result: bookkeeping)."`

	Endpoint    string   `json:"endpoint,omitempty" yaml:"endpoint" doc:"Who is asked: a name in the worker's endpoints file, or the base URL of an OpenAI-compatible server; OPENAI_BASE_URL of the worker when absent. Keys come from the worker, never from this file."`
	Model       string   `json:"model,omitempty" yaml:"model" doc:"Model to ask; needed for kind openai."`
	Temperature float64  `json:"temperature" yaml:"temperature" default:"0" min:"0" max:"2" doc:"Sampling temperature; 0 is really sent."`
	MaxTokens   int      `json:"max_tokens" yaml:"max_tokens" default:"4096" min:"16" max:"1000000" doc:"Longest reply."`
	Stop        []string `json:"stop,omitempty" yaml:"stop" lines:"100" doc:"Texts at which a reply ends."`
	Thinking    string   `json:"thinking" yaml:"thinking" default:"default" enum:"default|on|off" doc:"Whether the model thinks before it answers (chat_template_kwargs.enable_thinking); default leaves it to the server."`
	Structured  string   `json:"structured" yaml:"structured" default:"none" enum:"none|json_schema" doc:"json_schema has the endpoint hold replies to the form asked for; not all endpoints can."`
	Repairs     int      `json:"repairs" yaml:"repairs" default:"2" min:"0" max:"10" doc:"Times a model may correct a reply that could not be used; after that the last curriculum stays."`

	Missing  string  `json:"missing" yaml:"missing" default:"keep" enum:"keep|zero|refuse" doc:"What becomes of a size to which a reply gives no data_ratio (open in the paper): keep leaves it its own, or no samples if the other sizes sum to 1 without it; zero gives it no samples; refuse asks for another reply."`
	MinShare float64 `json:"min_share" yaml:"min_share" default:"0" min:"0" max:"0.125" doc:"Least data_ratio that a size keeps (ours; 0 leaves the designer free)."`
	Trivial  string  `json:"trivial" yaml:"trivial" default:"warn" enum:"ignore|warn|stop" doc:"What to do about a proposal that puts at least 99 % of the samples on sizes that are mastered already, 95 % of at least 20 answers valid (ours): nothing, say so, or stop and wait for a person."`
	Approve  bool    `json:"approve" yaml:"approve" default:"false" doc:"Whether a person must approve each proposal before it is used."`
}

// BenchmarkSpec describes the held-out sets.
type BenchmarkSpec struct {
	Agents    []int `json:"agents" yaml:"agents" default:"3,4,5" each_min:"2" each_max:"5" doc:"One set per number of agents (paper: 3, 4, 5); [] for none."`
	Instances int   `json:"instances" yaml:"instances" default:"150" min:"1" max:"10000" doc:"Instances per size, a third in each wait subset of 25, 50 and 75 % (paper: 150)."`
}

// LimitsSpec bounds an experiment.
type LimitsSpec struct {
	StepMinutes   int     `json:"step_minutes" yaml:"step_minutes" default:"1440" min:"1" max:"43200" doc:"Longest time one step may take before its attempt is given up."`
	Attempts      int     `json:"attempts" yaml:"attempts" default:"5" min:"1" max:"100" doc:"Failed attempts of a step in a row, without a newer checkpoint, answer or training step between them, after which the experiment needs attention. Workers that stop and services that do not answer are not counted."`
	OutageMinutes int     `json:"outage_minutes,omitempty" yaml:"outage_minutes" default:"1440" min:"1" max:"43200" doc:"Longest wait for a service that does not answer (artifact store, model endpoint, scheduler, a full disk) before the experiment needs attention."`
	ModelCalls    int     `json:"model_calls" yaml:"model_calls" default:"100" min:"0" max:"1000000" doc:"Most designer calls of the experiment, repairs included."`
	ModelTokens   int     `json:"model_tokens" yaml:"model_tokens" default:"1000000" min:"0" doc:"Most tokens that designer calls may use, prompt and reply."`
	ModelCost     float64 `json:"model_cost" yaml:"model_cost" default:"0" min:"0" doc:"Most money that designer calls may cost, in the currency of the endpoint's prices; 0 is no bound. Needs prices in the worker's endpoints file."`
}
