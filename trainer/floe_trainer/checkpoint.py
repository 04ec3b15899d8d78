"""Checkpoints: a directory whose manifest is written last, so that a torn one shows (docs/jobs.md)."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from floe_trainer import files
from floe_trainer.exits import ConfigError, DataError
from floe_trainer.spec import RewardState

SCHEMA = "floe.checkpoint/v1"
MANIFEST = "manifest.json"

# Files that are for going on with the training only; all others are the model. TRL keeps the adapter that a KL
# penalty compares with in ref/.
_STATE = re.compile(r"^(optimizer|scheduler|scaler)\.pt$|^rng_state.*\.pth$|^trainer_state\.json$|^training_args\.bin$|^(state|ref)/")


class Torn(Exception):
    """The directory is no whole checkpoint: a write was cut off, or a file was damaged."""


@dataclass(frozen=True)
class Checkpoint:
    """A whole checkpoint: every file was there with its size and digest."""

    path: Path
    sha256: str  # of the manifest's bytes
    manifest: dict[str, Any]

    @property
    def step(self) -> int:
        """Steps made when it was written."""
        return int(self.manifest["step"])

    @property
    def reward_state(self) -> RewardState:
        """Answers counted up to its step."""
        return RewardState(**self.manifest["reward_state"])


def name(step: int) -> str:
    """Name of a step's directory."""
    return f"step-{step:06d}"


def seal(path: Path, fields: dict[str, Any]) -> Checkpoint:
    """Writes the manifest of a directory whose files are complete: fields, and every file with its digest."""
    listed = [
        {"path": p, "size": (path / p).stat().st_size, "sha256": files.sha256_of(path / p), "role": "state" if _STATE.match(p) else "model"}
        for p in files.files_below(path)
        if p != MANIFEST
    ]
    manifest = {"schema": SCHEMA, **fields, "files": listed, "written": files.now()}
    body = files.json_bytes(manifest)
    files.write_atomic(path / MANIFEST, body)
    return Checkpoint(path, hashlib.sha256(body).hexdigest(), manifest)


def verify(path: Path) -> Checkpoint:
    """The checkpoint in a directory after every file was read; Torn says what is wrong with it."""
    try:
        body = (path / MANIFEST).read_bytes()
    except OSError as err:
        raise Torn(f"no {MANIFEST}") from err
    try:
        manifest = json.loads(body)
        if manifest["schema"] != SCHEMA:
            raise Torn(f"{MANIFEST} has schema {manifest['schema']}; want {SCHEMA}")
        RewardState(**manifest["reward_state"])
        int(manifest["step"])
        for f in manifest["files"]:
            _check_file(path / f["path"], f)
    except (ValueError, TypeError, KeyError) as err:
        raise Torn(f"{MANIFEST}: {err!r}") from err
    return Checkpoint(path, hashlib.sha256(body).hexdigest(), manifest)


def _check_file(path: Path, listed: dict[str, Any]) -> None:
    try:
        size = path.stat().st_size
        if size != listed["size"]:
            raise Torn(f"{listed['path']} has {size} bytes; want {listed['size']}")
        digest = files.sha256_of(path)
    except OSError as err:
        raise Torn(f"{listed['path']}: {err.strerror}") from err
    if digest != listed["sha256"]:
        raise Torn(f"{listed['path']} has sha256 {digest}; want {listed['sha256']}")


def latest(root: Path, spec_sha256: str) -> Checkpoint | None:
    """The newest whole checkpoint below root; torn ones are passed over, with a line in the log.

    One of another spec is a fault of whoever gave this directory to this job,
    and going on from it would quietly train something else.
    """
    for path in sorted(root.glob("step-*"), key=_step_of, reverse=True):
        try:
            found = verify(path)
        except Torn as torn:
            print(f"checkpoint {path.name} is torn and passed over: {torn}", flush=True)
            continue
        if found.manifest["spec_sha256"] != spec_sha256:
            raise ConfigError(f"{path.name} was written for the spec {found.manifest['spec_sha256']}; want {spec_sha256}")
        return found
    return None


def _step_of(path: Path) -> int:
    digits = path.name.removeprefix("step-")
    return int(digits) if digits.isdigit() else -1


def initial(path: Path, manifest_sha256: str, kind: str) -> Checkpoint:
    """The checkpoint that a round starts from, checked to be the one the spec means."""
    try:
        found = verify(path)
    except Torn as torn:
        raise DataError(f"init {path}: {torn}") from torn
    if found.sha256 != manifest_sha256:
        raise DataError(f"init {path}: {MANIFEST} has sha256 {found.sha256}; want {manifest_sha256}")
    if found.manifest["kind"] != kind:
        raise ConfigError(f"init {path} is of kind {found.manifest['kind']}; want settings.tuning = {kind}")
    return found


def prune(root: Path, keep: int) -> list[str]:
    """Removes all but the newest directories, manifest first, so that half of one is never taken for whole; names them."""
    old = sorted(root.glob("step-*"), key=_step_of)[:-keep] if keep else []
    for path in old:
        (path / MANIFEST).unlink(missing_ok=True)
        shutil.rmtree(path)
    return [path.name for path in old]
