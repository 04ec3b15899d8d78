"""Makes a tiny model of Qwen3's architecture with random weights, and two adapters of it, in a directory."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "trainer" / "tests"))


def main(to: Path) -> None:
    """Builds base, round-1 and round-2. The adapters change much, so that their answers differ from the base's.

    The trainer's tiny model has heads too small for vLLM's attention on the CPU, and too short a context for a designer's
    prompt in a token a byte; the tokenizer is the same.
    """
    import tiny
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM, GenerationConfig, Qwen3Config, Qwen3ForCausalLM

    tiny.build(to / "base")
    small = Qwen3Config.from_pretrained(to / "base")
    small.update({"hidden_size": 128, "intermediate_size": 256, "head_dim": 64, "max_position_embeddings": 32768})
    small.update({"tie_word_embeddings": False, "initializer_range": 0.1})  # else it only repeats its prompt's last token
    torch.manual_seed(1)  # with this one, the untrained model's answers do not end by themselves
    base = Qwen3ForCausalLM(small)
    base.generation_config = GenerationConfig.from_pretrained(to / "base")
    base.save_pretrained(to / "base")
    for seed in (1, 2):
        torch.manual_seed(seed)
        config = LoraConfig(
            r=8, lora_alpha=64, init_lora_weights=False,
            target_modules=["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"],
        )  # fmt: skip
        model = get_peft_model(AutoModelForCausalLM.from_pretrained(to / "base"), config)
        model.save_pretrained(to / f"round-{seed}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
