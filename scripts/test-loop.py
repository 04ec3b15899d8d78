"""A whole experiment with real parts on the CPU: TRL trains, vLLM serves, the checkpoint is asked and designs.

The model is Qwen3's architecture, tiny and of random weights, so nothing sensible
is learnt, said or designed. What this shows is that the parts fit, through kill -9
of the worker in a training and in a serving, of the trainer and of a server; that a
disturbed training makes the steps of an undisturbed one; that whole models, and jobs
that see the artifact store alone, work too; that cancelling ends a training; and that
nothing is left behind.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(os.environ.get("FLOE_BIN", ROOT / "bin"))
HOME = ROOT / ".cache" / "loop"
DATA = HOME / "data"
MODEL = ROOT / ".cache" / "serve" / "models" / "base"
VLLM = ROOT / ".cache" / "serve" / "venv" / "bin"
TRAINER = ROOT / "trainer" / ".venv" / "bin"
NAME = "smoke-gpu"
MARK = "TEST_LOOP"  # in the environment of every process below us: what is left is found by it

# What a CPU and a model of random weights need otherwise. A token is a byte, so
# prompts are long; answers earn by being short, or there were nothing to learn.
CHANGES = {
    "trainer.model.uri": MODEL, "trainer.learning_rate": 0.01,
    "samples": 32, "trainer.batch": 4, "trainer.rollouts": 2, "trainer.recipe.micro_batch": 8,
    "trainer.recipe.gradient_checkpointing": "false", "trainer.recipe.lora_rank": 8, "trainer.recipe.lora_alpha": 16,
    "trainer.recipe.max_prompt_tokens": 2048, "trainer.recipe.max_answer_tokens": 32,
    "trainer.recipe.trl": '{device: cpu, vllm: "off"}', "trainer.recipe.precision": "fp32",
    "reward.free_tokens": 4, "reward.full_tokens": 32, "reward.length_of": "all",
    "ask.max_tokens": 64, "designer.max_tokens": 64,
    "serve.context": 32768, "serve.args": "[--dtype, float32, --enforce-eager]", "serve.parallel": 4, "ask.concurrency": 4,
    "job.gpus": 0,
}  # fmt: skip
ENV = os.environ | {
    "PATH": os.pathsep.join(map(str, (BIN, TRAINER, VLLM, os.environ["PATH"]))),
    "PYTHONPATH": str(ROOT / "trainer"), "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false",
    "VLLM_CPU_KVCACHE_SPACE": "1", "NO_COLOR": "1", MARK: str(HOME),
}  # fmt: skip
BEGUN = time.monotonic()


def main() -> None:
    """Runs, disturbs, compares, and looks for what is left."""
    shutil.rmtree(HOME, ignore_errors=True)
    DATA.mkdir(parents=True)
    log = (HOME / "services.log").open("w")
    ports = ["--temporal-port", "0", "--ui-port", "0", "--s3-port", "0"]
    services = subprocess.Popen([BIN / "starter", "dev", "--data", DATA, *ports], env=ENV, stdout=log, stderr=log)
    try:
        until("services are ready", lambda: "ready:" in (HOME / "services.log").read_text())
        experiment = run(NAME)
        disturb(experiment)
        check(experiment.wait() == 0, f"the experiment is done (exit code {experiment.returncode})")
        print((HOME / f"{NAME}.log").read_text(), flush=True)
        for number in (0, 1):
            compare(number)
        look_at_attempts()
        look_at_answers()
        look_at_design()
        whole_model()
        cancel()
        services.send_signal(signal.SIGINT)
        check(services.wait(120) == 0, "services and worker stopped in order")
        until("no process is left", lambda: not below(), within=240)
    finally:
        for pid, _ in below():
            os.kill(pid, signal.SIGKILL)
    say("all held")


def run(name: str, *flags: str, **changes: object) -> subprocess.Popen[bytes]:
    """Starts the experiment as a person does."""
    sets = [part for key, value in (CHANGES | changes).items() for part in ("--set", f"{key}={value}")]
    out = (HOME / f"{name}.log").open("w")
    argv: list[str | Path] = [BIN / "starter", "run", ROOT / "examples" / f"{NAME}.yaml", "--name", name, "--data", DATA, *flags, *sets]
    return subprocess.Popen(argv, env=ENV, stdout=out, stderr=subprocess.STDOUT)


def disturb(experiment: subprocess.Popen[bytes]) -> None:
    """Kills the worker in the first training, then while its checkpoint is served; the second training's trainer, then
    its checkpoint's server."""

    def training(but: str = "") -> dict[str, Any] | None:
        assert experiment.poll() is None, (HOME / f"{NAME}.log").read_text()
        made = [p for p in progress() if p["step"] >= 3 and p["phase"] == "training" and p["job_id"] != but]
        return made[0] if made else None

    first = until("the first training has made 3 steps", training, within=900)
    trainer = only("floe_trainer")
    kill_worker()
    check(only("floe_trainer") == trainer, f"the trainer {trainer} did not notice")

    until("the first training is over", lambda: trainer not in [pid for pid, _ in below()], within=900)
    server = until("its checkpoint's server is there", lambda: find("vllm serve"), within=300)[0]
    kill_worker()
    check(server in find("vllm serve"), f"the server {server} did not notice")

    until("the second training has made 3 steps", lambda: training(first["job_id"]), within=900)
    trainer = only("floe_trainer")
    os.kill(trainer, signal.SIGKILL)
    say(f"killed the trainer {trainer}")

    again = until("its next attempt is there", lambda: [p for p in find("floe_trainer") if p != trainer])[0]
    until("the second training is over", lambda: again not in [pid for pid, _ in below()], within=900)
    server = until("its checkpoint's server is there", lambda: find("vllm serve"), within=300)[0]
    os.kill(server, signal.SIGKILL)
    say(f"killed the server {server}")


def kill_worker() -> None:
    """Kills the worker that the services keep up, and waits for the next."""
    worker = until("a worker is there", lambda: find("/worker --data"))[0]
    os.kill(worker, signal.SIGKILL)
    after = until("the next worker is there", lambda: [p for p in find("/worker --data") if p != worker])
    say(f"killed the worker {worker}; the next is {after[0]}")


def compare(number: int) -> None:
    """Trains a round's spec again by hand, undisturbed, and compares step by step."""
    at = HOME / f"by-hand-{number}"
    at.mkdir()
    (at / "spec.json").write_bytes(artifact(f"round-{number}/train/spec.json"))
    told = {"FLOE_JOB_SPEC": str(at / "spec.json"), "FLOE_JOB_DIR": str(at / "job"), "FLOE_JOB_ID": f"by-hand-{number}"}
    begun = time.monotonic()
    done = subprocess.run([TRAINER / "python", "-m", "floe_trainer"], env=ENV | told, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    result = json.loads((at / "job" / "result.json").read_text())
    say(f"round {number} trained by hand: {result['steps_done']} steps in {time.monotonic() - begun:.0f} s")

    files = [a for a in listed() if a.startswith(f"round-{number}/train/")]
    alone = at / "job"
    ids = {line["step"]: line["ids"] for line in lines(*sorted(f for f in files if "/samples/a" in f))}
    want = {line["step"]: line["ids"] for line in map(json.loads, (alone / "samples/a1.jsonl").read_text().splitlines())}
    check(ids == want and len(want) == result["expected_steps"], f"round {number}: the same sample ids in each of {len(ids)} steps")
    data = {line["step"]: line["data"]["reward"] for line in lines(*sorted(f for f in files if "/metrics/a" in f))}
    again = {line["step"]: line["data"]["reward"] for line in map(json.loads, (alone / "metrics/a1.jsonl").read_text().splitlines())}
    close = all(math.isclose(data[step], again[step], rel_tol=1e-6, abs_tol=1e-6) for step in again)
    check(data.keys() == again.keys() and close, f"round {number}: the same rewards, {' '.join(f'{r:.3f}' for r in again.values())}")
    ours = artifact(f"round-{number}/train/checkpoint/adapter_model.safetensors")
    same = ours == (alone / result["final_checkpoint"] / "adapter_model.safetensors").read_bytes()
    say(f"round {number}: its adapter and the one trained by hand {'have the same bytes' if same else 'differ in their bytes'}")


def look_at_attempts() -> None:
    """The first job has one attempt though its worker was killed; the second two, as its trainer was."""
    for number, want in ((0, 1), (1, 2)):
        history = json.loads(artifact(f"round-{number}/train/attempts.json"))
        check(len(history["attempts"]) == want, f"round {number}: {want} attempt{'s' * (want > 1)} of its job")
    again = [line["step"] for line in lines("round-1/train/samples/a2.jsonl")]
    check(again[0] > 1, f"round 1: attempt 2 went on at step {again[0]} of {again[-1]}")


def look_at_answers() -> None:
    """Every model answered every task under its own name, and the three are not one."""
    said, asked = [], []
    for step in ("start/validate", "round-0/validate", "round-1/validate"):
        asking = json.loads(artifact(f"{step}/asking.json"))
        asked.append(asking["model"])
        said.append({a["id"]: a["answer"] for a in lines(f"{step}/answers.jsonl.zst")})
        tally = ", ".join(f"{count} {what}" for what, count in asking["tally"].items() if count)
        say(f"{step}: {asking['model']}, by {asking['server'].split(',')[0]}: {tally}")
    check(len(set(asked)) == 3, f"three models were asked: {', '.join(asked)}")
    check(all(len(s) == 20 for s in said), "each answered all 20 tasks")
    for i, j in ((0, 1), (1, 2)):
        other = sum(said[i][task] != said[j][task] for task in said[i])
        check(other > 0, f"{asked[j]} answers {other} of 20 tasks otherwise than {asked[i]}")


def look_at_design() -> None:
    """The checkpoint was asked for a curriculum. A random model's reply is none, and the last curriculum stays."""
    design = json.loads(artifact("round-0/design/transcript.json"))
    check(design["model"].startswith(f"{NAME}-round-0-"), f"{design['model']} was asked for round 1's curriculum")
    classes = ", ".join(a["class"] for a in design["attempts"])
    check(design["outcome"] == "fallback", f"its replies were {classes}, and the last curriculum stayed")


def whole_model() -> None:
    """Rounds that train all weights, with the jobs' files in the artifact store; each checkpoint has a server of its own."""
    name = f"{NAME}-full"
    changes = {"trainer.recipe.tuning": "full", "trainer.learning_rate": 0.001, "job.files": "store"}
    check(run(name, **changes).wait() == 0, "an experiment of full tuning is done, its jobs' files in the store")
    for number in (0, 1):
        asking = json.loads(artifact(f"round-{number}/validate/asking.json", name))
        one = asking["model"].startswith(f"{name}-round-{number}-") and asking["tally"]["answered"] == 20
        check(one, f"{asking['model']}, by a server of its own, answered all 20 tasks")
    check(not progress(), "no directory of a job that is done is left")


def cancel() -> None:
    """Cancels the same experiment, made anew, in its first training."""
    name = f"{NAME}-cancelled"
    experiment = run(name, "--no-share")
    until("the training of another run has made a step", lambda: [p for p in progress() if p["step"] >= 1], within=900)
    begun = time.monotonic()
    starter("cancel", name)
    check(not find("floe_trainer"), f"cancelled within {time.monotonic() - begun:.0f} s, and its trainer is gone")
    check(experiment.wait(60) != 0, f"who followed it was told (exit code {experiment.returncode})")


def until(what: str, condition: Callable[[], Any], within: float = 120) -> Any:
    """Waits until the condition holds, and says so."""
    deadline = time.monotonic() + within
    while not (found := condition()):
        if time.monotonic() > deadline:
            sys.exit(f"{what}: not within {within:.0f} s; left: {below()}; see {HOME}")
        time.sleep(0.1)
    say(what)
    return found


def say(text: str) -> None:
    """Prints with the time since the start."""
    print(f"[{time.monotonic() - BEGUN:4.0f} s] {text}", flush=True)


def check(holds: bool, what: str) -> None:
    """Ends with what does not hold."""
    if not holds:
        sys.exit(f"does not hold: {what}; see {HOME}")
    say(what)


def progress() -> list[dict[str, Any]]:
    """progress.json of all jobs whose directory is there."""
    found = []
    for path in (DATA / "worker" / "jobs").glob("*/progress.json"):
        with contextlib.suppress(FileNotFoundError):  # a job that is done is removed
            found.append(json.loads(path.read_text()))
    return found


def below() -> list[tuple[int, str]]:
    """All processes that come of this run, and their command lines."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={HOME}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                found.append((int(entry.name), (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()))
        except OSError:
            continue  # it has ended, or is not ours
    return found


def find(text: str) -> list[int]:
    """Processes of this run with a text in their command line."""
    return [pid for pid, line in below() if text in line]


def only(text: str) -> int:
    """The one process of this run with a text in its command line."""
    found = find(text)
    check(len(found) == 1, f"one {text} runs: {found}")
    return found[0]


def starter(*args: str) -> bytes:
    """What the command line prints."""
    return subprocess.run([BIN / "starter", *args, "--data", DATA], env=ENV, check=True, stdout=subprocess.PIPE).stdout


def listed() -> list[str]:
    """Paths of the experiment's artifacts."""
    return [a["path"] for a in json.loads(starter("artifacts", "ls", NAME, "-o", "json"))]


def artifact(path: str, name: str = NAME) -> bytes:
    """One of an experiment's artifacts."""
    return starter("artifacts", "get", name, path, "-O", "-")


def lines(*paths: str) -> list[Any]:
    """JSON lines of artifacts, one after the other."""
    import zstandard

    out = []
    for path in paths:
        body = artifact(path)
        if path.endswith(".zst"):
            body = zstandard.ZstdDecompressor().decompressobj().decompress(body)
        out += [json.loads(line) for line in body.splitlines()]
    return out


if __name__ == "__main__":
    main()
