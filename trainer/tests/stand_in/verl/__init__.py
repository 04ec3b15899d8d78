"""No verl: a scripted stand-in with verl's file layout, for tests on machines without GPUs.

It trains nothing. It reads the overrides and the parquet that the launcher made,
asks the real reward manager for every answer, and writes what verl 0.9 writes at
the places where verl writes it: the FileLogger's lines, global_step_N directories
and latest_checkpointed_iteration.txt. FLOE_STAND_IN scripts its mishaps.
"""
