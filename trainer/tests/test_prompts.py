"""Prompts as the model sees them."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from floe_trainer import prompts
from floe_trainer.dataset import Task
from floe_trainer.exits import ConfigError, DataError
from floe_trainer.settings import Settings

pytestmark = pytest.mark.torch
THINKING = Settings(thinking=True)


def test_the_template_is_told_whether_to_think(model: Path) -> None:
    tokenizer = prompts.load_tokenizer(str(model), None, Settings())
    assert prompts.render(tokenizer, Settings(), "Q").endswith("assistant\n<think>\n\n</think>\n\n")
    assert prompts.render(tokenizer, THINKING, "Q") == "<|im_start|>user\nQ<|im_end|>\n<|im_start|>assistant\n"
    assert prompts.render(tokenizer, Settings(chat=False), "Q") == "Q"


def test_a_tag_that_the_template_opens_is_put_back_before_the_answer(model: Path) -> None:
    tokenizer = prompts.load_tokenizer(str(model), None, THINKING)
    assert prompts.opening(tokenizer, THINKING) == ""
    tokenizer.chat_template += "<think>\n"
    assert prompts.opening(tokenizer, THINKING) == "<think>"
    assert prompts.opening(tokenizer, Settings()) == ""


def test_prompts_that_are_too_long_are_counted_and_the_longest_is_named(model: Path) -> None:
    s = Settings(chat=False, max_prompt_tokens=5)
    tokenizer = prompts.load_tokenizer(str(model), None, s)
    prompts.check_lengths(tokenizer, s, [Task("a", "12345")])
    with pytest.raises(DataError, match="2 prompts have more than settings.max_prompt_tokens = 5 tokens; c has 7"):
        prompts.check_lengths(tokenizer, s, [Task("a", "12345"), Task("b", "123456"), Task("c", "1234567")])


def test_a_tokenizer_without_a_template_cannot_chat(model: Path, tmp_path: Path) -> None:
    for path in model.iterdir():
        if path.name != "chat_template.jinja":
            (tmp_path / path.name).write_bytes(path.read_bytes())
    with pytest.raises(ConfigError, match="has no chat template"):
        prompts.load_tokenizer(str(tmp_path), None, Settings())
    prompts.load_tokenizer(str(tmp_path), None, dataclasses.replace(Settings(), chat=False))
