"""`python -m bench.streams`: counters and durable steps beside peers and floors; exits 1 when a bar is missed.

python -m bench.streams               everything; jax_privacy optimises for about two minutes
python -m bench.streams --no-peers    ours and the floors only
"""

from __future__ import annotations

import argparse
import sys

from bench.streams import counters, durable
from bench.streams.report import save, show


def main() -> int:
    """Measure, print, save; exit status 1 if a bar was missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--no-peers", action="store_true", help="without OpenDP and jax_privacy; nothing is saved")
    asked = parser.parse_args()
    results, verdicts = counters.measure(peers=not asked.no_peers)
    more, bars = durable.measure()
    show([*results, *more], [*verdicts, *bars])
    if not asked.no_peers:
        save(results, verdicts, "counters")
        save(more, bars, "durable steps")
    return 0 if all(verdict.met for verdict in (*verdicts, *bars)) else 1


if __name__ == "__main__":
    sys.exit(main())
