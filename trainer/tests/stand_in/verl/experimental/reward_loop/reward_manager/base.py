"""The part of verl's base class that a reward manager relies on."""

import asyncio


class RewardManagerBase:
    def __init__(self, config, tokenizer, compute_score):
        self.config, self.tokenizer, self.compute_score = config, tokenizer, compute_score
        self.loop = asyncio.get_running_loop()
