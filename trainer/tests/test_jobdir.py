"""What an attempt leaves, and how the next finds it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from floe_trainer import checkpoint, files, progress
from floe_trainer.exits import Busy, ConfigError, DataError
from floe_trainer.jobdir import JobDir
from floe_trainer.progress import Progress, Stop
from floe_trainer.spec import Limits, RewardState

FIELDS = {"kind": "lora", "trainer": "trl", "spec_sha256": "s" * 64, "parent": None, "reward_state": {"answers": 8, "within": 3}}


def saved(root: Path, step: int, **fields: object) -> Path:
    path = root / f"saved-{step}"
    (path / "deep").mkdir(parents=True)
    (path / "adapter_model.safetensors").write_text(f"weights {step}")
    (path / "deep" / "optimizer.pt").write_text("moments")
    (path / "rng_state.pth").write_text("dice")
    return path


def add(job: JobDir, step: int, keep: int = 0, **fields: object) -> checkpoint.Checkpoint:
    return job.add_checkpoint(saved(job.root, step), {"step": step, **FIELDS, **fields}, keep)


def test_a_checkpoint_is_found_by_the_next_attempt(tmp_path: Path) -> None:
    job = JobDir(tmp_path, "j", 1)
    add(job, 2)
    sealed = add(job, 10)
    found = checkpoint.latest(job.checkpoints, "s" * 64)
    assert found == sealed
    assert found is not None
    assert (found.step, found.reward_state) == (10, RewardState(8, 3))
    assert (tmp_path / "LATEST").read_text() == "step-000010\n"
    assert {f["path"]: f["role"] for f in found.manifest["files"]} == {
        "adapter_model.safetensors": "model",
        "deep/optimizer.pt": "model",
        "rng_state.pth": "state",
    }


@pytest.mark.parametrize("damage", ["cut", "changed", "gone", "no manifest", "torn manifest", "empty manifest", "foreign manifest"])
def test_a_damaged_checkpoint_is_passed_over(tmp_path: Path, damage: str, capfd: pytest.CaptureFixture[str]) -> None:
    job = JobDir(tmp_path, "j", 1)
    add(job, 1)
    path = add(job, 2).path
    weights, manifest = path / "adapter_model.safetensors", path / checkpoint.MANIFEST
    match damage:
        case "cut":
            os.truncate(weights, 3)
        case "changed":
            weights.write_text("weights 3")
        case "gone":
            weights.unlink()
        case "no manifest":
            manifest.unlink()
        case "torn manifest":
            os.truncate(manifest, manifest.stat().st_size // 2)
        case "empty manifest":
            manifest.write_text("{}")
        case "foreign manifest":
            manifest.write_text('{"schema":"other/v1"}')
    found = checkpoint.latest(job.checkpoints, "s" * 64)
    assert found is not None
    assert found.step == 1
    assert "step-000002 is torn and passed over" in capfd.readouterr().out


def test_a_checkpoint_of_another_spec_is_refused(tmp_path: Path) -> None:
    job = JobDir(tmp_path, "j", 1)
    add(job, 1, spec_sha256="o" * 64)
    with pytest.raises(ConfigError, match="was written for the spec oooo"):
        checkpoint.latest(job.checkpoints, "s" * 64)


def test_only_the_newest_checkpoints_stay(tmp_path: Path) -> None:
    job = JobDir(tmp_path, "j", 1)
    for step in (1, 2, 999_999, 1_000_000):
        add(job, step, keep=2)
    assert sorted(p.name for p in job.checkpoints.iterdir()) == ["step-1000000", "step-999999"]
    found = checkpoint.latest(job.checkpoints, "s" * 64)
    assert found is not None
    assert found.step == 1_000_000


def test_an_init_is_the_one_that_the_spec_means(tmp_path: Path) -> None:
    sealed = add(JobDir(tmp_path, "j", 1), 4)
    assert checkpoint.initial(sealed.path, sealed.sha256, "lora") == sealed
    with pytest.raises(ConfigError, match="is of kind lora; want settings.tuning = full"):
        checkpoint.initial(sealed.path, sealed.sha256, "full")
    with pytest.raises(DataError, match="has sha256"):
        checkpoint.initial(sealed.path, "0" * 64, "lora")
    (sealed.path / "rng_state.pth").unlink()
    with pytest.raises(DataError, match="rng_state.pth: No such file"):
        checkpoint.initial(sealed.path, sealed.sha256, "lora")


def test_two_programs_do_not_train_in_one_directory(tmp_path: Path) -> None:
    job = JobDir(tmp_path, "j", 1)
    (tmp_path / "failure").write_text("kept")
    with pytest.raises(Busy, match="another program trains here"):
        JobDir(tmp_path, "j", 2)
    assert (tmp_path / "failure").read_text() == "kept", "the second program touched the first one's files"
    del job


@pytest.mark.parametrize(("text", "stops"), [("", True), ("2", True), ("3\n", True), ("1", False), ("all of them", True)])
def test_a_request_to_stop_means_the_attempt_it_names(tmp_path: Path, text: str, stops: bool) -> None:
    job = JobDir(tmp_path, "j", 2)
    stop = Stop(job, Limits())
    assert stop.reason() is None
    (tmp_path / "stop.requested").write_text(text)
    assert (stop.reason() is not None) == stops


def test_an_attempt_stops_itself_before_its_time_is_up(tmp_path: Path) -> None:
    job = JobDir(tmp_path, "j", 1)
    assert Stop(job, Limits(wall_seconds=10, grace_seconds=10)).reason() == "limits.wall_seconds reached"
    assert Stop(job, Limits(wall_seconds=1000, grace_seconds=10)).reason() is None


def test_a_line_behind_a_torn_one_is_whole(tmp_path: Path) -> None:
    job = JobDir(tmp_path, "j", 1)
    job.metrics(1, {"reward": 0.5})
    path = tmp_path / "metrics" / "a1.jsonl"
    with path.open("a") as f:
        f.write('{"step":2,"ti')
    job.metrics(3, {"reward": None})
    lines = path.read_text().splitlines()
    assert [json.loads(lines[i])["step"] for i in (0, 2)] == [1, 3]
    assert progress.summarise(tmp_path / "metrics")["last"] == {"reward": None}


def test_numbers_that_json_lacks_are_null(tmp_path: Path) -> None:
    job = JobDir(tmp_path, "j", 1)
    told = Progress(job, 4)
    told.phase("training", 0)
    told.step(1, {"loss": float("nan"), "grad_norm": float("inf"), "reward": 0.25})
    line = json.loads((tmp_path / "metrics" / "a1.jsonl").read_text())
    assert (line["data"]["loss"], line["data"]["grad_norm"], line["data"]["reward"]) == (None, None, 0.25)
    with pytest.raises(ValueError, match="Out of range"):
        files.json_bytes({"loss": float("nan")})


def test_progress_says_how_long_is_left(tmp_path: Path) -> None:
    job = JobDir(tmp_path, "j", 3)
    told = Progress(job, 10)
    told.phase("loading")
    first = json.loads((tmp_path / "progress.json").read_text())
    assert (first["phase"], first["step_seconds"], first["remaining_seconds"], first["metrics"]) == ("loading", None, None, {})
    told.phase("training", 4)
    told.step(5, {"answers": 8, "answer_tokens": 10})
    now = json.loads((tmp_path / "progress.json").read_text())
    assert (now["step"], now["total_steps"], now["attempt"], now["job_id"]) == (5, 10, 3, "j")
    assert now["remaining_seconds"] == pytest.approx(5 * now["step_seconds"], abs=0.11)


def test_the_summary_takes_each_step_from_its_latest_attempt(tmp_path: Path) -> None:
    for attempt, steps in ((1, {1: 0.1, 2: 0.2, 3: 9.0}), (2, {3: 0.3, 4: 0.5})):
        job = JobDir(tmp_path / str(attempt), "j", attempt)
        for step, value in steps.items():
            job.metrics(step, {"reward": value})
        (tmp_path / "all").mkdir(exist_ok=True)
        (job.root / "metrics" / f"a{attempt}.jsonl").rename(tmp_path / "all" / f"a{attempt}.jsonl")
    assert progress.summarise(tmp_path / "all") == {"first": {"reward": 0.1}, "last": {"reward": 0.5}, "mean": {"reward": 0.5}}


def test_a_directory_has_the_digest_that_the_documentation_says(tmp_path: Path) -> None:
    import subprocess

    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "x").write_text("1")
    (tmp_path / "a").write_text("2")
    shell = "find . -type f -printf '%P\\n' | LC_ALL=C sort | xargs -d '\\n' sha256sum | sha256sum"
    want = subprocess.run(["sh", "-c", shell], cwd=tmp_path, capture_output=True, text=True, check=True).stdout.split()[0]
    assert files.tree_sha256(tmp_path) == want
