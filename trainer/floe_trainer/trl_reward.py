"""The reward of a job as TRL calls it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from floe_trainer import prompts
from floe_trainer.recipe import Work
from floe_trainer.referee import Referee
from floe_trainer.reward import ANSWERS, WITHIN, Answer, state_from_log, summary, within

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


class RewardOf:
    """TRL's reward function: the referee's verdicts, with the weights of the step.

    Into TRL's log go only the counts that later weights depend on; ``measured``
    has all that is known of the latest batch, unrounded.
    """

    __name__ = "reward"  # TRL names its own measures by it

    def __init__(self, work: Work, tokenizer: PreTrainedTokenizerBase, referee: Referee) -> None:
        self._work, self._tokenizer, self._referee = work, tokenizer, referee
        self._ends = _end_tokens(tokenizer, work)
        self._opening = prompts.opening(tokenizer, work.spec.settings)
        self.measured: dict[str, float] = {}

    def __call__(self, completion_ids: list[list[int]], id: list[str], trainer_state: Any, log_metric: Any, **_: Any) -> list[float]:  # noqa: A002 - TRL's names
        """Rewards of a step's answers, each task's side by side."""
        s, r = self._work.spec.settings, self._work.spec.reward
        self._work.progress.touch()  # sampled
        answers = self._answers(id, completion_ids)
        verdicts, weights = self._referee.score(answers, state_from_log(r.state, trainer_state.log_history))
        self.measured = summary(answers, verdicts, weights, r.settings.free_tokens, s.rollouts)
        log_metric(ANSWERS, len(answers))
        log_metric(WITHIN, within(verdicts, r.settings.free_tokens))
        self._work.job.samples(trainer_state.global_step // s.updates + 1, id[:: s.rollouts])
        self._work.progress.touch()  # scored
        return [v.total for v in verdicts]

    def _answers(self, tasks: list[str], completions: list[list[int]]) -> list[Answer]:
        texts = self._tokenizer.batch_decode(completions, skip_special_tokens=True)
        return [
            Answer(task, self._opening + text, len(ids), truncated=not ids or ids[-1] not in self._ends)
            for task, text, ids in zip(tasks, texts, completions, strict=True)
        ]


def _end_tokens(tokenizer: PreTrainedTokenizerBase, work: Work) -> set[int]:
    """Tokens that end an answer: the tokenizer's, and those that the model's generation settings name."""
    from transformers import GenerationConfig

    ends = {tokenizer.eos_token_id, tokenizer.pad_token_id}
    try:
        named = GenerationConfig.from_pretrained(work.base, revision=work.spec.base_model.revision).eos_token_id
    except OSError:
        named = None  # the model brings no such file
    return ends | set(named if isinstance(named, list) else [named] if named is not None else [])
