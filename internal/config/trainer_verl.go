package config

import (
	"math"

	"floe/internal/experiment"
)

// fillGPUs gives a training of verl that joins no Ray cluster the GPUs that verl is
// told of.
func (d *decoder) fillGPUs(spec *experiment.Spec) {
	v := spec.Trainer.Recipe.Verl
	if _, given := d.given["job.gpus"]; v != nil && spec.Job != nil && !given && alone(spec.Job, v) {
		spec.Job.GPUs = v.GPUsPerNode
	}
}

// alone says that verl starts a Ray cluster of its own, on the machine that its job
// gets. A job of Ray joins the cluster that runs it.
func alone(j *experiment.JobSpec, v *experiment.VerlSpec) bool {
	return v.RayAddress == "" && j.Backend != "ray"
}

// checkVerl tells in the file what recipe verl would refuse once it runs, or could
// not find on its machine.
func (d *decoder) checkVerl(spec *experiment.Spec) {
	t := spec.Trainer
	v := t.Recipe.Verl
	if t.Kind != experiment.TrainerVerl || v == nil {
		return
	}
	if spec.Job != nil && alone(spec.Job, v) && d.sound("job.backend") {
		d.checkMachine(spec.Job, v)
	}
	gpus := v.Nodes * v.GPUsPerNode
	if d.sound("trainer.recipe.verl.nodes", "trainer.recipe.verl.gpus_per_node") {
		d.checkSplit(t, v, gpus)
	}
	d.checkVerlRecipe(spec)
}

// checkMachine looks for the GPUs that verl is told of on its job's machine.
func (d *decoder) checkMachine(j *experiment.JobSpec, v *experiment.VerlSpec) {
	const nodes, here = "trainer.recipe.verl.nodes", "trainer.recipe.verl.gpus_per_node"
	if v.Nodes > 1 && d.sound(nodes) {
		d.Add(d.at(nodes), nodes, "found %d; want 1, or job.backend ray, or ray_address of a cluster with so many machines: a job of %s has one", v.Nodes, j.Backend)
	}
	if j.GPUs != v.GPUsPerNode && d.sound(here, "job.gpus") {
		d.Add(d.at("job.gpus"), "job.gpus", "found %d; want gpus_per_node of verl, which is %d: it has the GPUs of its job alone", j.GPUs, v.GPUsPerNode)
	}
}

// checkSplit looks whether a step's answers can be spread over the GPUs.
func (d *decoder) checkSplit(t experiment.TrainerSpec, v *experiment.VerlSpec, gpus int) {
	const tensor = "trainer.recipe.verl.tensor_parallel"
	answers, share := t.Rollouts*t.Batch, gpus*t.Recipe.MicroBatch
	if share > 0 && answers%share != 0 && answers%t.Recipe.MicroBatch == 0 && d.sound("trainer.batch", "trainer.rollouts", "trainer.recipe.micro_batch") {
		d.Add(d.at("trainer.batch", "trainer.rollouts"), "trainer.batch",
			"found %d answers a step, which is batch * rollouts; want a multiple of nodes * gpus_per_node * micro_batch, which is %d", answers, share)
	}
	if v.TensorParallel > 0 && gpus%v.TensorParallel != 0 && d.sound(tensor) {
		d.Add(d.at(tensor), tensor, "found %d; want a divisor of the %d GPUs", v.TensorParallel, gpus)
	}
}

// checkVerlRecipe refuses what verl cannot do.
func (d *decoder) checkVerlRecipe(spec *experiment.Spec) {
	const in = "trainer.recipe."
	t := spec.Trainer
	r := t.Recipe
	if !r.Chat {
		d.Add(d.at(in+"chat"), in+"chat", "found false; want true with kind verl, which always uses the chat template")
	}
	if r.Schedule == "linear" {
		d.Add(d.at(in+"schedule"), in+"schedule", "found linear; want constant or cosine with kind verl")
	}
	if r.LoraAlpha != math.Trunc(r.LoraAlpha) && d.sound(in+"lora_alpha") {
		d.Add(d.at(in+"lora_alpha"), in+"lora_alpha", "found %v; want a whole number with kind verl", r.LoraAlpha)
	}
	if t.KL > 0 && r.Tuning == "lora" && spec.Rounds > 1 && d.sound("trainer.kl") {
		d.Add(d.at("trainer.kl"), "trainer.kl", "found %v with kind verl, tuning lora and more than one round; want 0: verl would compare with the base model, not with the round's start", t.KL)
	}
}
