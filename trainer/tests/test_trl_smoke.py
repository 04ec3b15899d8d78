"""Recipe trl with the real TRL on the CPU: whole jobs as processes, killed and stopped as a worker or a scheduler would."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from floe_trainer import checkpoint, dataset, spec, trl_recipe
from tests.conftest import Job, another

pytestmark = pytest.mark.torch
Jobs = Callable[..., Job]


@pytest.fixture(scope="module")
def straight(plain_spec: Callable[..., dict[str, object]], model: Path, tmp_path_factory: pytest.TempPathFactory) -> Job:
    """A job that nothing disturbed: what all others are compared with."""
    j = Job(tmp_path_factory.mktemp("straight"), plain_spec(base_model={"uri": str(model)}))
    j.run()
    return j


def test_a_job_leaves_what_the_contract_says(straight: Job) -> None:
    result, progress = straight.json("result.json"), straight.json("progress.json")
    assert result["steps_done"] == result["expected_steps"] == 6
    assert result["spec_sha256"] == hashlib.sha256(straight.spec.read_bytes()).hexdigest()
    assert (progress["phase"], progress["step"], progress["total_steps"]) == ("done", 6, 6)
    final = checkpoint.verify(straight.dir / result["final_checkpoint"])
    assert (final.sha256, final.step) == (result["manifest_sha256"], 6)
    assert (straight.dir / "LATEST").read_text() == "step-000006\n"
    assert not (straight.dir / "failure").exists()
    roles = {f["path"]: f["role"] for f in final.manifest["files"]}
    assert roles["adapter_model.safetensors"] == roles["adapter_config.json"] == "model"
    assert roles["optimizer.pt"] == roles["trainer_state.json"] == "state"


def test_every_step_takes_the_tasks_that_the_spec_orders(straight: Job) -> None:
    what, _ = spec.read(straight.spec.read_bytes())
    ids = [t.id for t in dataset.read(Path(what.dataset.uri), what.dataset)]
    rows = dataset.order(ids, what)
    assert straight.ids(1) == {step: dataset.step_ids(ids, rows, step, 4) for step in range(1, 7)}


def test_weights_of_the_reward_follow_from_the_answers_of_the_steps_before(straight: Job) -> None:
    answers = within = 0.0
    for line in straight.lines("metrics/a1.jsonl"):
        data = line["data"]
        share = within / answers if answers else 0
        assert data["weight_acc"] == pytest.approx(0.5 + 0.3 * share)
        answers += data["answers"]
        within += data["within_rate"] * data["answers"]
    assert straight.json("result.json")["reward_state"] == {"answers": answers, "within": within}
    assert 0 < within < answers, "the weights never moved: nothing was tested"


def test_training_moves_the_adapter(straight: Job) -> None:
    from safetensors.numpy import load_file

    first, last = (load_file(straight.dir / "checkpoints" / name / "adapter_model.safetensors") for name in ("step-000002", "step-000006"))
    assert any((first[key] != last[key]).any() for key in first)
    assert all(line["data"]["grad_norm"] > 0 for line in straight.lines("metrics/a1.jsonl"))


def test_a_killed_job_goes_on_with_the_same_tasks_and_the_same_rewards(job: Jobs, straight: Job) -> None:
    j = job()
    p = j.start()
    j.wait_for(p, lambda: len(j.lines("metrics/a1.jsonl")) >= 5)  # past the checkpoint of step 4
    p.kill()
    p.wait()
    assert not (j.dir / "result.json").exists()
    j.run(attempt=2)
    assert "resuming from step-000004" in j.log(2)
    assert sorted(j.ids(2)) == [5, 6], "the second attempt made other steps than those that were missing"
    assert j.ids(1, 2) == straight.ids(1)
    assert j.rewards(1, 2) == pytest.approx(straight.rewards(1))
    assert j.json("result.json")["reward_state"] == straight.json("result.json")["reward_state"]
    sealed = checkpoint.verify(j.dir / "checkpoints" / "step-000006")
    assert sealed.manifest["parent"] == checkpoint.verify(j.dir / "checkpoints" / "step-000004").sha256


def test_a_torn_checkpoint_is_passed_over(job: Jobs, straight: Job) -> None:
    j = job()
    shutil.copytree(straight.dir / "checkpoints", j.dir / "checkpoints")
    os.truncate(j.dir / "checkpoints" / "step-000006" / "optimizer.pt", 100)
    (j.dir / "checkpoints" / "step-000004" / checkpoint.MANIFEST).unlink()
    j.run(attempt=2)
    assert "step-000006 is torn" in j.log(2)
    assert "step-000004 is torn" in j.log(2)
    assert "resuming from step-000002" in j.log(2)
    assert sorted(j.ids(2)) == [3, 4, 5, 6]
    assert checkpoint.verify(j.dir / j.json("result.json")["final_checkpoint"]).step == 6


@pytest.mark.parametrize("how", ["stop.requested", "SIGTERM"])
def test_a_job_that_is_asked_to_stop_saves_and_goes_on_when_submitted_again(job: Jobs, straight: Job, how: str) -> None:
    j = job()
    p = j.start()
    j.wait_for(p, lambda: len(j.lines("metrics/a1.jsonl")) >= 2)
    if how == "SIGTERM":
        os.killpg(p.pid, signal.SIGTERM)  # to the group, as schedulers do
    else:
        (j.dir / "stop.requested").write_text("1")
    assert p.wait(timeout=300) == 75, j.log()[-3000:]
    assert j.json("progress.json")["phase"] == "stopped"
    assert how in (j.dir / "failure").read_text()
    made = max(j.ids(1))
    assert made < 6, "the job was over before it was asked to stop"
    assert (j.dir / "LATEST").read_text() == checkpoint.name(made) + "\n"
    j.run(attempt=2)  # a file that names attempt 1 does not stop attempt 2
    assert j.ids(1, 2) == straight.ids(1)
    assert sorted(j.ids(2)) == list(range(made + 1, 7)), "stopping lost a step"
    assert not (j.dir / "failure").exists()


def test_a_killed_referee_costs_nothing(job: Jobs, straight: Job) -> None:
    j = job()
    p = j.start()
    referee = j.wait_for(p, lambda: _child_named(p.pid, "score"))
    j.wait_for(p, lambda: len(j.lines("metrics/a1.jsonl")) >= 1)
    os.kill(referee, signal.SIGKILL)
    assert p.wait(timeout=300) == 0, j.log()[-3000:]
    assert "try 1 of 3" in j.log()
    assert j.rewards(1) == pytest.approx(straight.rewards(1))


def _child_named(pid: int, word: str) -> int | None:
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        if word.encode() in Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0"):
            return int(child)
    return None


def test_the_next_round_starts_from_the_adapter_of_the_last(job: Jobs, straight: Job) -> None:
    last = straight.json("result.json")
    init = {"uri": str(straight.dir / last["final_checkpoint"]), "manifest_sha256": last["manifest_sha256"]}
    reward = json.loads(straight.spec.read_text())["reward"] | {"state": last["reward_state"]}
    # kl > 0 compares with the adapter as it was, and updates = 2 makes two of TRL's steps one of ours.
    j = job(init=init, seed="test/2", reward=reward, settings={"kl": 0.1, "updates": 2})
    j.run()
    result = j.json("result.json")
    assert result["steps_done"] == 6
    assert checkpoint.verify(j.dir / result["final_checkpoint"]).manifest["parent"] == last["manifest_sha256"]
    data = [line["data"] for line in j.lines("metrics/a1.jsonl")]
    assert len(data) == 6
    state = last["reward_state"]
    assert data[0]["weight_acc"] == pytest.approx(0.5 + 0.3 * state["within"] / state["answers"])
    assert max(d["kl"] for d in data) > 0
    assert result["reward_state"]["answers"] == state["answers"] + 48

    # The same from its middle: the adapter that is compared with and the updates within a step come back too.
    half = Job(j.root.parent / "half", json.loads(j.spec.read_text()))
    shutil.copytree(j.dir / "checkpoints" / "step-000002", half.dir / "checkpoints" / "step-000002")
    half.run(attempt=2)
    again = {line["step"]: line["data"] for line in half.lines("metrics/a2.jsonl")}
    assert sorted(again) == [3, 4, 5, 6]
    for step, d in again.items():
        assert d["reward"] == pytest.approx(data[step - 1]["reward"])
        assert d["kl"] == pytest.approx(data[step - 1]["kl"], rel=1e-3)


def test_full_tuning_saves_a_whole_model(job: Jobs) -> None:
    from transformers import AutoModelForCausalLM

    j = job(settings={"tuning": "full"}, epochs=1)
    j.run()
    final = j.dir / j.json("result.json")["final_checkpoint"]
    assert checkpoint.verify(final).manifest["kind"] == "full"
    assert AutoModelForCausalLM.from_pretrained(final).config.model_type == "qwen3"


def test_every_setting_reaches_trl(plain_spec: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trl.GRPOConfig", lambda **said: said)  # what TRL is told; its own checks want a GPU for some of it

    def told(settings: dict[str, Any], **changes: Any) -> dict[str, Any]:
        said = plain_spec(**changes)
        own = settings.pop("trl", {})
        said["settings"] |= settings | {"trl": {"device": "auto"} | own}
        work = types.SimpleNamespace(spec=spec.read(json.dumps(said).encode())[0], job=types.SimpleNamespace(root=Path("/job")))
        return dict(trl_recipe.config(work, "cuda"))  # type: ignore[arg-type]

    # In the dataset and the model rather than in the configuration; the jobs above have them. keep_checkpoints is the job's.
    elsewhere = {"trl", "verl", "tuning", "lora_rank", "lora_alpha", "lora_targets", "save_every", "keep_checkpoints"}
    other = {
        "schedule": "cosine", "loss": "dr_grpo", "advantage": "none", "thinking": True, "precision": "bf16", "chat": False,
        "gradient_checkpointing": True, "batch": 8, "micro_batch": 4, "top_p": 0.5,
    }  # fmt: skip
    base = spec.read(json.dumps(plain_spec()).encode())[0].settings
    for name in vars(base).keys() - elsewhere:
        changed = other.get(name, another(getattr(base, name)))
        assert told({name: changed}, **({"expected_steps": 3} if name == "batch" else {})) != told({}), f"settings.{name} changes nothing"
    for name, changed in {
        "vllm": "off",
        "vllm_memory": 0.6,
        "vllm_sleep": False,
        "optimizer": "adamw_8bit",
        "mask_truncated": True,
    }.items():
        assert told({"trl": {name: changed}}) != told({}), f"settings.trl.{name} changes nothing"


def test_a_gradient_that_is_not_finite_ends_the_job_before_it_is_saved(job: Jobs) -> None:
    j = job(settings={"save_every": 1})
    j.run(want=65, program=("-c", RUIN))
    assert "want finite numbers" in (j.dir / "failure").read_text()
    assert [p.name for p in (j.dir / "checkpoints").iterdir()] == ["step-000001"]
    assert j.lines("metrics/a1.jsonl")[-1]["data"]["grad_norm"] is None
    assert not (j.dir / "result.json").exists()


# The trainer, with a gradient that overflows in the second step.
RUIN = """
import os, sys
from trl import GRPOTrainer
from floe_trainer.run import main

step = GRPOTrainer.training_step

def ruined(self, model, inputs, n):
    loss = step(self, model, inputs, n)
    if self.state.global_step == 1:
        next(p for p in model.parameters() if p.grad is not None).grad.fill_(float("nan"))
    return loss

GRPOTrainer.training_step = ruined
sys.exit(main(os.environ))
"""
