"""The referee: one long-lived process that scores answers over pipes (docs/score.md)."""

from __future__ import annotations

import contextlib
import json
import queue
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from floe_trainer.exits import ConfigError, DataError, JobError
from floe_trainer.reward import Answer, Verdict, Weights, check_weights, weights
from floe_trainer.spec import Reward, RewardState

_PATIENCE = 300.0  # seconds without a reply after which a referee is taken for dead; it answers at once
_TRIES = 3  # a batch that kills the referee so often will do so again
_REFUSED = 2  # exit code of a command line that the referee does not take


class _Died(Exception):
    """The process ended, or does not answer."""


class Referee:
    """Scores batches. If the process dies, another is started and the whole batch is asked again.

    Nothing is lost by that: the process keeps no counts, as every batch begins
    with the reward state it is to be weighed with.
    """

    def __init__(self, reward: Reward, tasks: Path) -> None:
        self._reward = reward
        self._argv = command(reward, tasks)
        self._process: _Process | None = None
        self._batches = 0

    def score(self, answers: Sequence[Answer], state: RewardState) -> tuple[list[Verdict], Weights]:
        """Verdicts in the order of the answers, and the weights they were weighed with."""
        self._batches += 1
        for tried in range(1, _TRIES + 1):
            try:
                return self._ask(answers, state)
            except _Died as err:
                code = self._drop()
                print(f"referee: {err}; exit code {code}, try {tried} of {_TRIES}", flush=True)
        if code == _REFUSED:
            raise ConfigError(f"the referee refused its command line: {' '.join(self._argv)}")
        raise JobError(f"the referee died {_TRIES} times over one batch; its last exit code was {code}")

    def _ask(self, answers: Sequence[Answer], state: RewardState) -> tuple[list[Verdict], Weights]:
        if self._process is None:
            self._process = _Process(self._argv)
        self._process.write([{"reward_state": state.as_json()}])
        reply = self._process.read()
        if "weights" not in reply:
            raise JobError(f"the referee answered the reward state with {json.dumps(reply)[:200]}")
        found = Weights(reply["weights"]["accuracy"], reply["weights"]["length"])
        check_weights(weights(self._reward.settings, state), found)
        names = [f"{self._batches}.{i}" for i in range(len(answers))]
        self._process.write([_line(name, answer) for name, answer in zip(names, answers, strict=True)])
        replies = {}
        for _ in answers:
            reply = self._process.read()
            replies[reply.get("id")] = reply
        return [_verdict(replies, name, answer) for name, answer in zip(names, answers, strict=True)], found

    @property
    def pid(self) -> int | None:
        """Process id of the referee that runs; None before the first batch."""
        return self._process.pid if self._process else None

    def close(self) -> None:
        """Ends the process."""
        self._drop()

    def _drop(self) -> int | None:
        process, self._process = self._process, None
        return process.end() if process else None


def command(reward: Reward, tasks: Path) -> list[str]:
    """The referee's argument vector."""
    argv = [*reward.referee, "--environment", reward.environment, "--tasks", str(tasks)]
    for key, value in vars(reward.settings).items():
        argv += ["--set", f"reward.{key}={value}"]
    return argv


def _line(name: str, answer: Answer) -> dict[str, Any]:
    return {"id": name, "task": answer.task, "answer": answer.text, "tokens": answer.tokens, "truncated": answer.truncated}


def _verdict(replies: dict[Any, dict[str, Any]], name: str, answer: Answer) -> Verdict:
    reply = replies.get(name)
    if reply is None:
        raise JobError(f"the referee left the answer to {answer.task} out")
    if "error" in reply:
        raise DataError(f"the referee cannot score the answer to {answer.task}: {reply['error']}")
    r = reply["reward"]
    return Verdict(reply["valid"], reply["optimal"], reply["tokens"], r["total"], r["accuracy"], r["length"])


class _Process:
    """A referee that runs. A thread drains its replies, so that writing a large batch cannot lock both sides."""

    def __init__(self, argv: Sequence[str]) -> None:
        try:
            # A session of its own: a signal to the job's group must not take the referee from under a step.
            self._popen = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        except OSError as err:
            raise ConfigError(f"reward.referee: {err}") from err
        self._lines: queue.Queue[bytes] = queue.Queue()
        threading.Thread(target=self._drain, daemon=True).start()

    @property
    def pid(self) -> int:
        return self._popen.pid

    def _drain(self) -> None:
        assert self._popen.stdout is not None
        for line in self._popen.stdout:
            self._lines.put(line)
        self._lines.put(b"")

    def write(self, lines: Sequence[dict[str, Any]]) -> None:
        assert self._popen.stdin is not None
        try:
            self._popen.stdin.write("".join(json.dumps(line) + "\n" for line in lines).encode())
            self._popen.stdin.flush()
        except OSError as err:
            raise _Died(f"writing: {err}") from err

    def read(self) -> dict[str, Any]:
        try:
            line = self._lines.get(timeout=_PATIENCE)
        except queue.Empty:
            raise _Died(f"no reply within {_PATIENCE:.0f} s") from None
        if not line.endswith(b"\n"):
            raise _Died("its output ended")
        try:
            reply = json.loads(line)
        except ValueError as err:
            raise JobError(f"the referee wrote {line[:200]!r}; want a JSON object") from err
        if not isinstance(reply, dict):
            raise JobError(f"the referee wrote {line[:200]!r}; want a JSON object")
        return reply

    def end(self) -> int:
        with contextlib.suppress(OSError):  # it may be gone, with the batch still in the pipe
            assert self._popen.stdin is not None
            self._popen.stdin.close()
        try:
            return self._popen.wait(timeout=2)
        except subprocess.TimeoutExpired:
            self._popen.kill()
            return self._popen.wait()
