"""Attempts that end before anything is trained: their exit codes and their words. No TRL is loaded for them."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from floe_trainer import checkpoint
from floe_trainer.jobdir import JobDir
from tests.conftest import ROOT, Job

Jobs = Callable[..., Job]


def failure(j: Job) -> str:
    return (j.dir / "failure").read_text()


def test_a_bad_spec_ends_with_78_and_all_its_faults(idle_job: Jobs) -> None:
    j = idle_job(epochs=0, expected_steps="six")
    j.run(want=78)
    assert "epochs: found 0" in failure(j)
    assert "expected_steps: found" in failure(j)
    assert failure(j).count("\n") == 1
    assert "floe_trainer: spec.json: epochs" in j.log()


def test_a_missing_environment_ends_with_78(tmp_path: Path) -> None:
    env = {k: v for k, v in os.environ.items() if not k.startswith("FLOE_")} | {"FLOE_ATTEMPT": "0", "FLOE_OUTPUT_URI": "/x"}
    p = subprocess.run([sys.executable, "-m", "floe_trainer"], env=env, cwd=ROOT / "trainer", capture_output=True, text=True, check=False)
    assert p.returncode == 78
    for want in (
        "FLOE_JOB_SPEC is not set",
        "FLOE_JOB_DIR is not set",
        "FLOE_JOB_ID is not set",
        "FLOE_ATTEMPT is '0'",
        "FLOE_OUTPUT_URI is '/x'",
    ):
        assert want in p.stderr


def test_a_dataset_of_another_digest_ends_with_65(idle_job: Jobs) -> None:
    j = idle_job()
    said = json.loads(j.spec.read_text())
    said["dataset"]["sha256"] = "0" * 64
    j.spec.write_text(json.dumps(said))
    j.run(want=65)
    assert "found sha256" in failure(j)


def test_a_base_model_of_another_digest_ends_with_65(idle_job: Jobs) -> None:
    j = idle_job()
    said = json.loads(j.spec.read_text())
    said["base_model"]["sha256"] = "0" * 64
    j.spec.write_text(json.dumps(said))
    j.run(want=65)
    assert "found tree sha256" in failure(j)


@pytest.mark.torch
def test_a_prompt_that_is_too_long_ends_with_65_before_training(job: Jobs) -> None:
    j = job(settings={"max_prompt_tokens": 1000})
    j.run(want=65)
    assert "24 prompts have more than settings.max_prompt_tokens = 1000 tokens" in failure(j)


def test_a_second_program_on_the_directory_ends_with_69(idle_job: Jobs) -> None:
    j = idle_job()
    held = JobDir(j.dir, "held", 1)
    j.run(attempt=2, want=69)
    assert not (j.dir / "failure").exists()
    del held


def test_resume_none_refuses_a_directory_with_a_checkpoint(idle_job: Jobs) -> None:
    j = idle_job(resume="none")
    seal(j, 2)
    j.run(want=78)
    assert "found step-000002 in the job directory; want none" in failure(j)


def test_a_directory_of_another_spec_ends_with_78(idle_job: Jobs) -> None:
    j = idle_job()
    seal(j, 2, spec_sha256="0" * 64)
    j.run(want=78)
    assert "was written for the spec 0000" in failure(j)


def test_an_attempt_after_the_last_step_only_writes_the_result(idle_job: Jobs) -> None:
    j = idle_job()
    sealed = seal(j, 6)
    j.run(attempt=3)
    result = j.json("result.json")
    assert (result["steps_done"], result["manifest_sha256"], result["attempt"]) == (6, sealed.sha256, 3)
    assert result["reward_state"] == {"answers": 48, "within": 20}
    assert not (j.dir / "failure").exists()


def test_a_request_that_is_there_before_the_first_step_stops_the_attempt(idle_job: Jobs) -> None:
    j = idle_job()
    j.dir.mkdir()
    (j.dir / "stop.requested").write_text("")
    j.run(want=75)
    assert "stop.requested found before the first step" in failure(j)
    assert j.json("progress.json")["phase"] == "stopped"


@pytest.mark.parametrize("what", ["base_model", "dataset", "init"])
def test_an_input_that_is_not_there_ends_with_78(idle_job: Jobs, what: str) -> None:
    j = idle_job()
    said = json.loads(j.spec.read_text())
    said[what] = {**(said.get(what) or {"manifest_sha256": "0" * 64}), "uri": "/nowhere/at/all"}
    j.spec.write_text(json.dumps(said))
    j.run(want=78)
    assert f"{what}.uri: found no" in failure(j)


def test_no_secret_of_the_environment_is_in_what_the_job_leaves(idle_job: Jobs) -> None:
    j = idle_job(epochs=0)
    j.run(want=78, AWS_SECRET_ACCESS_KEY="hunter2-hunter2", HF_TOKEN="hf_hunter2")
    for path in j.dir.rglob("*"):
        if path.is_file():
            assert b"hunter2" not in path.read_bytes(), path


def seal(j: Job, step: int, **fields: object) -> checkpoint.Checkpoint:
    """A checkpoint as an earlier attempt would have left it."""
    saved = j.root / "saved"
    saved.mkdir()
    (saved / "adapter_model.safetensors").write_text("weights")
    said = {
        "step": step, "kind": "lora", "trainer": "trl", "spec_sha256": hashlib.sha256(j.spec.read_bytes()).hexdigest(),
        "parent": None, "reward_state": {"answers": 48, "within": 20}, **fields,
    }  # fmt: skip
    held = JobDir(j.dir, "j", 1)
    sealed = held.add_checkpoint(saved, said, 0)
    held._lock.close()
    shutil.rmtree(j.dir / "log", ignore_errors=True)
    return sealed
