"""The locked packages of the checks that load no PyTorch, and of those that do."""

from __future__ import annotations

from pathlib import Path

LOCKS = Path(__file__).resolve().parents[1] / "requirements"


def test_both_environments_of_the_checks_have_the_same_versions() -> None:
    few, all_of_them = (set((LOCKS / name).read_text().split()) for name in ("check.txt", "cpu.txt"))
    assert few
    assert few <= all_of_them, f"not in cpu.txt: {sorted(few - all_of_them)}"
