"""Files that are whole or absent, and their digests."""

from __future__ import annotations

import hashlib
import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any


def write_atomic(path: Path, body: bytes) -> None:
    """Replaces path in one move; a crash leaves the old file or the new one, also after a power cut."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with beside.open("wb") as f:
        f.write(body)
        f.flush()
        os.fsync(f.fileno())
    beside.replace(path)


def write_json(path: Path, value: Any) -> None:
    """Writes value atomically; NaN and infinities are refused, as Go's reader would refuse them."""
    write_atomic(path, json_bytes(value))


def json_bytes(value: Any) -> bytes:
    """One line of JSON with its newline."""
    return (json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":")) + "\n").encode()


def sha256_of(path: Path) -> str:
    """Digest of a file."""
    with path.open("rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


def files_below(root: Path) -> list[str]:
    """Paths of all files below root, with forward slashes, sorted by their bytes."""
    return sorted((p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_file()), key=lambda p: p.encode())


def tree_sha256(root: Path) -> str:
    """Tree digest of a directory as docs/jobs.md defines it."""
    lines = [f"{sha256_of(root / path)}  {path}\n" for path in files_below(root)]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def now() -> str:
    """The time, RFC 3339 in UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
