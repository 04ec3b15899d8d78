"""Walks through the steps of a run as verl's trainer does, without a model."""

import asyncio
import importlib.util
import json
import os
import sys
import time
import types
from pathlib import Path

import torch
from pyarrow import parquet
from transformers import AutoTokenizer


def main() -> None:
    said = dict(o.lstrip("+").split("=", 1) for o in sys.argv[1:])
    script = json.loads(os.environ.get("FLOE_STAND_IN", "{}"))
    checkpoints = Path(said["trainer.default_local_dir"])
    (checkpoints.parent / "said.json").write_text(json.dumps(said))
    rows = parquet.read_table(said["data.train_files"]).to_pylist()
    batch, n = int(said["data.train_batch_size"]), int(said["actor_rollout_ref.rollout.n"])
    first = 0
    if said["trainer.resume_mode"] == "resume_path":
        resume = Path(said["trainer.resume_from_path"])
        first = int(resume.name.removeprefix("global_step_"))
        assert (resume / "actor" / "model_world_size_1_rank_0.pt").exists()
    if script.get("no_steps"):
        return
    with open(os.environ["VERL_FILE_LOGGER_PATH"], "wb", buffering=0) as log:
        for step in range(first + 1, int(said["trainer.total_training_steps"]) + 1):
            rewards = asyncio.run(score(said, step, rows[(step - 1) * batch : step * batch], n))
            saves = step % int(said["trainer.save_freq"]) == 0 or step == int(said["trainer.total_training_steps"])
            if saves:
                save(checkpoints, step)
            loss = None if script.get("nan_at") == step else 0.5 / step  # orjson writes NaN as null
            data = {"actor/pg_loss": loss, "actor/grad_norm": 0.1, "actor/lr": 1e-5, "actor/entropy": 1.5, "training/global_step": step}
            data["critic/score/mean"] = sum(rewards) / len(rewards)
            log.write(json.dumps({"step": step, "data": data}).encode() + b"\n")
            if script.get("wait_after") == step:
                time.sleep(600)  # until it is stopped
            if script.get("die_after") == step:
                sys.exit(3)


async def score(said, step, rows, n):
    path = said["reward.reward_manager.module.path"]
    found = importlib.util.spec_from_file_location("custom_module", path)
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    config = types.SimpleNamespace(data=types.SimpleNamespace(max_response_length=int(said["data.max_response_length"])))
    tokenizer = AutoTokenizer.from_pretrained(said["actor_rollout_ref.model.path"])
    manager = getattr(module, said["reward.reward_manager.name"])(config=config, tokenizer=tokenizer, compute_score=None)
    items = [item(tokenizer, step, row, k) for row in rows for k in range(n)]
    return [r["reward_score"] for r in await asyncio.gather(*(manager.run_single([i]) for i in items))]


def item(tokenizer, step, row, k):
    """An answer of k + 1 tokens, the last of which ends it, padded as verl pads."""
    answer = [*tokenizer("x" * k)["input_ids"], tokenizer.eos_token_id]
    padded = torch.tensor(answer + [tokenizer.pad_token_id] * (16 - len(answer)))
    mask = torch.tensor([1] * 8 + [1] * len(answer) + [0] * (16 - len(answer)))  # eight of the prompt
    return types.SimpleNamespace(
        batch={"responses": padded, "attention_mask": mask},
        non_tensor_batch={"global_steps": step, "reward_model": row["reward_model"]},
    )


def save(checkpoints, step):
    actor = checkpoints / f"global_step_{step}" / "actor"
    actor.mkdir(parents=True)
    (actor / "model_world_size_1_rank_0.pt").write_text(f"weights after step {step}")
    (actor.parent / "data.pt").write_text("loader")
    (checkpoints / "latest_checkpointed_iteration.txt").write_text(str(step))


main()
