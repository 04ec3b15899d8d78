"""What an answer is worth: verdicts come from the referee, weights from the counts so far.

The formula of the weights is the referee's; it is here a second time because a
trainer must know the weights of a step from its own log alone, and the two are
held together by ``check_weights`` in every batch.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from floe_trainer.exits import JobError
from floe_trainer.spec import RewardSettings, RewardState

# Names under which a step's counts stand in the trainer's log.
ANSWERS, WITHIN = "floe/answers", "floe/within"


@dataclass(frozen=True)
class Answer:
    """What the model wrote for a task."""

    task: str
    text: str
    tokens: int
    truncated: bool


@dataclass(frozen=True)
class Verdict:
    """What the referee says of an answer."""

    valid: bool
    optimal: bool
    tokens: int
    total: float
    accuracy: float
    length: float


@dataclass(frozen=True)
class Weights:
    """Weights of the two parts of the reward."""

    accuracy: float
    length: float


def weights(settings: RewardSettings, state: RewardState) -> Weights:
    """Weights in force after the answers counted in state: from low to top with the share within the free length."""
    share = state.within / state.answers if state.answers else 0.0
    accuracy = settings.accuracy_low + (settings.accuracy_top - settings.accuracy_low) * share
    return Weights(accuracy, 1 - accuracy)


def state_from_log(start: RewardState, history: Iterable[Mapping[str, Any]]) -> RewardState:
    """Counts after all steps in a trainer's log: a pure function of it, so a resumed step weighs as the first did."""
    for entry in history:
        if ANSWERS in entry and WITHIN in entry:
            start = start.seen(round(entry[ANSWERS]), round(entry[WITHIN]))
    return start


def check_weights(mine: Weights, referee: Weights) -> None:
    """Raises JobError if the referee weighs otherwise: then it is of another version than this trainer."""
    same = math.isclose(mine.accuracy, referee.accuracy, abs_tol=1e-9) and math.isclose(mine.length, referee.length, abs_tol=1e-9)
    if not same:
        raise JobError(
            f"the referee weighs accuracy {referee.accuracy} and length {referee.length}; want {mine.accuracy} and {mine.length}"
        )


def within(verdicts: list[Verdict], free_tokens: int) -> int:
    """How many answers stayed within the free length."""
    return sum(v.tokens <= free_tokens for v in verdicts)


def summary(answers: list[Answer], verdicts: list[Verdict], w: Weights, free_tokens: int, group: int) -> dict[str, float]:
    """A batch in numbers, by the keys of docs/jobs.md; answers of a group stand together."""
    n = len(verdicts)
    totals = [v.total for v in verdicts]
    groups = [totals[i : i + group] for i in range(0, n, group)]
    return {
        "reward": sum(totals) / n,
        "accuracy_reward": sum(v.accuracy for v in verdicts) / n,
        "length_reward": sum(v.length for v in verdicts) / n,
        "weight_acc": w.accuracy,
        "weight_len": w.length,
        "valid_rate": sum(v.valid for v in verdicts) / n,
        "optimal_rate": sum(v.optimal for v in verdicts) / n,
        "within_rate": within(verdicts, free_tokens) / n,
        "truncated_rate": sum(a.truncated for a in answers) / n,
        "spread": sum(max(g) > min(g) for g in groups) / len(groups),
        "answers": float(n),
        "answer_tokens": sum(v.tokens for v in verdicts) / n,
    }
