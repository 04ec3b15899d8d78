"""Inputs and outputs that are not on this machine: s3:// addresses."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from floe_trainer.exits import ConfigError, DataError, JobError
from floe_trainer.files import files_below


def is_remote(uri: str) -> bool:
    """Whether the address is of an object store."""
    return uri.startswith("s3://")


def local_path(uri: str) -> Path | None:
    """The path that an address means on this machine; None for one of the hub, which has neither slash nor file of its name."""
    if uri.startswith("file://"):
        return Path(uri.removeprefix("file://"))
    if uri.startswith(("/", "./", "../", "~")) or Path(uri).exists():
        return Path(uri).expanduser()
    return None


def fetch_file(uri: str, inputs: Path, what: str) -> Path:
    """A file on this machine, fetched below inputs if it is in an object store."""
    if is_remote(uri):
        to = inputs / hashlib.sha256(uri.encode()).hexdigest()[:16] / uri.rsplit("/", 1)[-1]
        Bucket(uri.rsplit("/", 1)[0] + "/").get(uri.rsplit("/", 1)[-1], to)
        return to
    path = local_path(uri)
    if path is None or not path.is_file():
        raise ConfigError(f"{what}: found no file {uri}")
    return path.absolute()


def fetch_dir(uri: str, inputs: Path, what: str) -> Path:
    """A directory on this machine, fetched below inputs if it is in an object store."""
    if is_remote(uri):
        to = inputs / hashlib.sha256(uri.encode()).hexdigest()[:16]
        if not Bucket(uri.rstrip("/") + "/").get_all("", to):
            raise DataError(f"{what}: found nothing at {uri}")
        return to
    path = local_path(uri)
    if path is None or not path.is_dir():
        raise ConfigError(f"{what}: found no directory {uri}")
    return path.absolute()


class StoreError(JobError):
    """The store does not answer, or refuses; its client has tried several times."""


class Bucket:
    """A prefix of an S3-compatible store. Credentials and endpoint come from the AWS_* variables.

    Every method raises StoreError if the store fails.
    """

    def __init__(self, uri: str) -> None:
        self._name, _, self._prefix = uri.removeprefix("s3://").partition("/")
        if not self._name or (self._prefix and not self._prefix.endswith("/")):
            raise ConfigError(f"found {uri}; want s3://bucket/prefix/")
        self._client = _client()

    def put(self, name: str, path: Path) -> None:
        """Puts a file under prefix + name."""
        with self._speaking(name):
            self._client.upload_file(str(path), self._name, self._prefix + name)

    def read(self, name: str) -> bytes | None:
        """An object's bytes; None if it is not there."""
        try:
            with self._speaking(name):
                body: bytes = self._client.get_object(Bucket=self._name, Key=self._prefix + name)["Body"].read()
        except _NotThere:
            return None
        return body

    def get(self, name: str, to: Path) -> None:
        """Fetches one object into a file; DataError if it is not there."""
        to.parent.mkdir(parents=True, exist_ok=True)
        try:
            with self._speaking(name):
                self._client.download_file(self._name, self._prefix + name, str(to))
        except _NotThere as err:
            raise DataError(f"found no s3://{self._name}/{self._prefix}{name}") from err

    def names(self, below: str) -> list[str]:
        """Names of all objects below prefix + below."""
        with self._speaking(below):
            pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=self._name, Prefix=self._prefix + below)
            return [o["Key"].removeprefix(self._prefix) for page in pages for o in page.get("Contents", [])]

    def get_all(self, below: str, to: Path) -> int:
        """Fetches everything below into a directory, by the same names; says how many files there were."""
        names = self.names(below)
        for name in names:
            target = to / name.removeprefix(below)
            if not target.resolve().is_relative_to(to.resolve()):
                raise DataError(f"s3://{self._name}/{self._prefix}{name}: the name leads out of its directory")
            self.get(name, target)
        return len(names)

    def put_all(self, path: Path, below: str, last: str) -> None:
        """Puts a directory's files below a prefix, the one named last after all others."""
        for name in sorted(files_below(path), key=lambda n: n == last):
            self.put(below + name, path / name)

    def delete(self, name: str) -> None:
        """Removes an object, if it is there."""
        with self._speaking(name):
            self._client.delete_object(Bucket=self._name, Key=self._prefix + name)

    @contextlib.contextmanager
    def _speaking(self, name: str) -> Iterator[None]:
        from boto3.exceptions import Boto3Error
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            yield
        except (Boto3Error, BotoCoreError, ClientError) as err:
            if isinstance(err, ClientError) and err.response.get("Error", {}).get("Code") in ("NoSuchKey", "404"):
                raise _NotThere from err
            raise StoreError(f"s3://{self._name}/{self._prefix}{name}: {err}") from err


class _NotThere(Exception):
    pass


def _client() -> Any:
    try:
        import boto3
        from botocore.config import Config
    except ImportError as err:
        raise ConfigError("an s3:// address needs the package boto3: install floe-trainer[s3]") from err
    # Stores other than AWS know neither its newer checksums nor buckets as host names.
    style = {"addressing_style": "path"} if os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") else {}
    config = Config(s3=style, request_checksum_calculation="when_required", response_checksum_validation="when_required")
    return boto3.client("s3", config=config)
