"""Where an attempt is, when it should stop, and what its steps added up to."""

from __future__ import annotations

import json
import math
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from types import FrameType
from typing import Any

from floe_trainer import files
from floe_trainer.jobdir import JobDir
from floe_trainer.spec import Limits

_TOUCH_EVERY = 5.0  # seconds between writes of progress.json that only say: still alive


class Progress:
    """Keeps progress.json true. ``updated`` moves only when something was really done."""

    def __init__(self, job: JobDir, total: int) -> None:
        self._job, self._total = job, total
        self._phase, self._step = "starting", 0
        self._data: dict[str, float | None] = {}
        self._began: float | None = None  # of the step that runs
        self._seconds: float | None = None  # mean of this attempt's steps, newer ones weigh more
        self._wrote = 0.0

    @property
    def step_seconds(self) -> float | None:
        """Seconds that a step takes; None before one was measured."""
        return self._seconds

    def phase(self, name: str, step: int | None = None) -> None:
        """Enters a phase."""
        self._phase = name
        self._step = self._step if step is None else step
        self._began = time.monotonic() if name == "training" else None
        self._write()

    def touch(self) -> None:
        """Part of a step was done."""
        if time.monotonic() - self._wrote >= _TOUCH_EVERY:
            self._write()

    def step(self, step: int, data: Mapping[str, float | None]) -> None:
        """A step was made; data is written to metrics with the time it took."""
        took = time.monotonic() - self._began if self._began is not None else None
        self._began = time.monotonic()
        self._step, self._data = step, {k: finite(v) for k, v in data.items()}
        if took is not None:
            self._seconds = took if self._seconds is None else 0.7 * self._seconds + 0.3 * took
            self._data["step_seconds"] = took
            tokens = (self._data.get("answers") or 0.0) * (self._data.get("answer_tokens") or 0.0)
            self._data["tokens_per_second"] = tokens / took if took > 0 else None
        self._job.metrics(step, self._data)
        self._write()

    def _write(self) -> None:
        self._wrote = time.monotonic()
        left = None if self._seconds is None else round(self._seconds * (self._total - self._step), 1)
        self._job.progress({
            "phase": self._phase, "step": self._step, "total_steps": self._total, "updated": files.now(),
            "step_seconds": None if self._seconds is None else round(self._seconds, 3),
            "remaining_seconds": left, "metrics": self._data,
        })  # fmt: skip


class Stop:
    """Whether the attempt should end with a checkpoint: SIGTERM, stop.requested, or its time is up."""

    def __init__(self, job: JobDir, limits: Limits) -> None:
        self._job = job
        self._signal: str | None = None
        self._until = time.monotonic() + limits.wall_seconds - limits.grace_seconds if limits.wall_seconds else math.inf

    def listen(self) -> None:
        """Takes SIGTERM and SIGINT as a request to stop. Call it in the main thread."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._heard)

    def _heard(self, number: int, _: FrameType | None) -> None:
        self._signal = signal.Signals(number).name

    def reason(self) -> str | None:
        """Why to stop; None: go on."""
        if self._signal:
            return f"{self._signal} received"
        if time.monotonic() >= self._until:
            return "limits.wall_seconds reached"
        return "stop.requested found" if self._job.stop_requested() else None


def finite(value: float | None) -> float | None:
    """value, or None where JSON has no number for it."""
    return value if value is not None and math.isfinite(value) else None


def summarise(metrics: Path) -> dict[str, Any]:
    """First and last step of all attempts, and the mean over the last tenth of them."""
    steps: dict[int, tuple[int, dict[str, float | None]]] = {}
    for path in metrics.glob("a*.jsonl"):
        for line in path.read_bytes().splitlines():
            entry = _line(line)
            if entry and entry["attempt"] >= steps.get(entry["step"], (0,))[0]:
                steps[entry["step"]] = entry["attempt"], entry["data"]
    data = [steps[step][1] for step in sorted(steps)]
    if not data:
        return {"first": {}, "last": {}, "mean": {}}
    tail = data[-max(1, len(data) // 10) :]
    return {"first": data[0], "last": data[-1], "mean": {key: _mean(tail, key) for key in data[-1]}}


def _line(line: bytes) -> dict[str, Any] | None:
    try:
        entry = json.loads(line)
    except ValueError:
        return None  # torn by a kill
    return entry if isinstance(entry, dict) and {"step", "attempt", "data"} <= entry.keys() else None


def _mean(tail: list[dict[str, float | None]], key: str) -> float | None:
    values = [v for v in (data.get(key) for data in tail) if v is not None]
    return sum(values) / len(values) if values else None
