"""Jobs whose files are in an object store, with the development stack's real S3 server."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from floe_trainer import checkpoint
from floe_trainer.exits import ConfigError, DataError
from floe_trainer.jobdir import JobDir
from floe_trainer.storage import Bucket, StoreError
from tests.conftest import ROOT, Job
from tests.test_jobdir import FIELDS, add

DEVSTACK = Path(os.environ.get("FLOE_DEVSTACK", ROOT / "bin" / "devstack"))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The variables by which S3 clients find the server."""
    assert DEVSTACK.exists(), f"want {DEVSTACK}: make build, or FLOE_DEVSTACK"
    data = tmp_path_factory.mktemp("stack")
    ports = ["--temporal-port", "0", "--ui-port", "0", "--s3-port", "0"]
    p = subprocess.Popen([DEVSTACK, "--data", data, "-q", *ports], stdout=subprocess.PIPE, text=True)
    assert p.stdout is not None
    assert p.stdout.readline(), "the development stack did not start"
    info = json.loads((data / "stack.json").read_text())
    yield {
        "AWS_ENDPOINT_URL_S3": info["s3"] if "://" in info["s3"] else f"http://{info['s3']}",
        "AWS_SHARED_CREDENTIALS_FILE": str(data / "credentials"),
        "AWS_REGION": "us-east-1",
        "BUCKET": info["bucket"],
    }
    p.terminate()
    assert p.wait(timeout=60) == 0


@pytest.fixture
def bucket(store: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Bucket]:
    for name, value in store.items():
        monkeypatch.setenv(name, value)
    return lambda prefix: Bucket(f"s3://{store['BUCKET']}/{tmp_path.name}/{prefix}")


def test_what_is_put_is_there_and_what_is_not_is_said(bucket: Callable[[str], Bucket], tmp_path: Path) -> None:
    b = bucket("x/")
    (tmp_path / "f").write_text("hello")
    b.put("deep/f", tmp_path / "f")
    assert b.read("deep/f") == b"hello"
    assert b.read("nothing") is None
    assert b.names("") == ["deep/f"]
    assert b.get_all("deep/", tmp_path / "back") == 1
    assert (tmp_path / "back" / "f").read_text() == "hello"
    b.delete("deep/f")
    b.delete("deep/f")
    assert b.names("") == []
    with pytest.raises(DataError):
        b.get("nothing", tmp_path / "g")
    with pytest.raises(ConfigError, match="want s3://bucket/prefix/"):
        Bucket("s3://bucket/prefix")


def test_a_store_that_is_away_costs_no_job(bucket: Callable[[str], Bucket], tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    job = JobDir(tmp_path / "job", "j", 1, bucket("away/"))
    job._mirror = bucket("away/")
    job._mirror._name = "no-such-bucket"
    job.progress({"step": 1})
    assert not job.stop_requested()
    assert json.loads((job.root / "progress.json").read_text())["step"] == 1
    assert "progress.json was not put" in capfd.readouterr().out
    with pytest.raises(StoreError, match="no-such-bucket"):
        add(job, 1)
    assert not (job.root / "LATEST").exists()


def test_the_next_attempt_goes_on_on_another_machine(bucket: Callable[[str], Bucket], tmp_path: Path) -> None:
    b = bucket("job/")
    one = JobDir(tmp_path / "one", "j", 1, b)
    one.metrics(1, {"reward": 0.5})
    add(one, 1, keep=1)
    sealed = add(one, 2, keep=1)
    assert sorted({n.split("/")[1] for n in b.names("checkpoints/")}) == ["step-000002"]
    assert b.read("LATEST") == b"step-000002\n"

    two = JobDir(tmp_path / "two", "j", 2, b)
    two.bring_checkpoint()
    two.bring_metrics()
    found = checkpoint.latest(two.checkpoints, str(FIELDS["spec_sha256"]))
    assert found is not None
    assert found.sha256 == sealed.sha256
    assert (two.root / "metrics" / "a1.jsonl").read_text() == (one.root / "metrics" / "a1.jsonl").read_text()


def test_the_manifest_is_put_after_all_files_it_names(
    bucket: Callable[[str], Bucket], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put: list[str] = []
    really = Bucket.put

    def noted(self: Bucket, name: str, path: Path) -> None:
        put.append(name)
        really(self, name, path)

    monkeypatch.setattr(Bucket, "put", noted)
    add(JobDir(tmp_path / "one", "j", 1, bucket("job/")), 3)
    of_it = [n for n in put if n.startswith("checkpoints/")]
    assert len(of_it) == 4
    assert of_it[-1] == "checkpoints/step-000003/manifest.json"
    assert put.index("LATEST") > put.index(of_it[-1])


@pytest.mark.torch
def test_a_whole_job_on_a_machine_that_the_worker_does_not_see(
    job: Callable[..., Job], store: dict[str, str], bucket: Callable[[str], Bucket], dataset: Path, model: Path
) -> None:
    b = bucket("all/")
    b.put("dataset.jsonl.zst", dataset)
    b.put_all(model, "model/", last="config.json")
    j = job()
    said = json.loads(j.spec.read_text())
    root = f"s3://{store['BUCKET']}/{b._prefix}"
    said["dataset"]["uri"], said["base_model"]["uri"] = root + "dataset.jsonl.zst", root + "model/"
    said["expected_steps"], said["settings"]["batch"], said["settings"]["micro_batch"] = 2, 12, 12
    j.spec.write_text(json.dumps(said))
    b.put("spec.json", j.spec)
    out = bucket("out/")
    environ = {**store, "FLOE_JOB_SPEC": root + "spec.json", "FLOE_OUTPUT_URI": root.replace("/all/", "/out/")}
    j.run(**environ)  # type: ignore[arg-type]
    shutil.rmtree(j.dir)

    seen = Path(j.root / "seen")
    out.get_all("", seen)
    result = json.loads((seen / "result.json").read_text())
    assert result["spec_sha256"] == hashlib.sha256(j.spec.read_bytes()).hexdigest()
    final = checkpoint.verify(seen / result["final_checkpoint"])
    assert (final.step, final.sha256) == (2, result["manifest_sha256"])
    assert json.loads((seen / "progress.json").read_text())["phase"] == "done"
    assert {"LATEST", "metrics/a1.jsonl", "samples/a1.jsonl", "log/a1.log"} <= set(out.names(""))
    assert "job.lock" not in out.names("")


def test_a_request_to_stop_in_the_store_is_seen(bucket: Callable[[str], Bucket], tmp_path: Path) -> None:
    b = bucket("stop/")
    (tmp_path / "stop.requested").write_text("2")
    b.put("stop.requested", tmp_path / "stop.requested")
    assert JobDir(tmp_path / "two", "j", 2, b).stop_requested()
    assert not JobDir(tmp_path / "three", "j", 3, b).stop_requested()
