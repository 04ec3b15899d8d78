"""Recipe verl: GRPO on several GPUs. verl trains in processes of its own; this one prepares, follows and seals."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from floe_trainer import dataset, prompts, verl_command
from floe_trainer.checkpoint import Checkpoint
from floe_trainer.exits import ConfigError, DataError, JobError, NotFinite, Stopped
from floe_trainer.recipe import Trained, Work
from floe_trainer.referee import Referee
from floe_trainer.verl_score import Scores, Service

_LOOK_EVERY = 0.5  # seconds between looks at what verl has written
_LET_GO = 60.0  # seconds that verl has to end after SIGTERM


def train(work: Work) -> Trained:
    """Trains, resuming where the job directory says, and returns the sealed checkpoint of the last step."""
    work.progress.phase("loading")
    if faults := verl_command.faults(work.spec):
        raise ConfigError(*faults)
    home = work.job.root / "verl"
    shutil.rmtree(home / "checkpoints", ignore_errors=True)  # what an earlier attempt left unsealed
    home.mkdir(exist_ok=True)
    model = _model(work)
    tokenizer = prompts.load_tokenizer(model, None, work.spec.settings)
    prompts.check_lengths(tokenizer, work.spec.settings, work.tasks)
    referee = Referee(work.spec.reward, work.dataset)
    start = work.resume.reward_state if work.resume else work.spec.reward.state
    scores = Scores(referee, work.spec.reward.settings, start, work.first_step, work.spec.settings.rollouts)
    service = Service(scores, home / "score.json", loopback=work.spec.settings.for_verl.nodes == 1)
    try:
        run = _Run(work, home, model, prompts.opening(tokenizer, work.spec.settings), scores)
        sealed = run.follow()
    finally:
        service.close()
        referee.close()
    return Trained(sealed, f"{_gpus(work)} by verl", None)


def _model(work: Work) -> str:
    """The directory that verl loads: its own loader takes no revision, so one of the hub is fetched here."""
    if work.init and work.spec.settings.tuning == "full":
        return str(work.init.path)
    if Path(work.base).is_dir():
        return work.base
    from huggingface_hub import snapshot_download

    return str(snapshot_download(work.base, revision=work.spec.base_model.revision))


def _gpus(work: Work) -> str:
    v = work.spec.settings.for_verl
    return f"{v.nodes} x {v.gpus_per_node} GPUs"


class _Run:
    """verl as a child process, and what it writes."""

    def __init__(self, work: Work, home: Path, model: str, opening: str, scores: Scores) -> None:
        self._work, self._home, self._model, self._scores = work, home, model, scores
        self._log = home / f"metrics-a{work.job.attempt}.jsonl"
        self._log.unlink(missing_ok=True)  # of this attempt, started again by a scheduler
        self._scored = 0  # answers, at the last look
        self._logged = self._finite = work.first_step  # the last step whose metrics were seen, and were finite
        self._sealed: Checkpoint | None = None
        self._paths = verl_command.Paths(
            train=home / "train.parquet",
            validation=home / "validation.parquet",
            checkpoints=home / "checkpoints",
            model=model,
            adapter=work.init.path if work.init and work.spec.settings.tuning == "lora" else None,
            resume=_verls(work.resume) if work.resume else None,
            environ={
                "VERL_FILE_LOGGER_PATH": str(self._log),
                "FLOE_VERL_SCORE": str(home / "score.json"),
                "FLOE_VERL_OPENING": opening,
            },
        )

    def follow(self) -> Checkpoint:
        """Runs verl to its end and returns the last step's checkpoint."""
        self._write_data()
        argv = [sys.executable, "-m", "verl.trainer.main_ppo", *verl_command.overrides(self._work.spec, self._paths)]
        print(" ".join(argv), flush=True)
        child = subprocess.Popen(argv, env=os.environ | self._paths.environ, start_new_session=True)
        lines = self._lines()
        try:
            self._work.progress.phase("training", self._work.first_step)
            while child.poll() is None:
                self._look(lines)
                if self._work.stop.reason():
                    return self._stop(child, lines)
                time.sleep(_LOOK_EVERY)
            self._look(lines)
        finally:
            _end(child)
        return self._done(child.returncode)

    def _write_data(self) -> None:
        tasks = [self._work.tasks[row] for row in self._work.rows]
        rows = verl_command.rows(tasks)
        verl_command.write_parquet(self._paths.train, rows)
        verl_command.write_parquet(self._paths.validation, rows[: self._work.spec.settings.batch])

    def _lines(self) -> Iterator[bytes | None]:
        """Whole lines of verl's log as they come; None when there is no more for now."""
        while not self._log.exists():
            yield None
        rest = b""
        with self._log.open("rb") as f:
            while True:
                rest += f.read()
                *whole, rest = rest.split(b"\n")
                yield from whole
                yield None

    def _look(self, lines: Iterator[bytes | None]) -> None:
        """Takes up what verl wrote since the last look: steps first, then a checkpoint of one of them."""
        if self._scores.failure:
            raise self._scores.failure
        if self._scores.answers > self._scored:
            self._scored = self._scores.answers
            self._work.progress.touch()
        try:
            while (line := next(lines)) is not None:
                if made := verl_command.to_contract(line):
                    self._step(*made)
        finally:
            self._seal_newest()

    def _seal_newest(self) -> None:
        """Seals the newest step that verl has saved and logged. verl saves a step before it logs it, and only the log
        tells whether its loss was finite."""
        done = self._sealed.step if self._sealed else self._work.first_step
        saved = [step for step in _saved(self._paths.checkpoints) if done < step <= self._finite]
        if saved:
            self._sealed = self._seal(max(saved))
            for older in saved:
                shutil.rmtree(self._paths.checkpoints / f"global_step_{older}", ignore_errors=True)

    def _step(self, step: int, said: dict[str, float | None]) -> None:
        if step <= self._logged:
            return
        self._logged = step
        epoch = step * self._work.spec.settings.batch / self._work.spec.dataset.rows
        ids = [task.id for task in self._work.tasks]
        self._work.job.samples(step, dataset.step_ids(ids, self._work.rows, step, self._work.spec.settings.batch))
        self._work.progress.step(step, {"epoch": epoch, **self._scores.measured(step), **said})
        bad = [key for key in ("loss", "grad_norm") if key in said and said[key] is None]
        if bad:
            raise NotFinite(f"step {step}: {' and '.join(bad)} not finite. Its weights are not saved")
        self._finite = step

    def _seal(self, step: int) -> Checkpoint:
        """verl's directory as a checkpoint of the contract: its own below state/, beside it the model that a server loads."""
        building = self._home / "sealing"
        shutil.rmtree(building, ignore_errors=True)
        (building / "state").mkdir(parents=True)
        saved = building / "state" / f"global_step_{step}"
        (self._paths.checkpoints / saved.name).rename(saved)
        merged = self._home / "merged"
        shutil.rmtree(merged, ignore_errors=True)
        merge = ["merge", "--backend", "fsdp", "--local_dir", str(saved / "actor"), "--target_dir", str(merged)]
        done = subprocess.run([sys.executable, "-m", "verl.model_merger", *merge], check=False)
        if done.returncode:
            raise JobError(f"verl.model_merger ended with {done.returncode} on step {step}")
        model = merged / "lora_adapter" if self._work.spec.settings.tuning == "lora" else merged
        if not model.is_dir():
            raise JobError(f"verl.model_merger left no {model.name} of step {step}; want the adapter that was trained")
        shutil.copytree(model, building, dirs_exist_ok=True)
        if self._work.spec.settings.tuning == "lora":
            _name_base(building / "adapter_config.json", self._work.spec.base_model.uri)
        prompts.load_tokenizer(self._model, None, self._work.spec.settings).save_pretrained(building)
        shutil.rmtree(merged)
        return self._work.seal(building, step, self._scores.state(step))

    def _stop(self, child: subprocess.Popen[bytes], lines: Iterator[bytes | None]) -> Checkpoint:
        """Waits, for as long as the worker's patience allows, for verl's next checkpoint: it has no way to be asked for one."""
        reason = self._work.stop.reason()
        before, until = self._sealed, time.monotonic() + self._work.spec.limits.grace_seconds / 2
        while child.poll() is None and self._sealed is before and time.monotonic() < until:
            self._look(lines)
            time.sleep(_LOOK_EVERY)
        self._look(lines)
        if self._sealed and self._sealed.step == self._work.spec.expected_steps:
            return self._sealed
        at = self._sealed or self._work.resume
        raise Stopped(f"{reason}; {at.path.name if at else 'no checkpoint'} is the latest")

    def _done(self, code: int) -> Checkpoint:
        if code:
            raise JobError(f"verl ended with {code}; its words are in the log")
        if self._sealed is None:
            raise JobError(f"verl ended with 0 and made no step; want {self._work.spec.expected_steps - self._work.first_step}")
        return self._sealed


def _verls(resume: Checkpoint) -> Path:
    """verl's own directory within a checkpoint."""
    path = resume.path / "state" / f"global_step_{resume.step}"
    if not path.is_dir():
        raise DataError(f"{resume.path.name} has no state of verl; want a checkpoint that recipe verl wrote")
    return path


def _saved(checkpoints: Path) -> list[int]:
    """Steps that verl has finished saving and that are not sealed yet."""
    try:
        text = (checkpoints / "latest_checkpointed_iteration.txt").read_text().strip()
    except FileNotFoundError:
        return []
    last = int(text) if text.isdigit() else 0
    steps = [path.name.removeprefix("global_step_") for path in checkpoints.glob("global_step_*")]
    return [int(step) for step in steps if step.isdigit() and int(step) <= last]


def _name_base(config: Path, base: str) -> None:
    """The merger leaves out which model its adapter belongs to; PEFT and servers read it here."""
    fields = json.loads(config.read_text())
    fields["base_model_name_or_path"] = base
    config.write_text(json.dumps(fields, indent=2))


def _end(child: subprocess.Popen[bytes]) -> None:
    """Ends verl and all that it started in its session."""
    if child.poll() is None:
        os.killpg(child.pid, signal.SIGTERM)
        try:
            child.wait(timeout=_LET_GO)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
