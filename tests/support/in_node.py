"""The client for browsers, run by Node: jobs of frontend/test/collect.mjs, and collections that it understands."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from browser import FRONTEND, needs_node
from collecting import Keys, document

from lapwing.collect import reader
from lapwing.collect.collection import Collection
from lapwing.collect.workspace import _exact


def in_node(*jobs: dict[str, Any]) -> list[dict[str, Any]]:
    """What each of these jobs returns."""
    needs_node()
    lines = "\n".join(json.dumps(job) for job in jobs)
    done = subprocess.run(
        ["node", "test/collect.mjs"],
        cwd=FRONTEND,
        input=lines,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def signed(keys: Keys, ports: dict[str, int] | None = None, **changes: Any) -> Collection:
    """A collection with the exact odds of its protocol, as `lapwing collect open` signs it."""
    draft = document(keys, ports, **changes)
    draft["protocol"] = _exact(draft["protocol"])
    draft["limits"] = dict(draft["limits"]) | {"answers": reader.checked(draft).policy().periods()}
    return reader.sign(reader.checked(draft), keys.operator)
