"""spec.json, schema floe.job/v1: what a job is asked to do (docs/jobs.md)."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field, replace
from typing import Any

from floe_trainer import strict
from floe_trainer.exits import ConfigError
from floe_trainer.settings import Settings

SCHEMA = "floe.job/v1"
RECIPES = ("trl", "verl")


def _key(**meta: Any) -> Any:
    return field(metadata=meta)


@dataclass(frozen=True)
class BaseModel:
    """Untrained weights: a directory, an s3:// prefix or a name on the hub."""

    uri: str = _key(filled="a directory, an s3:// address or a name on the hub")
    revision: str | None = None
    sha256: str | None = None  # tree digest of a directory


@dataclass(frozen=True)
class Init:
    """The checkpoint that a round starts from."""

    uri: str = _key(filled="a directory or an s3:// address")
    manifest_sha256: str = ""


@dataclass(frozen=True)
class DatasetRef:
    """The tasks, as JSON lines."""

    uri: str = _key(filled="a file or an s3:// address")
    sha256: str = _key()
    rows: int = _key(low=1)


@dataclass(frozen=True)
class RewardSettings:
    """Numbers of the reward, by the keys of an experiment file."""

    floor: float = _key(low=0, high=1)
    free_tokens: int = _key(low=0)
    full_tokens: int = _key(low=1)
    accuracy_low: float = _key(low=0, high=1)
    accuracy_top: float = _key(low=0, high=1)
    length_of: str = _key(choices=("valid", "all"))


@dataclass(frozen=True)
class RewardState:
    """Counts that the dynamic weights depend on: answers scored, and those within the free length."""

    answers: int = _key(low=0)
    within: int = _key(low=0)

    def seen(self, answers: int, within: int) -> RewardState:
        """The counts after a batch."""
        return RewardState(self.answers + answers, self.within + within)

    def as_json(self) -> dict[str, int]:
        """As spec, manifest, result and referee write it."""
        return {"answers": self.answers, "within": self.within}


@dataclass(frozen=True)
class Reward:
    """The referee, the numbers of the reward, and the counts to start from."""

    referee: tuple[str, ...]
    environment: str = _key(filled="a name")
    settings: RewardSettings = _key()
    state: RewardState = _key()


@dataclass(frozen=True)
class Limits:
    """Bounds on an attempt, in seconds; 0 is no bound."""

    wall_seconds: int = field(default=0, metadata={"low": 0})
    grace_seconds: int = field(default=120, metadata={"low": 0})


@dataclass(frozen=True)
class Spec:
    """One job. ``digest`` is the sha256 of the file's bytes and names it in checkpoints and results."""

    schema: str = _key(choices=(SCHEMA,))
    trainer: str = _key(choices=RECIPES)
    base_model: BaseModel = _key()
    dataset: DatasetRef = _key()
    reward: Reward = _key()
    epochs: int = _key(low=1)
    seed: str = _key(filled="a seed")
    expected_steps: int = _key(low=1)
    init: Init | None = None
    resume: str = field(default="latest", metadata={"choices": ("latest", "none")})
    limits: Limits = Limits()
    settings: Settings = Settings()

    def faults(self) -> list[str]:
        """Faults between keys."""
        faults = self.settings.check(self.trainer)
        if not self.reward.referee or not all(self.reward.referee):
            faults.append("reward.referee: found no program; want an argument vector such as [starter, score]")
        if self.reward.state.within > self.reward.state.answers:
            faults.append(f"reward.state.within: found {self.reward.state.within}; want at most answers = {self.reward.state.answers}")
        r = self.reward.settings
        if r.full_tokens <= r.free_tokens:
            faults.append(f"reward.settings.full_tokens: found {r.full_tokens}; want more than free_tokens = {r.free_tokens}")
        if r.accuracy_low > r.accuracy_top:
            faults.append(f"reward.settings.accuracy_low: found {r.accuracy_low:g}; want at most accuracy_top = {r.accuracy_top:g}")
        for path, digest in self._digests():
            if digest is not None and not re.fullmatch(r"[0-9a-f]{64}", digest):
                faults.append(f"{path}: found {digest!r}; want 64 lower-case hex digits")
        if self.expected_steps != self.steps:
            faults.append(
                f"expected_steps: found {self.expected_steps}; want ceil(epochs * rows / batch) = "
                f"ceil({self.epochs} * {self.dataset.rows} / {self.settings.batch}) = {self.steps}"
            )
        return faults

    def _digests(self) -> list[tuple[str, str | None]]:
        init = self.init.manifest_sha256 if self.init else None
        return [
            ("base_model.sha256", self.base_model.sha256),
            ("dataset.sha256", self.dataset.sha256),
            ("init.manifest_sha256", init),
        ]

    @property
    def steps(self) -> int:
        """Steps of the whole job."""
        return -(-self.epochs * self.dataset.rows // self.settings.batch)

    @property
    def padded(self) -> int:
        """Tasks that fill the last step."""
        return self.steps * self.settings.batch - self.epochs * self.dataset.rows

    @property
    def answers_per_step(self) -> int:
        """Answers sampled in a step."""
        return self.settings.batch * self.settings.rollouts


def read(text: bytes) -> tuple[Spec, str]:
    """The spec with its recipe's settings filled in, and its digest; ConfigError with every fault otherwise."""
    spec = strict.load(Spec, text, "spec.json")
    faults = spec.faults()
    if faults:
        raise ConfigError(*(f"spec.json: {fault}" for fault in faults))
    return replace(spec, settings=spec.settings.resolved(spec.trainer)), hashlib.sha256(text).hexdigest()
