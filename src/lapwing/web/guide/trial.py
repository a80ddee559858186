"""How accurate it will be: the library's own mechanisms, on made-up people, as many as there are.

What a mechanism promises is computed from its exact law; then it is run some times, to show what that looks like. Work
is bounded: of very many people a part is made up, and errors are scaled by the law that they follow.
"""

from __future__ import annotations

import sys
import threading
from functools import lru_cache
from importlib import import_module

from lapwing.adversary.attacks.attack import repeatable
from lapwing.web.guide.expectations import Expectation
from lapwing.web.guide.plan import Plan
from lapwing.web.guide.running_totals import RUNNING
from lapwing.web.guide.two_servers import WITH_TWO_SERVERS
from lapwing.web.guide.with_curator import CENTRAL
from lapwing.web.guide.without_curator import AT_SOURCE

_ONE = threading.Lock()
"""Trials wait for each other: each is short, and they share two things that threads must not use at the same time,
the filters of warnings and the processor."""


def wake() -> None:
    """Load what models need, which takes seconds, while somebody still answers the interview."""
    if "lapwing.models" not in sys.modules:
        threading.Thread(target=import_module, args=("lapwing.models",), daemon=True).start()


@lru_cache(maxsize=1024)
def expected(plan: Plan, ask: str) -> Expectation:
    """What to expect of one question of a plan. The same plan always gives the same: the noise is reproducible."""
    if ask == "model":
        import_module("lapwing.models")
    trials = AT_SOURCE if plan.at_source else WITH_TWO_SERVERS if plan.model == "two servers" else CENTRAL
    if plan.steps > 1:
        trials = RUNNING
    alike = trials[ask].__name__  # favourites without a curator are tried like groups
    with _ONE:
        return trials[ask](plan, repeatable("guide", alike, plan.model, plan.people, plan.groups, plan.part_epsilon))
