"""Recipe verl as far as a machine without GPUs shows it: a scripted stand-in takes verl's place (tests/stand_in).

Real here: the launcher, the referee and its service, the reward manager, the
parquet, sealing and resuming. Not real: that verl takes these overrides, that it
trains, and what its merger writes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from floe_trainer import checkpoint, spec, verl_command
from floe_trainer.exits import ConfigError
from tests.conftest import Job, another

STAND_IN = str(Path(__file__).parent / "stand_in")
VERL = {"nodes": 1, "gpus_per_node": 1}
Jobs = Callable[..., Job]


@pytest.fixture
def verl_job(job: Jobs) -> Callable[..., Job]:
    def make(name: str = "a", settings: dict[str, Any] | None = None, **changes: Any) -> Job:
        j = job(name, trainer="verl", **changes)
        said = json.loads(j.spec.read_text())
        del said["settings"]["trl"]
        said["settings"] |= {"verl": VERL} | (settings or {})
        j.spec.write_text(json.dumps(said))
        return j

    return make


def run(j: Job, attempt: int = 1, want: int = 0, **script: Any) -> None:
    j.run(attempt, want, PYTHONPATH=STAND_IN, FLOE_STAND_IN=json.dumps(script))


@pytest.mark.torch
def test_a_run_leaves_what_the_contract_says(verl_job: Callable[..., Job]) -> None:
    j = verl_job()
    run(j)
    result = j.json("result.json")
    final = checkpoint.verify(j.dir / result["final_checkpoint"])
    assert (result["steps_done"], final.step, final.manifest["trainer"]) == (6, 6, "verl")
    roles = {f["path"]: f["role"] for f in final.manifest["files"]}
    assert roles["adapter_model.safetensors"] == roles["tokenizer.json"] == "model"
    assert roles["state/global_step_6/actor/model_world_size_1_rank_0.pt"] == "state"
    assert "model.safetensors" not in roles, "the base model is in every checkpoint of its adapter"
    assert json.loads((final.path / "adapter_config.json").read_text())["base_model_name_or_path"]
    assert len(j.lines("samples/a1.jsonl")) == 6
    assert not (j.dir / "verl" / "score.json").exists(), "the token of the run outlived it"


@pytest.mark.torch
def test_its_metrics_are_those_of_the_contract_and_its_weights_move_between_steps(verl_job: Callable[..., Job]) -> None:
    j = verl_job()
    run(j)
    data = [line["data"] for line in j.lines("metrics/a1.jsonl")]
    # Of each group's two answers one has 1 token and one 2; both are free of a penalty.
    assert [d["answers"] for d in data] == [8.0] * 6
    assert [d["weight_acc"] for d in data] == pytest.approx([0.5] + [0.8] * 5)
    assert [d["reward"] for d in data] == pytest.approx([0.5] + [0.2] * 5)
    assert [d["reward"] for d in data] == pytest.approx([d["verl/critic/score/mean"] for d in data])
    assert data[1]["loss"] == 0.25
    assert data[0]["learning_rate"] == 1e-5
    assert j.json("result.json")["reward_state"] == {"answers": 48, "within": 48}


@pytest.mark.torch
def test_a_run_that_dies_goes_on_from_its_checkpoint_with_the_same_tasks(verl_job: Callable[..., Job]) -> None:
    j, straight = verl_job("a"), verl_job("b")
    run(straight)
    run(j, want=70, die_after=5)
    assert "verl ended with 3" in (j.dir / "failure").read_text()
    run(j, attempt=2)
    said = j.json("verl/said.json")
    assert said["trainer.resume_from_path"].endswith("checkpoints/step-000004/state/global_step_4")
    assert j.ids(1, 2) == straight.ids(1)
    assert j.rewards(1, 2) == straight.rewards(1)
    assert j.json("result.json")["reward_state"] == straight.json("result.json")["reward_state"]


@pytest.mark.torch
def test_a_stopped_run_ends_with_75_at_its_latest_checkpoint(verl_job: Callable[..., Job]) -> None:
    j = verl_job(limits={"wall_seconds": 0, "grace_seconds": 2})
    p = j.start(PYTHONPATH=STAND_IN, FLOE_STAND_IN=json.dumps({"wait_after": 3}))
    j.wait_for(p, lambda: len(j.lines("metrics/a1.jsonl")) >= 3)
    (j.dir / "stop.requested").write_text("")
    assert p.wait(timeout=120) == 75
    assert (j.dir / "LATEST").read_text() == "step-000002\n"
    (j.dir / "stop.requested").unlink()
    run(j, attempt=2)
    assert sorted(j.ids(2)) == [3, 4, 5, 6]


@pytest.mark.torch
def test_a_loss_that_is_not_finite_ends_the_run_before_its_step_is_sealed(verl_job: Callable[..., Job]) -> None:
    j = verl_job()
    run(j, want=65, nan_at=4)
    assert "loss not finite" in (j.dir / "failure").read_text()
    assert [p.name for p in (j.dir / "checkpoints").iterdir()] == ["step-000002"]


@pytest.mark.torch
def test_no_step_at_all_is_a_failure_though_verl_ends_with_0(verl_job: Callable[..., Job]) -> None:
    j = verl_job()
    run(j, want=70, no_steps=True)
    assert "made no step" in (j.dir / "failure").read_text()


@pytest.mark.torch
def test_rows_of_the_parquet_are_the_whole_order(verl_job: Callable[..., Job]) -> None:
    from pyarrow import parquet

    j = verl_job(epochs=2, expected_steps=12)
    run(j)
    ids = [row["reward_model"]["ground_truth"] for row in parquet.read_table(j.dir / "verl" / "train.parquet").to_pylist()]
    assert ids == [i for step in range(1, 13) for i in j.ids(1)[step]]
    assert sorted(ids[:24]) == sorted(ids[24:]) == sorted(set(ids))
    assert ids[:24] != ids[24:]


def test_every_setting_reaches_verl(plain_spec: Callable[..., dict[str, Any]]) -> None:
    base = read(plain_spec)
    told = verl_command.overrides(base, PATHS)
    # What only the recipe trl has, and what is not verl's affair.
    elsewhere = {"trl", "verl", "keep_checkpoints", "chat"}
    other = {
        "tuning": "full", "lora_targets": "q_proj,v_proj", "schedule": "cosine", "loss": "dr_grpo", "advantage": "none",
        "thinking": True, "precision": "bf16", "gradient_checkpointing": True, "kl": 0.5, "top_p": 0.5, "batch": 8, "micro_batch": 4,
    }  # fmt: skip
    for name in vars(base.settings).keys() - elsewhere:
        changed = other.get(name, another(getattr(base.settings, name)))
        steps = {"expected_steps": 3} if name == "batch" else {}
        assert verl_command.overrides(read(plain_spec, {name: changed}, **steps), PATHS) != told, f"settings.{name} changes nothing"


def test_overrides_have_each_key_once_and_those_of_the_user_last(plain_spec: Callable[..., dict[str, Any]]) -> None:
    told = verl_command.overrides(read(plain_spec, {"verl": VERL | {"overrides": ["trainer.balance_batch=False"]}}), PATHS)
    keys = [o.split("=")[0] for o in told]
    assert len(set(keys)) == len(keys)
    assert told[-1] == "trainer.balance_batch=False"
    assert all(re.fullmatch(r"\+?[a-zA-Z0-9_.]+=.+", o) for o in told)


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({"chat": False}, "settings.chat"),
        ({"schedule": "linear"}, "settings.schedule"),
        ({"verl": {"gpus_per_node": 3}}, "settings.batch \\* rollouts"),
        ({"verl": {"gpus_per_node": 2, "tensor_parallel": 4}, "micro_batch": 2}, "tensor_parallel"),
    ],
)
def test_what_verl_cannot_do_is_refused(plain_spec: Callable[..., dict[str, Any]], settings: dict[str, Any], fault: str) -> None:
    with pytest.raises(ConfigError, match=fault):
        verl_command.overrides(read(plain_spec, settings), PATHS)


PATHS = verl_command.Paths(Path("/t"), Path("/v"), Path("/c"), "/m", None, None, {"A": "it's"})


def read(plain_spec: Callable[..., dict[str, Any]], settings: dict[str, Any] | None = None, **changes: Any) -> spec.Spec:
    said = plain_spec(trainer="verl", **changes)
    del said["settings"]["trl"]
    said["settings"] |= {"verl": VERL} | (settings or {})
    return spec.read(json.dumps(said).encode())[0]


@pytest.mark.parametrize("line", [b"", b"{", b'{"step":1,"da', b"[]", b'{"step":null,"data":{}}', b'{"step":0,"data":{"val":1}}'])
def test_a_torn_line_of_verl_is_no_step(line: bytes) -> None:
    assert verl_command.to_contract(line) is None
