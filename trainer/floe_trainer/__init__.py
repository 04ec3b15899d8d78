"""Trains a policy as a job of floe: a spec comes in, files go out (docs/jobs.md).

The package knows no scheduler and no workflow engine. ``python -m floe_trainer``
reads FLOE_JOB_SPEC and trains with the recipe that the spec names.
"""

__version__ = "0.1.0"
