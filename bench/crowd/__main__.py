"""`python -m bench.crowd`: the local protocols, on two threads."""

from __future__ import annotations

import sys

from bench.crowd.cases import CROWD
from bench.run import run

if __name__ == "__main__":
    sys.exit(run(CROWD))
