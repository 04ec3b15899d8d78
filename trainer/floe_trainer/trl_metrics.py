"""TRL's log in the words of docs/jobs.md."""

from __future__ import annotations

from collections.abc import Mapping

from floe_trainer.reward import ANSWERS, WITHIN

_SAME = ("loss", "kl", "entropy", "grad_norm", "learning_rate")
_DROPPED = ("epoch", "step", "reward", ANSWERS, WITHIN)  # measured by us


def to_contract(log: Mapping[str, float | None], measured: Mapping[str, float]) -> dict[str, float | None]:
    """One logged step: what was measured, TRL's own under their names in the contract, all others below trl/."""
    theirs = {key if key in _SAME else f"trl/{key}": value for key, value in log.items() if key not in _DROPPED}
    return {**measured, **theirs}
