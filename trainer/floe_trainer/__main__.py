"""``python -m floe_trainer``: one attempt of the job in FLOE_JOB_SPEC."""

import os
import sys

from floe_trainer.run import main

if __name__ == "__main__":
    sys.exit(main(os.environ))
