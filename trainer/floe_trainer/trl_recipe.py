"""Recipe trl: GRPO with TRL in one process on one GPU, or on the CPU. It reads top to bottom."""

from __future__ import annotations

import hashlib
import importlib.util
import math
import os
from typing import TYPE_CHECKING, Any

from floe_trainer import prompts
from floe_trainer.exits import ConfigError, JobError, Stopped
from floe_trainer.recipe import Trained, Work
from floe_trainer.referee import Referee
from floe_trainer.settings import Settings
from floe_trainer.trl_reward import RewardOf

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase
    from trl import GRPOConfig, GRPOTrainer


def train(work: Work) -> Trained:
    """Trains, resuming where the job directory says, and returns the sealed checkpoint of the last step."""
    from floe_trainer.trl_follower import Follower  # imports transformers: not before it is needed

    device = _device(work.spec.settings)
    work.progress.phase("loading")
    tokenizer = prompts.load_tokenizer(work.base, work.spec.base_model.revision, work.spec.settings)
    prompts.check_lengths(tokenizer, work.spec.settings, work.tasks)
    referee = Referee(work.spec.reward, work.dataset)
    try:
        reward = RewardOf(work, tokenizer, referee)
        trainer = _trainer(work, device, tokenizer, reward)
        follower = Follower(work, reward)
        trainer.add_callback(follower)
        work.stop.listen()  # again: an engine that was loaded may have taken the signals for itself
        if reason := work.stop.reason():
            raise Stopped(f"{reason} before the first step of this attempt")
        work.progress.phase("training", work.first_step)
        trainer.train(resume_from_checkpoint=str(work.resume.path) if work.resume else None)
    finally:
        referee.close()
    if follower.stopped and follower.sealed and follower.sealed.step < work.spec.expected_steps:
        raise Stopped(f"{follower.stopped}; {follower.sealed.path.name} saved")
    if follower.sealed is None:
        raise JobError(f"the trainer made no step; want {work.spec.expected_steps - work.first_step}")
    return Trained(follower.sealed, _device_name(device), _peak_memory(device))


def _trainer(work: Work, device: str, tokenizer: PreTrainedTokenizerBase, reward: RewardOf) -> GRPOTrainer:
    from trl import GRPOTrainer

    model, adapter = _model(work, device)
    model.register_forward_hook(lambda *_: work.progress.touch())  # sampling without vLLM can take longer than patience lasts
    return GRPOTrainer(
        model=model,
        args=config(work, device),
        reward_funcs=reward,
        train_dataset=_dataset(work),
        processing_class=tokenizer,
        peft_config=adapter,
    )


def config(work: Work, device: str) -> GRPOConfig:
    """Every hyper-parameter of the job in TRL's words. A step of the contract is settings.updates of TRL's."""
    from trl import GRPOConfig

    s, t = work.spec.settings, work.spec.settings.for_trl
    on_gpu, colocate = device == "cuda", t.vllm == "colocate" and device == "cuda"
    return GRPOConfig(
        output_dir=str(work.job.root / "trl"),
        seed=int.from_bytes(hashlib.sha256(f"{work.spec.seed}/weights".encode()).digest()[:4], "big") >> 1,
        # The whole order is in the dataset: one epoch, nothing shuffled, nothing left over.
        num_train_epochs=1, max_steps=work.spec.expected_steps * s.updates, shuffle_dataset=False,
        per_device_train_batch_size=s.micro_batch, gradient_accumulation_steps=work.spec.answers_per_step // s.micro_batch,
        num_generations=s.rollouts, num_iterations=s.updates,
        learning_rate=s.learning_rate, lr_scheduler_type=_SCHEDULES[s.schedule], warmup_steps=s.warmup_steps * s.updates,
        optim=_OPTIMIZERS[t.optimizer] if on_gpu else "adamw_torch", weight_decay=s.weight_decay,
        adam_beta1=s.adam_beta1, adam_beta2=s.adam_beta2, max_grad_norm=s.clip_norm or math.inf,
        # (An infinite bound clips nothing but still has the norm measured.)
        loss_type=s.loss, scale_rewards=s.advantage, epsilon=s.clip_low, epsilon_high=s.clip_high, beta=s.kl,
        mask_truncated_completions=t.mask_truncated,
        temperature=s.temperature, top_p=s.top_p, top_k=s.top_k, max_completion_length=s.max_answer_tokens,
        chat_template_kwargs={"enable_thinking": s.thinking} if s.chat else None,
        use_vllm=colocate, vllm_mode="colocate", vllm_gpu_memory_utilization=t.vllm_memory,
        vllm_max_model_length=s.max_prompt_tokens + s.max_answer_tokens, vllm_enable_sleep_mode=colocate and t.vllm_sleep,
        use_cpu=not on_gpu, bf16=on_gpu and s.precision == "bf16", gradient_checkpointing=s.gradient_checkpointing,
        # The follower decides when to save; NaN must be seen, not averaged away.
        save_strategy="no", logging_steps=s.updates, logging_nan_inf_filter=False, report_to="none", disable_tqdm=True,
    )  # fmt: skip


_SCHEDULES = {"constant": "constant_with_warmup", "linear": "linear", "cosine": "cosine"}
_OPTIMIZERS = {"adamw": "adamw_torch_fused", "adamw_8bit": "adamw_8bit"}


def _device(s: Settings) -> str:
    import torch

    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise ConfigError("WORLD_SIZE is more than 1; want one process, as recipe trl has one GPU: trainer verl has several")
    there = torch.cuda.is_available()
    if s.for_trl.device == "cuda" and not there:
        raise ConfigError("settings.trl.device: found cuda; want cpu or auto, as this machine has no GPU that PyTorch can use")
    device = "cuda" if there and s.for_trl.device != "cpu" else "cpu"
    if device == "cuda" and s.for_trl.vllm == "colocate" and importlib.util.find_spec("vllm") is None:
        raise ConfigError("settings.trl.vllm: found colocate; want off, or the package vllm: install floe-trainer[gpu]")
    return device


def _dataset(work: Work) -> Any:
    """The whole order of the job, one row a task."""
    from datasets import Dataset

    tasks = [work.tasks[row] for row in work.rows]
    shown = [prompts.messages(task.prompt) if work.spec.settings.chat else task.prompt for task in tasks]
    return Dataset.from_dict({"prompt": shown, "id": [task.id for task in tasks]})


def _model(work: Work, device: str) -> tuple[Any, Any]:
    """The model where the round starts and, for a fresh adapter, its configuration."""
    import torch
    from peft import LoraConfig, PeftModel
    from transformers import AutoModelForCausalLM

    s = work.spec.settings
    lora = s.tuning == "lora"
    # Trained weights stay in fp32: a step of 1e-6 is lost in the rounding of bf16. A frozen base is not trained.
    dtype = torch.bfloat16 if lora and s.precision == "bf16" and device == "cuda" else torch.float32
    full_init = work.init if work.init and not lora else None
    model = AutoModelForCausalLM.from_pretrained(
        str(full_init.path) if full_init else work.base,
        revision=None if full_init else work.spec.base_model.revision,
        dtype=dtype,
        attn_implementation=s.for_trl.attention,
    )
    if not lora:
        return model, None
    if work.init:
        return PeftModel.from_pretrained(model, str(work.init.path), is_trainable=True), None
    targets: str | list[str] = s.lora_targets if s.lora_targets == "all-linear" else s.lora_targets.split(",")
    return model, LoraConfig(task_type="CAUSAL_LM", r=s.lora_rank, lora_alpha=s.lora_alpha, lora_dropout=0.0, target_modules=targets)


def _device_name(device: str) -> str:
    import torch

    return torch.cuda.get_device_name() if device == "cuda" else "cpu"


def _peak_memory(device: str) -> int | None:
    """Most memory that PyTorch held on the GPU in this process; what vLLM maps for itself is not in it."""
    import torch

    return torch.cuda.max_memory_reserved() if device == "cuda" else None
