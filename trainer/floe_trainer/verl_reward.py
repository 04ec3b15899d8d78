"""Reward manager that verl loads in its reward workers: it asks the launcher's service (verl_score).

verl loads this file by its path, in processes where this package need not be
installed; it therefore imports nothing of it.
"""

from __future__ import annotations

import json
import os
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from verl.experimental.reward_loop.reward_manager.base import RewardManagerBase

_TRIES = 5  # a service that is restarted or overrun answers again within seconds
_TIMEOUT = 600.0


class FloeRewardManager(RewardManagerBase):  # type: ignore[misc, unused-ignore]
    """Scores one answer: decoded, and weighed for the step in which its prompt was dispatched."""

    def __init__(self, config: Any, tokenizer: Any, compute_score: Any = None, **_: Any) -> None:
        super().__init__(config, tokenizer, compute_score)
        self._told = Path(os.environ["FLOE_VERL_SCORE"])
        self._opening = os.environ.get("FLOE_VERL_OPENING", "")
        self._most = int(config.data.max_response_length)

    async def run_single(self, data: Any) -> dict[str, Any]:
        """The reward of the last sequence in data, and its parts for verl's own log."""
        item = data[-1:][0]
        ids = _answer_ids(item)
        asked = {
            "step": int(item.non_tensor_batch["global_steps"]),
            "task": str(item.non_tensor_batch["reward_model"]["ground_truth"]),
            "tokens": len(ids),
            "truncated": len(ids) >= self._most and ids[-1] != self.tokenizer.eos_token_id,
        }
        verdict = await self.loop.run_in_executor(None, lambda: self._ask(asked, ids))
        return {
            "reward_score": verdict["total"],
            "reward_extra_info": {"acc": float(verdict["valid"]), "accuracy": verdict["accuracy"], "length": verdict["length"]},
        }

    def _ask(self, asked: dict[str, Any], ids: list[int]) -> dict[str, Any]:
        asked["answer"] = self._opening + self.tokenizer.decode(ids, skip_special_tokens=True)
        body = json.dumps(asked).encode()
        for tried in range(_TRIES):
            told = json.loads(self._told.read_text())
            request = urllib.request.Request(told["url"], body, {"Authorization": f"Bearer {told['token']}"})  # noqa: S310 - its own service
            try:
                with urllib.request.urlopen(request, timeout=_TIMEOUT) as reply:  # noqa: S310
                    verdict: dict[str, Any] = json.loads(reply.read())
                    return verdict
            except urllib.error.HTTPError as err:
                raise RuntimeError(f"the referee's service: {err.code} {err.read()[:500].decode(errors='replace')}") from err
            except OSError:
                if tried == _TRIES - 1:
                    raise
                time.sleep(2**tried)
        raise AssertionError("unreachable")


def _answer_ids(item: Any) -> list[int]:
    """Token ids of the answer, without its padding."""
    answer = item.batch["responses"]
    length = int(item.batch["attention_mask"][-answer.shape[-1] :].sum())
    ids: list[int] = answer[:length].tolist()
    return ids
