"""The job directory: everything that a trainer leaves for the worker (docs/jobs.md)."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from floe_trainer import checkpoint, files
from floe_trainer.checkpoint import Checkpoint
from floe_trainer.exits import Busy, ConfigError
from floe_trainer.storage import Bucket, StoreError

_LOOK_EVERY = 10.0  # seconds between looks at a store for stop.requested


class JobDir:
    """One attempt's hold on the directory of its job, and on its copy in a store if there is one."""

    def __init__(self, root: Path, job_id: str, attempt: int, mirror: Bucket | None = None) -> None:
        self.root, self.job_id, self.attempt = root, job_id, attempt
        self._mirror = mirror
        self._looked, self._told_to_stop = 0.0, False
        root.mkdir(parents=True, exist_ok=True)
        self._lock = _lock(root / "job.lock")
        for part in ("metrics", "samples", "log", "checkpoints", "inputs"):
            (root / part).mkdir(exist_ok=True)
        (root / "failure").unlink(missing_ok=True)
        if mirror:
            mirror.delete("failure")

    @property
    def checkpoints(self) -> Path:
        """Directory of the checkpoints."""
        return self.root / "checkpoints"

    @property
    def inputs(self) -> Path:
        """Where inputs from a store are put."""
        return self.root / "inputs"

    def keep_log(self) -> None:
        """Copies all that this process and its children print from here on into the attempt's log.

        A process of its own copies, so that the last words of one that is
        killed are kept; it ends when the last writer has.
        """
        log = self.root / "log" / f"a{self.attempt}.log"
        sys.stdout.flush()
        sys.stderr.flush()
        tee = subprocess.Popen(["tee", "-a", str(log)], stdin=subprocess.PIPE, start_new_session=True, preexec_fn=_outlive_a_stop)
        assert tee.stdin is not None
        os.dup2(tee.stdin.fileno(), 1)
        os.dup2(tee.stdin.fileno(), 2)
        tee.stdin.close()

    def progress(self, fields: Mapping[str, Any]) -> None:
        """Replaces progress.json. A store that is away for a while costs the worker news, not the job."""
        body = {"schema": "floe.progress/v1", "job_id": self.job_id, "attempt": self.attempt, **fields}
        files.write_json(self.root / "progress.json", body)
        try:
            self._put("progress.json")
        except StoreError as err:
            print(f"progress.json was not put: {err}", flush=True)

    def metrics(self, step: int, data: Mapping[str, float | None]) -> None:
        """Appends a step's metrics."""
        line = {"step": step, "time": files.now(), "attempt": self.attempt, "data": dict(data)}
        _append(self.root / self._own("metrics", "jsonl"), line)

    def samples(self, step: int, ids: list[str]) -> None:
        """Appends the tasks of a step."""
        _append(self.root / self._own("samples", "jsonl"), {"step": step, "ids": ids})

    def add_checkpoint(self, path: Path, fields: dict[str, Any], keep: int) -> Checkpoint:
        """Moves a complete directory to its place, seals it, points LATEST at it and removes the oldest."""
        target = self.checkpoints / checkpoint.name(fields["step"])
        if target.exists():  # a torn one that an earlier attempt left
            shutil.rmtree(target)
        path.rename(target)
        sealed = checkpoint.seal(target, fields)
        if self._mirror:
            self._mirror.put_all(target, f"checkpoints/{target.name}/", last=checkpoint.MANIFEST)
        files.write_atomic(self.root / "LATEST", (target.name + "\n").encode())
        for gone in checkpoint.prune(self.checkpoints, keep):
            self._forget(f"checkpoints/{gone}/")
        self._put("LATEST")
        self._put_lines()
        return sealed

    def bring_checkpoint(self) -> None:
        """Fetches the store's latest checkpoint if this machine lacks it: the attempt before may have run elsewhere."""
        named = self._mirror.read("LATEST") if self._mirror else None
        if self._mirror is None or named is None:
            return
        name = named.decode().strip()
        target = self.checkpoints / name
        if not name.startswith("step-") or "/" in name or (target / checkpoint.MANIFEST).exists():
            return
        shutil.rmtree(target, ignore_errors=True)
        self._mirror.get_all(f"checkpoints/{name}/", target)

    def bring_metrics(self) -> None:
        """Fetches earlier attempts' metrics from the store, for the summary at the end."""
        for name in self._mirror.names("metrics/") if self._mirror else []:
            if self._mirror and not (self.root / name).exists() and name.count("/") == 1:
                self._mirror.get(name, self.root / name)

    def result(self, fields: Mapping[str, Any]) -> None:
        """Writes result.json, the last file of all."""
        self._put_lines()
        files.write_json(self.root / "result.json", {"schema": "floe.result/v1", "job_id": self.job_id, "attempt": self.attempt, **fields})
        self._put("result.json")

    def failure(self, reason: str) -> None:
        """Says in one line why the attempt ended without a result."""
        files.write_atomic(self.root / "failure", (" ".join(reason.split())[:2000] + "\n").encode())
        self._put_lines()
        self._put("failure")

    def stop_requested(self) -> bool:
        """Whether the worker asked this attempt to stop; looks into a store at most every ten seconds."""
        try:
            asked: bytes | None = (self.root / "stop.requested").read_bytes()
        except FileNotFoundError:
            asked = self._stop_in_store()
        self._told_to_stop = self._told_to_stop or (asked is not None and self._means_me(asked))
        return self._told_to_stop

    def _stop_in_store(self) -> bytes | None:
        if self._mirror is None or time.monotonic() - self._looked < _LOOK_EVERY:
            return None
        self._looked = time.monotonic()
        try:
            return self._mirror.read("stop.requested")
        except StoreError as err:
            print(f"stop.requested was not looked for: {err}", flush=True)
            return None

    def _means_me(self, text: bytes) -> bool:
        attempt = text.decode(errors="replace").strip()
        return not attempt.isdigit() or int(attempt) >= self.attempt

    def _own(self, part: str, ending: str) -> str:
        return f"{part}/a{self.attempt}.{ending}"

    def _put(self, name: str) -> None:
        if self._mirror:
            self._mirror.put(name, self.root / name)

    def _put_lines(self) -> None:
        for name in (self._own("metrics", "jsonl"), self._own("samples", "jsonl"), self._own("log", "log")):
            if (self.root / name).exists():
                self._put(name)

    def _forget(self, below: str) -> None:
        if self._mirror:
            for name in sorted(self._mirror.names(below), key=lambda n: not n.endswith("/" + checkpoint.MANIFEST)):
                self._mirror.delete(name)


def _outlive_a_stop() -> None:
    # SIGTERM goes to every process of a job; the copier must outlast the writers.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _lock(path: Path) -> IO[str]:
    f = path.open("a")
    try:
        fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        f.close()
        raise Busy(f"{path.parent}: another program trains here") from None
    except OSError as err:
        f.close()
        raise ConfigError(f"{path}: {err}; want a file system with locks") from err
    return f


def _append(path: Path, line: Mapping[str, Any]) -> None:
    """Appends a line in one write. A line that a killed attempt left unfinished is closed first, so that it spoils no other."""
    with path.open("a+b") as f:
        if f.tell() and _last_byte(f) != b"\n":
            f.write(b"\n")
        f.write(files.json_bytes(line))


def _last_byte(f: IO[bytes]) -> bytes:
    f.seek(-1, os.SEEK_END)
    return f.read(1)
