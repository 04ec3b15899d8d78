"""Follows TRL's training: writes each step down, seals checkpoints, ends when asked to."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from floe_trainer.checkpoint import Checkpoint
from floe_trainer.exits import NotFinite
from floe_trainer.recipe import Work
from floe_trainer.reward import state_from_log
from floe_trainer.trl_metrics import to_contract
from floe_trainer.trl_reward import RewardOf


class Follower(TrainerCallback):  # type: ignore[misc, unused-ignore]
    """TRL calls it at the end of each of its steps: first on_step_end, then on_log, then on_save."""

    def __init__(self, work: Work, reward: RewardOf) -> None:
        self._work, self._reward = work, reward
        self.stopped: str | None = None  # why the training was ended early
        self.sealed: Checkpoint | None = None  # the latest of this attempt

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Decides whether the step that was just made is saved, and whether it was the last."""
        if state.global_step % self._work.spec.settings.updates:
            return  # the answers are not used up: a checkpoint here would lose them
        step = self._step(state)
        self.stopped = self.stopped or self._work.stop.reason()
        last = step == self._work.spec.expected_steps or self.stopped is not None
        if last or step % self._work.spec.settings.save_every == 0:
            control.should_save = True
        if last:
            control.should_training_stop = True

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **_: Any) -> None:
        """Writes a step's metrics, and ends the job before a ruined one is saved."""
        if not logs or "loss" not in logs:
            return  # the summary that TRL logs at the end
        step = self._step(state)
        epoch = step * self._work.spec.settings.batch / self._work.spec.dataset.rows
        self._work.progress.step(step, to_contract(logs, {"epoch": epoch, **self._reward.measured}))
        bad = [f"{key} = {logs[key]}" for key in ("loss", "grad_norm") if key in logs and not math.isfinite(logs[key])]
        if bad:
            raise NotFinite(f"step {step}: {', '.join(bad)}; want finite numbers. Its weights are not saved")

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Makes what TRL saved a checkpoint of the contract."""
        counted = state_from_log(self._work.spec.reward.state, state.log_history)
        saved = Path(args.output_dir) / f"checkpoint-{state.global_step}"
        self.sealed = self._work.seal(saved, self._step(state), counted)

    def _step(self, state: Any) -> int:
        return int(state.global_step) // self._work.spec.settings.updates
