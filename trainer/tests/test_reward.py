"""The reward's weights and the referee, against the Go program itself."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from floe_trainer import reward
from floe_trainer.exits import ConfigError, DataError, JobError
from floe_trainer.referee import Referee
from floe_trainer.reward import ANSWERS, WITHIN, Answer, Weights
from floe_trainer.spec import Reward, RewardSettings, RewardState

PAPER = RewardSettings(0.3, 1500, 4096, 0.5, 0.8, "valid")
STATES = [RewardState(0, 0), RewardState(8, 0), RewardState(8, 2), RewardState(7, 7), RewardState(64_000, 41_230), RewardState(3, 1)]


@pytest.fixture
def referee(starter: str, dataset: Path) -> Iterator[Callable[..., Referee]]:
    made: list[Referee] = []

    def make(settings: RewardSettings = PAPER, argv: tuple[str, ...] = (starter, "score")) -> Referee:
        made.append(Referee(Reward(argv, "lake", settings, RewardState(0, 0)), dataset))
        return made[-1]

    yield make
    for one in made:
        one.close()


def answers(n: int, text: str = "I do not know.") -> list[Answer]:
    return [Answer(f"r0-3x3-{i % 24:04d}", text, 3 + i, truncated=False) for i in range(n)]


@pytest.mark.parametrize("settings", [PAPER, RewardSettings(0.2, 10, 20, 0.1, 1.0, "all"), RewardSettings(0, 0, 1, 0.2, 0.9, "valid")])
def test_the_weights_are_those_of_the_program(referee: Callable[..., Referee], settings: RewardSettings) -> None:
    r = referee(settings)
    for state in STATES:
        _, found = r.score(answers(1), state)
        mine = reward.weights(settings, state)
        assert found.accuracy == pytest.approx(mine.accuracy, abs=1e-12)
        assert found.length == pytest.approx(mine.length, abs=1e-12)


def test_verdicts_are_weighed_and_come_in_the_order_of_the_answers(referee: Callable[..., Referee], starter: str, dataset: Path) -> None:
    shown = subprocess.run([starter, "dataset", "show", dataset, "-o", "json"], capture_output=True, text=True, check=True)
    row = json.loads(shown.stdout)[0]
    right = Answer(row["task"]["id"], row["answer"], 2798, truncated=False)  # half way between free and full
    verdicts, w = referee().score([*answers(2), right, *answers(1)], RewardState(4, 2))
    assert [v.tokens for v in verdicts] == [3, 4, 2798, 3]
    assert [v.valid for v in verdicts] == [False, False, True, False]
    assert verdicts[2].optimal
    assert verdicts[2].total == pytest.approx(0.65 * 1 + 0.35 * 0.5)
    assert (w.accuracy, w.length) == pytest.approx((0.65, 0.35))


def test_a_batch_larger_than_every_pipe_goes_through(referee: Callable[..., Referee]) -> None:
    many = answers(3000, "x" * 1000)
    verdicts, _ = referee().score(many, RewardState(0, 0))
    assert [v.tokens for v in verdicts] == [a.tokens for a in many]


def test_a_referee_that_was_killed_is_started_again(referee: Callable[..., Referee]) -> None:
    r = referee()
    before, _ = r.score(answers(4), RewardState(4, 2))
    first = r.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    after, _ = r.score(answers(4), RewardState(4, 2))
    assert after == before
    assert r.pid != first


def test_a_task_that_is_not_in_the_dataset_is_a_fault_of_the_data(referee: Callable[..., Referee]) -> None:
    with pytest.raises(DataError, match="cannot score the answer to nowhere"):
        referee().score([Answer("nowhere", "x", 1, truncated=False)], RewardState(0, 0))


@pytest.mark.parametrize(
    ("argv", "error", "fault"),
    [
        (("/nowhere/starter", "score"), ConfigError, "reward.referee"),
        (("/bin/sh", "-c", "exit 3"), JobError, "died 3 times over one batch; its last exit code was 3"),
        (("/bin/sh", "-c", "exit 2"), ConfigError, "refused its command line"),
        (("/bin/sh", "-c", "read l; echo hello; cat >/dev/null"), JobError, "want a JSON object"),
        (
            ("/bin/sh", "-c", """read l; echo '{"weights":{"accuracy":0.6,"length":0.4}}'; cat >/dev/null"""),
            JobError,
            "weighs accuracy 0.6",
        ),
    ],
)
def test_a_program_that_is_no_referee_is_named(
    referee: Callable[..., Referee], argv: tuple[str, ...], error: type[Exception], fault: str
) -> None:
    with pytest.raises(error, match=fault):
        referee(argv=argv).score(answers(1), RewardState(0, 0))


def test_counts_follow_from_the_log_alone() -> None:
    log = [{"loss": 1.0, ANSWERS: 8.0, WITHIN: 3.0}, {"train_runtime": 5.0}, {ANSWERS: 8.0, WITHIN: 7.9999995}]
    assert reward.state_from_log(RewardState(100, 50), log) == RewardState(116, 61)
    assert reward.state_from_log(RewardState(1, 1), []) == RewardState(1, 1)


def test_a_batch_is_summed_up_by_the_keys_of_the_contract() -> None:
    asked = [Answer("a", "", 1, truncated=False)] * 3 + [Answer("b", "", 9, truncated=True)]
    verdicts = [
        reward.Verdict(True, True, 1, 1.0, 1.0, 1.0),
        reward.Verdict(True, False, 1, 0.5, 0.5, 1.0),
        reward.Verdict(False, False, 1, 0.0, 0.0, 0.0),
        reward.Verdict(False, False, 9, 0.0, 0.0, 0.0),
    ]
    data = reward.summary(asked, verdicts, Weights(0.6, 0.4), free_tokens=1, group=2)
    assert data == {
        "reward": 0.375, "accuracy_reward": 0.375, "length_reward": 0.5, "weight_acc": 0.6, "weight_len": 0.4,
        "valid_rate": 0.5, "optimal_rate": 0.25, "within_rate": 0.75, "truncated_rate": 0.25, "spread": 0.5,
        "answers": 4.0, "answer_tokens": 3.0,
    }  # fmt: skip
