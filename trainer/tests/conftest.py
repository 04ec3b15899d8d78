"""Real things to test with: the Go referee, a dataset that it drew, a tiny model, and jobs as processes."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import tiny

ROOT = Path(__file__).resolve().parents[2]
STARTER = Path(os.environ.get("FLOE_STARTER", ROOT / "bin" / "starter"))
EXPERIMENT = """
name: tiny
samples: 24
seed: 3
validation: {instances: 3}
curriculum: {sizes: {3x3: {data_ratio: 1, hole_ratio: 0.1, wait_ratio: 0.25}}}
"""


@pytest.fixture(scope="session")
def starter() -> str:
    """The program with the referee; without it nothing here can be tested."""
    assert STARTER.exists(), f"want {STARTER}: go build -o bin/starter ./starter, or FLOE_STARTER"
    return str(STARTER)


@pytest.fixture(scope="session")
def dataset(starter: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """24 tasks that the program drew."""
    home = tmp_path_factory.mktemp("dataset")
    (home / "tiny.yaml").write_text(EXPERIMENT)
    to = home / "tiny.jsonl.zst"
    subprocess.run([starter, "dataset", "build", "tiny.yaml", "--round", "0", "--out", str(to)], cwd=home, check=True, capture_output=True)
    return to


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny model's directory."""
    to = tmp_path_factory.mktemp("model")
    tiny.build(to)
    return to


@pytest.fixture(scope="session")
def plain_spec(starter: str, dataset: Path) -> Callable[..., dict[str, Any]]:
    """Makes specs: 24 tasks, 4 a step, 6 steps, with a reward that pays every answer for being short."""

    def make(**changes: Any) -> dict[str, Any]:
        return {
            "schema": "floe.job/v1",
            "trainer": "trl",
            "base_model": {"uri": "/nowhere"},
            "dataset": {"uri": str(dataset), "sha256": hashlib.sha256(dataset.read_bytes()).hexdigest(), "rows": 24},
            "reward": {
                "referee": [starter, "score"],
                "environment": "lake",
                "settings": {"floor": 0.3, "free_tokens": 2, "full_tokens": 16,
                             "accuracy_low": 0.5, "accuracy_top": 0.8, "length_of": "all"},
                "state": {"answers": 0, "within": 0},
            },
            "epochs": 1,
            "seed": "test/1",
            "expected_steps": 6,
            "settings": {"lora_rank": 4, "lora_alpha": 8, "learning_rate": 0.01, "warmup_steps": 0, "rollouts": 2, "batch": 4,
                         "micro_batch": 8, "max_prompt_tokens": 2048, "max_answer_tokens": 16, "precision": "fp32",
                         "gradient_checkpointing": False, "save_every": 2, "keep_checkpoints": 0, "trl": {"device": "cpu"}},
        } | changes  # fmt: skip

    return make


def another(value: Any) -> Any:
    """A number that a setting of this value may have too."""
    return (value / 2 or 0.25) if isinstance(value, float) else (value * 2 or 3)


class Job:
    """A job directory, and attempts on it as processes."""

    def __init__(self, root: Path, spec: dict[str, Any]) -> None:
        self.root, self.dir = root, root / "job"
        root.mkdir(parents=True, exist_ok=True)
        self.spec = root / "spec.json"
        self.spec.write_text(json.dumps(spec))
        self.procs: list[subprocess.Popen[str]] = []

    def start(self, attempt: int = 1, program: tuple[str, ...] = ("-m", "floe_trainer"), **environ: str) -> subprocess.Popen[str]:
        """Starts an attempt."""
        env = os.environ | {
            "FLOE_JOB_SPEC": str(self.spec), "FLOE_JOB_DIR": str(self.dir), "FLOE_JOB_ID": f"tiny-r0-train-a{attempt}",
            "FLOE_ATTEMPT": str(attempt), "HF_HUB_OFFLINE": "1", "PYTHONUNBUFFERED": "1",
            "TOKENIZERS_PARALLELISM": "false", "OMP_NUM_THREADS": "1",
        } | environ  # fmt: skip
        p = subprocess.Popen([sys.executable, *program], env=env, cwd=ROOT / "trainer", text=True,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)  # fmt: skip
        self.procs.append(p)
        return p

    def run(self, attempt: int = 1, want: int = 0, program: tuple[str, ...] = ("-m", "floe_trainer"), **environ: str) -> None:
        """Runs an attempt and checks its exit code."""
        code = self.start(attempt, program, **environ).wait(timeout=600)
        assert code == want, f"exit code {code}; want {want}: {self.log(attempt)[-3000:]}"

    def log(self, attempt: int = 1) -> str:
        path = self.dir / "log" / f"a{attempt}.log"
        return path.read_text() if path.exists() else "(no log)"

    def json(self, name: str) -> Any:
        return json.loads((self.dir / name).read_text())

    def lines(self, name: str) -> list[Any]:
        path = self.dir / name
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def ids(self, *attempts: int) -> dict[int, list[str]]:
        """Tasks of every step, later attempts over earlier ones."""
        return {line["step"]: line["ids"] for a in attempts for line in self.lines(f"samples/a{a}.jsonl")}

    def rewards(self, *attempts: int) -> dict[int, float]:
        """Reward of every step, later attempts over earlier ones."""
        return {line["step"]: line["data"]["reward"] for a in attempts for line in self.lines(f"metrics/a{a}.jsonl")}

    def wait_for(self, p: subprocess.Popen[str], condition: Callable[[], Any]) -> Any:
        """Waits until the condition holds, or the attempt ends."""
        deadline = time.monotonic() + 300
        while not (found := condition()):
            assert p.poll() is None, f"ended with {p.returncode} before the condition held: {self.log()[-3000:]}"
            assert time.monotonic() < deadline, f"the condition did not hold in time: {self.log()[-3000:]}"
            time.sleep(0.05)
        return found

    def end(self) -> None:
        for p in self.procs:
            if p.poll() is None:
                p.kill()
                p.wait()


@pytest.fixture
def job(tmp_path: Path, plain_spec: Callable[..., dict[str, Any]], model: Path) -> Iterator[Callable[..., Job]]:
    """Makes jobs on the tiny model; what runs at the end of the test is killed."""
    yield from _jobs(tmp_path, plain_spec, model)


@pytest.fixture
def idle_job(tmp_path: Path, plain_spec: Callable[..., dict[str, Any]]) -> Iterator[Callable[..., Job]]:
    """Makes jobs that end before their model is loaded; what they have for one is no model."""
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}")
    yield from _jobs(tmp_path, plain_spec, tmp_path / "model")


def _jobs(root: Path, plain_spec: Callable[..., dict[str, Any]], model: Path) -> Iterator[Callable[..., Job]]:
    made: list[Job] = []

    def make(name: str = "a", settings: dict[str, Any] | None = None, **changes: Any) -> Job:
        spec = plain_spec(base_model={"uri": str(model)}, **changes)
        spec["settings"] |= settings or {}
        made.append(Job(root / name, spec))
        return made[-1]

    yield make
    for one in made:
        one.end()
        with contextlib.suppress(OSError):
            shutil.rmtree(one.dir / "trl")
