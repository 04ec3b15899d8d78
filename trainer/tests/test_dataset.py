"""The dataset and the order of its tasks."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from floe_trainer import dataset, spec
from floe_trainer.exits import ConfigError, DataError
from floe_trainer.spec import DatasetRef


def ref(path: Path, rows: int) -> DatasetRef:
    return DatasetRef(str(path), hashlib.sha256(path.read_bytes()).hexdigest(), rows)


def test_plain_and_packed_files_have_the_same_tasks(dataset_file: Path, tmp_path: Path) -> None:
    plain = tmp_path / "plain.jsonl"
    plain.write_bytes(zstandard.ZstdDecompressor().stream_reader(dataset_file.open("rb")).read())
    tasks = dataset.read(dataset_file, ref(dataset_file, 24))
    assert tasks == dataset.read(plain, ref(plain, 24))
    assert len({t.id for t in tasks}) == 24


@pytest.fixture
def dataset_file(request: pytest.FixtureRequest) -> Path:
    found: Path = request.getfixturevalue("dataset")
    return found


@pytest.mark.parametrize(
    ("text", "rows", "fault"),
    [
        ('{"id":"a","prompt":"x"}\n', 2, "found 1 rows; want 2"),
        ('{"id":"a","prompt":"x"}\n{"id":"a","prompt":"y"}\n', 2, "found ids more than once: a"),
        ('{"id":"a"}\n', 1, "line 1: found no prompt; want a string"),
        ('{"id":1,"prompt":"x"}\n', 1, "line 1: found no id; want a string"),
        ('[]\n{"id":"b","prompt":"x"}\nno\n', 3, "line 1: found no id.*line 3: Expecting value"),
    ],
)
def test_a_broken_file_is_refused_with_its_lines(tmp_path: Path, text: str, rows: int, fault: str) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text(text)
    with pytest.raises(DataError, match=fault):
        dataset.read(path, ref(path, rows))


def test_another_file_than_the_spec_means_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text('{"id":"a","prompt":"x"}\n')
    with pytest.raises(DataError, match="found sha256"):
        dataset.read(path, dataclasses.replace(ref(path, 1), sha256="0" * 64))
    with pytest.raises(ConfigError, match="No such file"):
        dataset.read(tmp_path / "none", ref(path, 1))


def test_a_torn_packed_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl.zst"
    path.write_bytes(zstandard.ZstdCompressor().compress(b'{"id":"a","prompt":"x"}\n' * 1000)[:-4])
    with pytest.raises(DataError):
        dataset.read(path, ref(path, 1000))


def make(plain_spec: Callable[..., dict[str, Any]], epochs: int, rows: int, batch: int, seed: str = "s") -> spec.Spec:
    said = plain_spec(epochs=epochs, seed=seed, expected_steps=-(-epochs * rows // batch))
    said["dataset"]["rows"] = rows
    said["settings"] |= {"batch": batch, "micro_batch": 1}
    return spec.read(json.dumps(said).encode())[0]


def test_epochs_stand_one_after_the_other_each_in_an_order_of_its_own(plain_spec: Callable[..., dict[str, Any]]) -> None:
    ids = [f"t{i}" for i in range(10)]
    rows = dataset.order(ids, make(plain_spec, 2, 10, 5))
    assert len(rows) == 20
    assert sorted(rows[:10]) == sorted(rows[10:]) == list(range(10))
    assert rows[:10] != rows[10:]
    assert rows != dataset.order(ids, make(plain_spec, 2, 10, 5, seed="another"))


def test_the_order_depends_on_ids_and_not_on_the_order_of_the_file(plain_spec: Callable[..., dict[str, Any]]) -> None:
    ids = [f"t{i}" for i in range(10)]
    what = make(plain_spec, 1, 10, 5)
    back = ids[::-1]
    assert [ids[r] for r in dataset.order(ids, what)] == [back[r] for r in dataset.order(back, what)]


def test_the_order_is_that_of_the_documentation() -> None:
    # sha256 of "s/0/a", "s/0/b", "s/0/c", as any other implementation computes it.
    digests = {i: hashlib.sha256(f"s/0/{i}".encode()).hexdigest() for i in "abc"}
    assert [("abc")[r] for r in dataset.epoch_order(list("abc"), "s", 0)] == sorted("abc", key=digests.__getitem__)
    assert [("abc")[r] for r in dataset.epoch_order(list("abc"), "s", 0)] == ["a", "c", "b"]


@pytest.mark.parametrize(("epochs", "rows", "batch"), [(2, 7, 4), (1, 3, 10), (3, 5, 5), (1, 1, 7)])
def test_the_last_step_is_filled_from_the_epoch_that_would_come_next(
    plain_spec: Callable[..., dict[str, Any]], epochs: int, rows: int, batch: int
) -> None:
    what = make(plain_spec, epochs, rows, batch)
    ids = [f"t{i}" for i in range(rows)]
    found = dataset.order(ids, what)
    assert len(found) == what.steps * batch
    assert what.padded == len(found) - epochs * rows
    filling = dataset.epoch_order(ids, "s", epochs)
    assert found[epochs * rows :] == (filling * batch)[: what.padded]
