"""One attempt, from the environment's variables to the exit code (docs/jobs.md)."""

from __future__ import annotations

import hashlib
import importlib.metadata
import sys
import traceback
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from floe_trainer import __version__, checkpoint, dataset, files, progress, spec, storage
from floe_trainer.exits import ConfigError, DataError, Exit, JobError, Stopped
from floe_trainer.jobdir import JobDir
from floe_trainer.progress import Progress, Stop
from floe_trainer.recipe import Recipe, Trained, Work, versions
from floe_trainer.spec import Spec


def main(environ: Mapping[str, str]) -> int:
    """Runs the attempt that the environment describes and returns its exit code."""
    job: JobDir | None = None
    try:
        told = _Told.read(environ)
        mirror = storage.Bucket(told.output_uri) if told.output_uri else None
        job = JobDir(told.job_dir, told.job_id, told.attempt, mirror)
        job.keep_log()
        _attempt(told, job)
        return Exit.DONE
    except JobError as err:
        return _ended(job, err.code, str(err))
    except Exception as err:  # noqa: BLE001 - the one place where an unforeseen error becomes an exit code
        traceback.print_exc()
        return _ended(job, Exit.INTERNAL, f"{type(err).__name__}: {err}")
    finally:
        sys.stdout.flush()


def _ended(job: JobDir | None, code: Exit, reason: str) -> int:
    print(f"floe_trainer: {reason}", file=sys.stderr, flush=True)
    if job is not None:
        try:
            job.failure(reason)
        except Exception:  # noqa: BLE001 - a full disk or a lost store must not hide the first reason
            traceback.print_exc()
    return code


@dataclass(frozen=True)
class _Told:
    """What the environment says."""

    spec_uri: str
    job_dir: Path
    job_id: str
    attempt: int
    output_uri: str | None

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> _Told:
        faults = [f"{name} is not set" for name in ("FLOE_JOB_SPEC", "FLOE_JOB_DIR", "FLOE_JOB_ID") if not environ.get(name)]
        attempt = environ.get("FLOE_ATTEMPT", "1")
        if not attempt.isdecimal() or int(attempt) < 1:
            faults.append(f"FLOE_ATTEMPT is {attempt!r}; want a number from 1")
        output = environ.get("FLOE_OUTPUT_URI") or None
        if output and not storage.is_remote(output):
            faults.append(f"FLOE_OUTPUT_URI is {output!r}; want s3://bucket/prefix/, or nothing if the worker sees FLOE_JOB_DIR")
        if faults:
            raise ConfigError(*faults)
        return cls(environ["FLOE_JOB_SPEC"], Path(environ["FLOE_JOB_DIR"]).absolute(), environ["FLOE_JOB_ID"], int(attempt), output)


def _attempt(told: _Told, job: JobDir) -> None:
    started = files.now()
    body = storage.fetch_file(told.spec_uri, job.inputs, "FLOE_JOB_SPEC").read_bytes()
    what, digest = spec.read(body)
    print(f"floe_trainer {__version__}: job {job.job_id}, attempt {job.attempt}, recipe {what.trainer}, spec {digest}", flush=True)
    print("\n".join(_packages()), flush=True)
    stop = Stop(job, what.limits)
    stop.listen()
    told_of = Progress(job, what.expected_steps)
    try:
        told_of.phase("starting")
        work = _prepare(what, digest, job, told_of, stop)
        trained = _finished(work) or _train(work)
        _conclude(work, trained, started)
        told_of.phase("done", what.expected_steps)
    except Stopped:
        told_of.phase("stopped")
        raise
    except BaseException:
        told_of.phase("failed")
        raise


def _prepare(what: Spec, digest: str, job: JobDir, told_of: Progress, stop: Stop) -> Work:
    job.bring_checkpoint()
    resume = checkpoint.latest(job.checkpoints, digest)
    if resume and what.resume == "none":
        raise ConfigError(f"found {resume.path.name} in the job directory; want none, as resume is none")
    if resume and resume.step > what.expected_steps:
        raise ConfigError(f"found {resume.path.name}; want at most step {what.expected_steps}")
    path = storage.fetch_file(what.dataset.uri, job.inputs, "dataset.uri")
    tasks = dataset.read(path, what.dataset)
    init = None
    if what.init:
        init = checkpoint.initial(storage.fetch_dir(what.init.uri, job.inputs, "init.uri"), what.init.manifest_sha256, what.settings.tuning)
    rows = dataset.order([task.id for task in tasks], what)
    print(f"resuming from {resume.path.name}" if resume else "starting anew", flush=True)
    return Work(what, digest, tasks, rows, path, _base(what, job), init, resume, job, told_of, stop)


def _base(what: Spec, job: JobDir) -> str:
    """Directory of the base model, checked; or its name on the hub, which the recipe resolves."""
    uri, want = what.base_model.uri, what.base_model.sha256
    if not storage.is_remote(uri) and storage.local_path(uri) is None:
        if want:
            raise ConfigError(f"base_model.sha256: found {want} for {uri} on the hub; want a directory, or a commit as revision")
        return uri
    path = storage.fetch_dir(uri, job.inputs, "base_model.uri")
    if want and (found := files.tree_sha256(path)) != want:
        raise DataError(f"base_model {uri}: found tree sha256 {found}; want {want}")
    return str(path)


def _finished(work: Work) -> Trained | None:
    """The result of an attempt that was killed between its last checkpoint and its result."""
    if work.resume is None or work.resume.step != work.spec.expected_steps:
        return None
    return Trained(work.resume, "none: an earlier attempt made all steps", None)


def _train(work: Work) -> Trained:
    if reason := work.stop.reason():
        raise Stopped(f"{reason} before the first step of this attempt")
    trained = _recipe(work.spec.trainer)(work)
    if trained.final.step != work.spec.expected_steps:
        raise JobError(f"the trainer ended after {trained.final.step} steps; want {work.spec.expected_steps}")
    return trained


def _recipe(name: str) -> Recipe:
    # Imported by need: each pulls in a stack of packages that the other lacks.
    if name == "trl":
        from floe_trainer import trl_recipe

        return trl_recipe.train
    from floe_trainer import verl_recipe

    return verl_recipe.train


def _conclude(work: Work, trained: Trained, started: str) -> None:
    work.job.bring_metrics()
    settings = {k: v for k, v in asdict(work.spec.settings).items() if v is not None}
    work.job.result({
        "status": "done", "spec_sha256": work.digest, "steps_done": trained.final.step,
        "expected_steps": work.spec.expected_steps, "padded": work.spec.padded,
        "final_checkpoint": f"checkpoints/{trained.final.path.name}", "manifest_sha256": trained.final.sha256,
        "reward_state": trained.final.reward_state.as_json(), "metrics": progress.summarise(work.job.root / "metrics"),
        "settings": settings, "versions": versions(),
        "packages_sha256": hashlib.sha256("".join(p + "\n" for p in _packages()).encode()).hexdigest(),
        "device": trained.device, "peak_memory_bytes": trained.peak_memory_bytes, "started": started, "ended": files.now(),
    })  # fmt: skip


def _packages() -> list[str]:
    return sorted({f"{d.metadata['Name']}=={d.version}" for d in importlib.metadata.distributions()})
