"""Lays out what verl's merger lays out for a LoRA run: the base model, and the adapter below lora_adapter."""

import argparse
import json
from pathlib import Path

p = argparse.ArgumentParser()
p.add_argument("operation", choices=["merge"])
p.add_argument("--backend", choices=["fsdp"], required=True)
p.add_argument("--local_dir", type=Path, required=True)
p.add_argument("--target_dir", type=Path, required=True)
a = p.parse_args()
weights = (a.local_dir / "model_world_size_1_rank_0.pt").read_text()
adapter = a.target_dir / "lora_adapter"
adapter.mkdir(parents=True)
(a.target_dir / "model.safetensors").write_text("the base model")
(adapter / "adapter_model.safetensors").write_text(weights)
(adapter / "adapter_config.json").write_text(json.dumps({"peft_type": "LORA", "r": 4, "lora_alpha": 8}))
