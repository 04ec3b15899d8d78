"""Exit codes of a job, and the errors that lead to them (docs/jobs.md)."""

from __future__ import annotations

import enum


class Exit(enum.IntEnum):
    """What the worker may do with an attempt that ended."""

    DONE = 0
    DATA = 65  # bad data, or loss not finite: the same fails again
    BUSY = 69  # another program holds the job directory
    INTERNAL = 70
    STOPPED = 75  # checkpoint saved; start the next attempt
    CONFIG = 78  # bad spec: the same fails again


class JobError(Exception):
    """Ends the attempt with its exit code; the text is for people and says what was found and what was wanted."""

    code = Exit.INTERNAL


class ConfigError(JobError):
    """The spec, the settings or the environment cannot be used. Holds all faults at once."""

    code = Exit.CONFIG

    def __init__(self, *faults: str) -> None:
        super().__init__("; ".join(faults))
        self.faults = faults


class DataError(JobError):
    """The dataset, a model or a checkpoint is not what the spec says."""

    code = Exit.DATA


class NotFinite(JobError):
    """Loss or gradient is NaN or infinite: going on would only ruin the weights."""

    code = Exit.DATA


class Busy(JobError):
    """Another program holds the job directory."""

    code = Exit.BUSY


class Stopped(JobError):
    """The attempt was asked to stop, and did."""

    code = Exit.STOPPED
