"""Hyper-parameters of a job: every one that the paper leaves open, with its default and its reason.

Defaults are for Qwen3-4B on one GPU of 80 GB. "paper" in a doc marks the paper's
value; all other values are ours. docs/trainer.md has the table that this file
prints (``python -m floe_trainer.settings``); a test holds the two together.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from floe_trainer.exits import ConfigError


def knob(default: Any, doc: str, **meta: Any) -> Any:
    """A setting: its default, one sentence, and bounds as package strict reads them."""
    return field(default=default, metadata={"doc": doc, **meta})


@dataclass(frozen=True)
class TRL:
    """Settings of recipe trl alone."""

    device: str = knob("auto", "cuda, cpu, or auto: the GPU if there is one.", choices=("auto", "cuda", "cpu"))
    vllm: str = knob(
        "colocate",
        "colocate: vLLM samples the answers, in this process and on the same GPU; off: transformers does, many times slower.",
        choices=("colocate", "off"),
    )
    vllm_memory: float = knob(0.3, "Share of the GPU's memory that vLLM takes for its weights and cache.", above=0, high=0.95)
    vllm_sleep: bool = knob(True, "vLLM gives its memory back while the optimizer works.")
    attention: str = knob(
        "sdpa",
        "Attention of the training pass; flash_attention_2 needs its package.",
        choices=("sdpa", "eager", "flash_attention_2", "flash_attention_3"),
    )
    optimizer: str = knob("adamw", "adamw_8bit keeps the moments in 8 bits; it needs bitsandbytes.", choices=("adamw", "adamw_8bit"))
    mask_truncated: bool = knob(False, "Answers that the token limit cut off add nothing to the loss.")


@dataclass(frozen=True)
class Verl:
    """Settings of recipe verl alone."""

    nodes: int = knob(1, "Machines of the Ray cluster that the job takes.", low=1)
    gpus_per_node: int = knob(8, "GPUs on each.", low=1)
    tensor_parallel: int = knob(1, "GPUs over which one copy of the sampling engine is spread.", low=1)
    engine: str = knob("vllm", "Sampling engine.", choices=("vllm", "sglang"))
    engine_memory: float = knob(0.5, "Share of a GPU's memory that the sampling engine takes.", above=0, high=0.95)
    offload: bool = knob(False, "Parameters and optimizer wait in the machine's memory while answers are sampled.")
    ray_address: str | None = knob(None, "Address of a running Ray cluster; null: verl starts one on this machine.")
    overrides: tuple[str, ...] = knob((), "Hydra overrides behind all others, such as trainer.balance_batch=false. Unchecked.")


@dataclass(frozen=True)
class Settings:
    """Hyper-parameters that mean the same in every recipe."""

    tuning: str = knob("lora", "lora trains an adapter, full all weights.", choices=("lora", "full"))
    lora_rank: int = knob(32, "Rank of the adapter. vLLM serves 8, 16, 32, 64, 128, 256, 320 and 512.", low=1)
    lora_alpha: float = knob(64.0, "The adapter's product is scaled by lora_alpha / lora_rank.", above=0)
    lora_targets: str = knob(
        "all-linear", "Layers with an adapter: all-linear, or names with commas, such as q_proj,v_proj.", filled="all-linear or names"
    )
    learning_rate: float = knob(1e-5, "Peak learning rate; about 1e-6 for tuning: full.", above=0, high=1)
    schedule: str = knob("constant", "Learning rate after the warm-up.", choices=("constant", "linear", "cosine"))
    warmup_steps: int = knob(5, "Steps over which the learning rate rises from 0.", low=0)
    weight_decay: float = knob(0.0, "AdamW's weight decay.", low=0, high=1)
    adam_beta1: float = knob(0.9, "Decay of AdamW's first moment.", low=0, high=0.999999)
    adam_beta2: float = knob(0.99, "Decay of AdamW's second moment; below the usual 0.999, as a round has few steps.", low=0, high=0.999999)
    clip_norm: float = knob(1.0, "Largest norm of a gradient; 0 does not clip.", low=0)
    rollouts: int = knob(8, "Answers sampled per task: the group that GRPO compares.", low=2, high=1024)
    batch: int = knob(32, "Tasks per step.", low=1)
    updates: int = knob(1, "Optimizer updates from each batch of answers. With 1, the clip range has no effect.", low=1, high=64)
    micro_batch: int = knob(4, "Answers in one pass of the model; changes memory and speed, not the result but for rounding.", low=1)
    loss: str = knob(
        "dapo",
        "How tokens are averaged: grpo over each answer, dapo over all tokens of the batch, dr_grpo by a constant.",
        choices=("grpo", "dapo", "dr_grpo"),
    )
    advantage: str = knob(
        "group",
        "group divides a reward's distance from its group's mean by the group's deviation; none does not.",
        choices=("group", "none"),
    )
    clip_low: float = knob(0.2, "Clip range of the probability ratio below 1.", above=0, high=1)
    clip_high: float = knob(0.2, "Clip range of the probability ratio above 1.", above=0, high=10)
    kl: float = knob(0.0, "Weight of the KL penalty to the policy at the start of the round; 0 needs no reference model.", low=0)
    temperature: float = knob(1.0, "Sampling temperature.", above=0, high=10)
    top_p: float = knob(1.0, "Nucleus sampling; 1 keeps all tokens.", above=0, high=1)
    top_k: int = knob(0, "The likeliest tokens that sampling chooses from; 0 is all.", low=0)
    max_prompt_tokens: int = knob(1024, "Longest prompt, template included. A longer one ends the job before training.", low=1)
    max_answer_tokens: int = knob(4096, "Longest answer: where the paper's length penalty is full.", low=1)
    chat: bool = knob(True, "The prompt is a user's message in the model's chat template; false: plain text.")
    thinking: bool = knob(False, "enable_thinking of the chat template. Serve and validate with the same value.")
    precision: str = knob(
        "bf16", "Arithmetic of the training pass. Weights that are trained are kept in fp32 either way.", choices=("bf16", "fp32")
    )
    gradient_checkpointing: bool = knob(True, "Recompute activations in the backward pass: about a third more time for much less memory.")
    save_every: int = knob(10, "Steps between checkpoints; what a kill can cost.", low=1)
    keep_checkpoints: int = knob(2, "Newest checkpoints that stay; 0 keeps all.", low=0)
    trl: TRL | None = knob(None, "Settings of recipe trl.")
    verl: Verl | None = knob(None, "Settings of recipe verl.")

    def check(self, trainer: str) -> list[str]:
        """Faults between fields, which a bound on one field cannot see."""
        faults = []
        own, other = ("trl", "verl") if trainer == "trl" else ("verl", "trl")
        if getattr(self, other) is not None:
            faults.append(f"settings.{other}: found beside trainer {trainer}; want settings.{own} or neither")
        if self.rollouts * self.batch % self.micro_batch:
            faults.append(
                f"settings.micro_batch: found {self.micro_batch}; want a divisor of rollouts * batch = {self.rollouts * self.batch}"
            )
        if self.thinking and not self.chat:
            faults.append("settings.thinking: found true beside chat false; want a chat template to think in")
        return faults

    def resolved(self, trainer: str) -> Settings:
        """The settings with the recipe's own group filled in: what result.json reports."""
        if trainer == "trl":
            return dataclasses.replace(self, trl=self.trl or TRL())
        return dataclasses.replace(self, verl=self.verl or Verl())

    @property
    def for_trl(self) -> TRL:
        """The group of recipe trl; only after resolved."""
        if self.trl is None:
            raise ConfigError("settings.trl: found nothing; want the settings of recipe trl")
        return self.trl

    @property
    def for_verl(self) -> Verl:
        """The group of recipe verl; only after resolved."""
        if self.verl is None:
            raise ConfigError("settings.verl: found nothing; want the settings of recipe verl")
        return self.verl


def table(kind: type) -> str:
    """Markdown table of a group of settings."""
    rows = ["| setting | default | |", "|---|---|---|"]
    for f in dataclasses.fields(kind):
        if f.name in ("trl", "verl"):
            continue
        choices = f.metadata.get("choices")
        among = f" One of {', '.join(f'`{c}`' for c in choices)}." if choices else ""
        rows.append(f"| `{f.name}` | `{_json(f.default)}` | {f.metadata['doc']}{among} |")
    return "\n".join(rows)


def _json(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return (
        {True: "true", False: "false", None: "null", (): "[]"}.get(value, str(value))
        if not isinstance(value, int) or isinstance(value, bool)
        else str(value)
    )


if __name__ == "__main__":
    for group in (Settings, TRL, Verl):
        print(table(group), end="\n\n")
