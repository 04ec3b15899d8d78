"""Prompts as the model sees them: the tokenizer, its chat template, and whether all of them fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from floe_trainer.dataset import Task
from floe_trainer.exits import ConfigError, DataError
from floe_trainer.settings import Settings

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


def load_tokenizer(base: str, revision: str | None, s: Settings) -> PreTrainedTokenizerBase:
    """The base model's tokenizer, padding on the left as sampling needs it."""
    from transformers import AutoTokenizer

    tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(base, revision=revision, padding_side="left")
    if s.chat and not tokenizer.chat_template:
        raise ConfigError(f"settings.chat: found true; want false, as the tokenizer of {base} has no chat template")
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def render(tokenizer: PreTrainedTokenizerBase, s: Settings, prompt: str) -> str:
    """The text that the model goes on from."""
    if not s.chat:
        return prompt
    text: str = tokenizer.apply_chat_template(messages(prompt), tokenize=False, add_generation_prompt=True, enable_thinking=s.thinking)
    return text


def messages(prompt: str) -> list[dict[str, str]]:
    """The prompt as a conversation."""
    return [{"role": "user", "content": prompt}]


def opening(tokenizer: PreTrainedTokenizerBase, s: Settings) -> str:
    """What the template puts before the answer that the referee has to see: a template that opens the thinking
    itself leaves the model's text without the tag, and unfinished thinking would be read as an answer."""
    return "<think>" if s.thinking and render(tokenizer, s, "").rstrip().endswith("<think>") else ""


def check_lengths(tokenizer: PreTrainedTokenizerBase, s: Settings, tasks: list[Task]) -> None:
    """Raises DataError if a prompt is too long: now, before it costs anything, rather than in the middle of a round."""
    ids = tokenizer([render(tokenizer, s, task.prompt) for task in tasks], add_special_tokens=not s.chat)["input_ids"]
    long = [(len(tokens), task.id) for tokens, task in zip(ids, tasks, strict=True) if len(tokens) > s.max_prompt_tokens]
    if long:
        most, worst = max(long)
        raise DataError(f"{len(long)} prompts have more than settings.max_prompt_tokens = {s.max_prompt_tokens} tokens; {worst} has {most}")
