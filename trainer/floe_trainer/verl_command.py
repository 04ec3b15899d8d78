"""Recipe verl in verl's words: the Hydra overrides of one run, and the rows of its dataset."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from floe_trainer.dataset import Task
from floe_trainer.exits import ConfigError
from floe_trainer.prompts import messages
from floe_trainer.spec import Spec

_AVERAGES = {"grpo": "seq-mean-token-mean", "dapo": "token-mean", "dr_grpo": "seq-mean-token-sum-norm"}
_SCHEDULES = {"constant": "constant", "cosine": "cosine"}
_NO_CLIPPING = 1e9  # verl divides by its bound, so it has to be finite


@dataclass(frozen=True)
class Paths:
    """Where a run finds and leaves things."""

    train: Path
    validation: Path
    checkpoints: Path
    model: str  # base model, or the checkpoint that a full round starts from
    adapter: Path | None  # adapter that a LoRA round starts from
    resume: Path | None  # verl's own directory of the step to go on from
    environ: dict[str, str]  # for every process of the run, on every machine


def faults(spec: Spec) -> list[str]:
    """What verl cannot do; empty if it can."""
    s, v = spec.settings, spec.settings.for_verl
    world = v.nodes * v.gpus_per_node
    found = []
    if not s.chat:
        found.append("settings.chat: found false; want true, as verl always uses the chat template")
    if s.schedule not in _SCHEDULES:
        found.append(f"settings.schedule: found {s.schedule}; want one of {', '.join(_SCHEDULES)}")
    if spec.answers_per_step % world or (spec.answers_per_step // world) % s.micro_batch:
        found.append(
            f"settings.batch * rollouts: found {spec.answers_per_step}; want a multiple of "
            f"nodes * gpus_per_node * micro_batch = {world * s.micro_batch}"
        )
    if world % v.tensor_parallel:
        found.append(f"settings.verl.tensor_parallel: found {v.tensor_parallel}; want a divisor of the {world} GPUs")
    if s.kl > 0 and spec.init and s.tuning == "lora":
        found.append("settings.kl: found more than 0 beside init; want 0, as verl would compare with the base model, not with the adapter")
    if s.lora_alpha != int(s.lora_alpha):
        found.append(f"settings.lora_alpha: found {s.lora_alpha}; want a whole number")
    return found


def rows(tasks: Iterable[Task]) -> list[dict[str, Any]]:
    """Rows as verl's dataset reads them; the task's id is its ground truth, which the referee knows by it."""
    return [
        {
            "data_source": "floe",
            "prompt": messages(task.prompt),
            "reward_model": {"style": "rule", "ground_truth": task.id},
            "extra_info": {"index": n},
        }
        for n, task in enumerate(tasks)
    ]


def write_parquet(path: Path, of: list[dict[str, Any]]) -> None:
    """Writes rows as parquet."""
    import pyarrow as pa
    from pyarrow import parquet

    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pa.Table.from_pylist(of), path)


def overrides(spec: Spec, paths: Paths) -> list[str]:
    """The run's configuration: everything that differs from verl's own, then settings.verl.overrides."""
    if found := faults(spec):
        raise ConfigError(*found)
    return [
        *_data(spec, paths),
        *_actor(spec),
        *_model(spec, paths),
        *_rollout(spec),
        *_trainer(spec, paths),
        *spec.settings.for_verl.overrides,
    ]


def _data(spec: Spec, paths: Paths) -> list[str]:
    s = spec.settings
    return [
        f"data.train_files={paths.train}",
        f"data.val_files={paths.validation}",  # verl wants a file, though it validates nothing
        f"data.train_batch_size={s.batch}",
        f"data.max_prompt_length={s.max_prompt_tokens}",
        f"data.max_response_length={s.max_answer_tokens}",
        "data.shuffle=False",  # the file has the order of the whole job
        f"data.seed={_seed(spec)}",
        "data.truncation=error",
        f"+data.apply_chat_template_kwargs.enable_thinking={s.thinking}",
    ]


def _actor(spec: Spec) -> list[str]:
    s, v = spec.settings, spec.settings.for_verl
    actor = "actor_rollout_ref.actor"
    dtype = {"bf16": "bfloat16", "fp32": "float32"}[s.precision]
    return [
        "algorithm.adv_estimator=grpo",
        f"algorithm.norm_adv_by_std_in_grpo={s.advantage == 'group'}",
        "algorithm.use_kl_in_reward=False",
        f"{actor}.optim.lr={s.learning_rate:g}",
        f"{actor}.optim.lr_scheduler_type={_SCHEDULES[s.schedule]}",
        f"{actor}.optim.lr_warmup_steps={s.warmup_steps}",
        f"{actor}.optim.weight_decay={s.weight_decay:g}",
        f"{actor}.optim.betas=[{s.adam_beta1:g},{s.adam_beta2:g}]",
        f"{actor}.grad_clip={s.clip_norm or _NO_CLIPPING:g}",
        f"{actor}.optim.clip_grad={s.clip_norm or _NO_CLIPPING:g}",
        f"{actor}.ppo_mini_batch_size={s.batch}",
        f"{actor}.ppo_epochs={s.updates}",
        f"{actor}.ppo_micro_batch_size_per_gpu={s.micro_batch}",
        f"{actor}.clip_ratio={s.clip_low:g}",
        f"{actor}.clip_ratio_low={s.clip_low:g}",
        f"{actor}.clip_ratio_high={s.clip_high:g}",
        f"{actor}.loss_agg_mode={_AVERAGES[s.loss]}",
        f"{actor}.use_kl_loss={s.kl > 0}",
        f"{actor}.kl_loss_coef={s.kl:g}",
        f"{actor}.kl_loss_type=low_var_kl",
        f"{actor}.calculate_entropy=True",
        f"{actor}.fsdp_config.dtype={dtype}",
        f"{actor}.fsdp_config.param_offload={v.offload}",
        f"{actor}.fsdp_config.optimizer_offload={v.offload}",
        "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu=" + str(s.micro_batch),
        *([f"{actor}.loss_scale_factor={s.max_answer_tokens}"] if s.loss == "dr_grpo" else []),
    ]


def _model(spec: Spec, paths: Paths) -> list[str]:
    s, model = spec.settings, "actor_rollout_ref.model"
    said = [f"{model}.path={paths.model}", f"{model}.enable_gradient_checkpointing={s.gradient_checkpointing}"]
    if s.tuning == "full":
        return said
    targets = s.lora_targets if s.lora_targets == "all-linear" else f"[{s.lora_targets}]"
    said += [f"{model}.lora_rank={s.lora_rank}", f"{model}.lora_alpha={int(s.lora_alpha)}", f"{model}.target_modules={targets}"]
    return [*said, f"{model}.lora_adapter_path={paths.adapter}"] if paths.adapter else said


def _rollout(spec: Spec) -> list[str]:
    s, v, rollout = spec.settings, spec.settings.for_verl, "actor_rollout_ref.rollout"
    return [
        f"{rollout}.name={v.engine}",
        f"{rollout}.n={s.rollouts}",
        f"{rollout}.temperature={s.temperature:g}",
        f"{rollout}.top_p={s.top_p:g}",
        f"{rollout}.top_k={s.top_k or -1}",
        f"{rollout}.seed={_seed(spec)}",
        f"{rollout}.tensor_model_parallel_size={v.tensor_parallel}",
        f"{rollout}.gpu_memory_utilization={v.engine_memory:g}",
        f"{rollout}.load_format=safetensors",
        f"{rollout}.log_prob_micro_batch_size_per_gpu={s.micro_batch}",
    ]


def _trainer(spec: Spec, paths: Paths) -> list[str]:
    s, v = spec.settings, spec.settings.for_verl
    resume = [f"trainer.resume_from_path={paths.resume}"] if paths.resume else []
    address = [f"+ray_kwargs.ray_init.address={v.ray_address}"] if v.ray_address else []
    return [
        f"reward.reward_manager.name={MANAGER}",
        "reward.reward_manager.source=importlib",
        f"reward.reward_manager.module.path={Path(__file__).with_name('verl_reward.py')}",
        "trainer.use_v1=True",
        "trainer.v1.trainer_mode=sync",  # so that all answers of a step are scored before the next begins
        "trainer.logger=[console,file]",
        "trainer.project_name=floe",
        "trainer.experiment_name=train",
        f"trainer.nnodes={v.nodes}",
        f"trainer.n_gpus_per_node={v.gpus_per_node}",
        "trainer.total_epochs=1",
        f"trainer.total_training_steps={spec.expected_steps}",
        f"trainer.save_freq={s.save_every}",
        "trainer.test_freq=-1",
        "trainer.val_before_train=False",
        f"trainer.default_local_dir={paths.checkpoints}",
        f"trainer.resume_mode={'resume_path' if paths.resume else 'disable'}",
        *resume,
        *address,
        *(f"+ray_kwargs.ray_init.runtime_env.env_vars.{name}={_quoted(value)}" for name, value in sorted(paths.environ.items())),
    ]


MANAGER = "FloeRewardManager"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _seed(spec: Spec) -> int:
    return int.from_bytes(hashlib.sha256(f"{spec.seed}/verl".encode()).digest()[:4], "big") >> 1


_SAME = {
    "actor/pg_loss": "loss",
    "actor/kl_loss": "kl",
    "actor/entropy": "entropy",
    "actor/grad_norm": "grad_norm",
    "actor/lr": "learning_rate",
}


def to_contract(line: bytes) -> tuple[int, dict[str, float | None]] | None:
    """A line of verl's FileLogger as step and metrics of the contract; None for a line that is torn or no step's."""
    try:
        entry = json.loads(line)
        step, data = entry["step"], entry["data"]
    except (ValueError, KeyError, TypeError):
        return None
    if not isinstance(step, int) or not isinstance(data, dict) or step < 1:
        return None
    numbers = {k: float(v) for k, v in data.items() if isinstance(v, int | float) and not isinstance(v, bool)}
    said: dict[str, float | None] = {_SAME.get(k, f"verl/{k}"): v if math.isfinite(v) else None for k, v in numbers.items()}
    # verl writes NaN as null, so a measure that it has but cannot say is one that is not finite.
    return step, said | {_SAME.get(k, f"verl/{k}"): None for k, v in data.items() if v is None}
