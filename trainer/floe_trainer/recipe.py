"""What a recipe gets and what it gives back."""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from floe_trainer import __version__
from floe_trainer.checkpoint import Checkpoint
from floe_trainer.dataset import Task
from floe_trainer.jobdir import JobDir
from floe_trainer.progress import Progress, Stop
from floe_trainer.spec import RewardState, Spec

_VERSIONS = ("torch", "transformers", "trl", "peft", "vllm", "verl", "datasets", "accelerate")


@dataclass(frozen=True)
class Work:
    """All that a recipe needs: what to do, its inputs on this machine, and where to say how it goes."""

    spec: Spec
    digest: str  # of the spec
    tasks: list[Task]
    rows: list[int]  # the order of the job: rows of tasks, settings.batch of them a step
    dataset: Path
    base: str  # directory on this machine, or name on the hub
    init: Checkpoint | None
    resume: Checkpoint | None
    job: JobDir
    progress: Progress
    stop: Stop

    @property
    def first_step(self) -> int:
        """Steps that earlier attempts made."""
        return self.resume.step if self.resume else 0

    def seal(self, path: Path, step: int, state: RewardState) -> Checkpoint:
        """Makes a complete directory the checkpoint of a step."""
        self.progress.phase("saving", step)
        parent = self.resume or self.init
        fields = {
            "step": step, "kind": self.spec.settings.tuning, "trainer": self.spec.trainer,
            "base_model": {"uri": self.spec.base_model.uri, "revision": self.spec.base_model.revision},
            "spec_sha256": self.digest, "parent": parent.sha256 if parent else None,
            "reward_state": state.as_json(), "versions": versions(),
        }  # fmt: skip
        sealed = self.job.add_checkpoint(path, fields, self.spec.settings.keep_checkpoints)
        self.progress.phase("training", step)
        return sealed


@dataclass(frozen=True)
class Trained:
    """What a recipe ends with."""

    final: Checkpoint
    device: str
    peak_memory_bytes: int | None


Recipe = Callable[[Work], Trained]


def versions() -> dict[str, str]:
    """Versions of what the weights depend on."""
    found = {"floe_trainer": __version__, "python": platform.python_version()}
    for package in _VERSIONS:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
