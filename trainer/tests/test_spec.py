"""Reading spec.json: strict, and all faults at once."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from floe_trainer import settings, spec
from floe_trainer.exits import ConfigError

Plain = Callable[..., dict[str, Any]]
ROOT = Path(__file__).resolve().parents[2]


def test_a_plain_spec_is_read_with_its_defaults(plain_spec: Plain) -> None:
    what, digest = spec.read(json.dumps(plain_spec()).encode())
    assert what.settings.temperature == 1.0
    assert what.settings.for_trl.vllm == "colocate"
    assert what.limits.grace_seconds == 120
    assert (what.steps, what.padded, what.answers_per_step, len(digest)) == (6, 0, 8, 64)


def test_the_spec_that_the_documentation_shows_is_one() -> None:
    text = (ROOT / "docs" / "jobs.md").read_text().split("```json\n")[1].split("```")[0].replace("…", "0" * 60)
    what, _ = spec.read(text.encode())
    assert what.expected_steps == 250


def test_all_faults_are_said_at_once(plain_spec: Plain) -> None:
    said = plain_spec(epochs=0, trainer="trll", typo=1)
    said["dataset"]["rows"] = "many"
    del said["seed"]
    said["settings"]["temprature"] = 1
    said["settings"]["rollouts"] = 1
    said["settings"]["trl"]["device"] = "tpu"
    with pytest.raises(ConfigError) as err:
        spec.read(json.dumps(said).encode())
    for want in (
        "epochs: found 0; want 1 or more",
        'trainer: found "trll"; want one of trl, verl',
        "typo: unknown key",
        'dataset.rows: found "many"; want a whole number',
        "seed: missing",
        "settings.temprature: unknown key; did you mean temperature?",
        "settings.rollouts: found 1; want 2 or more",
        'settings.trl.device: found "tpu"; want one of auto, cuda, cpu',
    ):
        assert f"spec.json: {want}" in str(err.value)
    assert len(err.value.faults) == 8


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"expected_steps": 7}, r"expected_steps: found 7; want ceil\(epochs \* rows / batch\) = ceil\(1 \* 24 / 4\) = 6"),
        ({"settings": {"batch": 4, "rollouts": 2, "micro_batch": 3}}, "settings.micro_batch: found 3; want a divisor of rollouts"),
        ({"settings": {"batch": 4, "micro_batch": 4, "verl": {}}}, "settings.verl: found beside trainer trl"),
        ({"settings": {"batch": 4, "chat": False, "thinking": True}}, "settings.thinking: found true beside chat false"),
        ({"init": {"uri": "/x", "manifest_sha256": "5F"}}, "init.manifest_sha256: found '5F'; want 64 lower-case hex digits"),
        ({"settings": {"batch": 4, "learning_rate": 0}}, "settings.learning_rate: found 0; want more than 0"),
        ({"settings": {"batch": 4, "learning_rate": True}}, "settings.learning_rate: found true; want a finite number"),
        ({"settings": {"batch": 4.0}}, "settings.batch: found 4.0; want a whole number"),
        ({"base_model": {"uri": ""}}, "base_model.uri: found"),
        ({"limits": None}, "limits: found null; want an object"),
    ],
)
def test_faults_between_and_within_keys_are_said(plain_spec: Plain, changes: dict[str, Any], fault: str) -> None:
    with pytest.raises(ConfigError, match=fault):
        spec.read(json.dumps(plain_spec(**changes)).encode())


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (b"", "Expecting value"),
        (b"[]", "want an object"),
        (b"null", "want an object"),
        (b'{"epochs": 1, "epochs": 2}', "found key epochs more than once"),
        (b'{"epochs": NaN}', "found NaN; want a finite number"),
        (b'{"seed": "\xff"}', "utf-8"),
        (b"[" * 100_000, "recursion"),
        (b'{"schema": "floe.job/v2"}', 'schema: found "floe.job/v2"; want one of floe.job/v1'),
    ],
)
def test_what_is_no_spec_is_refused_in_words(text: bytes, fault: str) -> None:
    with pytest.raises(ConfigError, match=fault):
        spec.read(text)


def test_every_cut_and_every_changed_byte_is_a_spec_or_a_fault(plain_spec: Plain) -> None:
    text = json.dumps(plain_spec()).encode()
    for at in range(len(text)):
        for broken in (text[:at], text[:at] + b"\x00" + text[at + 1 :], text[:at] + b"9" + text[at:]):
            with contextlib.suppress(ConfigError):
                spec.read(broken)  # any other error fails the test


def test_the_documentation_has_the_table_of_all_settings() -> None:
    text = (ROOT / "docs" / "trainer.md").read_text()
    for group in (settings.Settings, settings.TRL, settings.Verl):
        assert settings.table(group) in text, f"docs/trainer.md: paste the table of {group.__name__} from python -m floe_trainer.settings"
