"""A server of a pair as a process that kills itself just before it sends a message, which its job names by number."""

from __future__ import annotations

import os
import signal
from typing import Any

from lapwing.pair import child
from lapwing.pair.links import Link


def party() -> None:
    """As `lapwing.pair.child.party`. The number is in the environment, because a job is for the server itself."""
    fatal, send, sent = int(os.environ["LAPWING_TEST_FATAL"]), Link.send, 0

    def counted(link: Link, data: Any) -> None:
        nonlocal sent
        sent += 1
        if sent == fatal:
            os.kill(os.getpid(), signal.SIGKILL)
        send(link, data)

    Link.send = counted  # type: ignore[method-assign]
    child.party()
