"""The tasks of a job and the order in which its steps take them (docs/jobs.md)."""

from __future__ import annotations

import hashlib
import io
import json
from dataclasses import dataclass
from pathlib import Path

import zstandard

from floe_trainer.exits import ConfigError, DataError
from floe_trainer.spec import DatasetRef, Spec

_ZSTD = b"\x28\xb5\x2f\xfd"
_SHOWN = 5  # faults that an error lists; a broken file has thousands


@dataclass(frozen=True)
class Task:
    """A row: what is asked, and the name by which the referee knows it."""

    id: str
    prompt: str


def read(path: Path, ref: DatasetRef) -> list[Task]:
    """The dataset's tasks in the file's order, after its digest and its number of rows were checked."""
    try:
        packed = path.read_bytes()
    except OSError as err:
        raise ConfigError(f"dataset.uri: {err}") from err
    digest = hashlib.sha256(packed).hexdigest()
    if digest != ref.sha256:
        raise DataError(f"dataset {ref.uri}: found sha256 {digest}; want {ref.sha256}")
    faults: list[str] = []
    tasks = [_task(line, n, faults) for n, line in enumerate(_lines(packed, ref.uri), start=1)]
    ids = [task.id for task in tasks]
    if len(set(ids)) != len(ids) and not faults:
        twice = sorted({i for i in ids if ids.count(i) > 1}) if len(ids) < 100_000 else ["some"]
        faults.append(f"found ids more than once: {', '.join(twice[:_SHOWN])}")
    if len(tasks) != ref.rows:
        faults.append(f"found {len(tasks)} rows; want {ref.rows}")
    if faults:
        more = f"; and {len(faults) - _SHOWN} more" if len(faults) > _SHOWN else ""
        raise DataError(f"dataset {ref.uri}: " + "; ".join(faults[:_SHOWN]) + more)
    return tasks


def _lines(packed: bytes, name: str) -> list[bytes]:
    if not packed.startswith(_ZSTD):
        return packed.splitlines()
    try:
        with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(packed), read_across_frames=True) as plain:
            return plain.read().splitlines()
    except zstandard.ZstdError as err:
        raise DataError(f"dataset {name}: {err}") from err


def _task(line: bytes, n: int, faults: list[str]) -> Task:
    try:
        row = json.loads(line)
    except ValueError as err:
        faults.append(f"line {n}: {err}")
        return Task("", "")
    fields = row if isinstance(row, dict) else {}
    for key in ("id", "prompt"):
        if not isinstance(fields.get(key), str) or not fields[key]:
            faults.append(f"line {n}: found no {key}; want a string")
            return Task("", "")
    return Task(fields["id"], fields["prompt"])


def order(ids: list[str], spec: Spec) -> list[int]:
    """Rows in the order of the whole job, the last step filled: spec.steps * batch of them.

    Every epoch is sorted by hashed names, so the order needs no generator whose
    state a resume would have to bring back, and any trainer in any language
    has the same.
    """
    rows = [row for epoch in range(spec.epochs) for row in epoch_order(ids, spec.seed, epoch)]
    filling = epoch_order(ids, spec.seed, spec.epochs)
    while len(rows) < spec.steps * spec.settings.batch:  # a batch can be larger than the dataset
        rows += filling[: spec.steps * spec.settings.batch - len(rows)]
    return rows


def epoch_order(ids: list[str], seed: str, epoch: int) -> list[int]:
    """All rows, sorted by sha256 of "seed/epoch/id"."""
    return sorted(range(len(ids)), key=lambda row: hashlib.sha256(f"{seed}/{epoch}/{ids[row]}".encode()).digest())


def step_ids(ids: list[str], rows: list[int], step: int, batch: int) -> list[str]:
    """Ids of the tasks of a step, from 1, in their order."""
    return [ids[row] for row in rows[(step - 1) * batch : step * batch]]
