"""Opens many envelopes on every core, in helper processes that end with the process that started them.

A helper is a process that reads one key and some rows from its standard input, and writes what it opened to its
standard output: nothing of it is in a file or in an argument. If one of them fails, whoever asked opens its share
itself, so the result is the same with any number of helpers, and with none.
"""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from lapwing.collect.keys import SECRET_BYTES, Key
from lapwing.collect.sealing import EPOCH_BYTES, LABELS, SEAL_BYTES, layer_info, opened_in_turn

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Rows = NDArray[np.uint8]

WORTH_A_HELPER = 10_000
"""Envelopes that take longer to open than a process takes to start."""
_INFO_BYTES = len(LABELS["aggregator"]) + 32 + EPOCH_BYTES
_HEAD = SECRET_BYTES + _INFO_BYTES + 4
_COMMAND = [sys.executable, "-P", "-c", "from lapwing.collect.opening import helper; helper()"]


def opened_rows(
    key: Key, digest: bytes, epoch: int, rows: Rows, *, party: str = "aggregator", processes: int | None = None
) -> tuple[Rows, NDArray[np.bool_]]:
    """What was sealed in each row for this party and epoch (zeros if nothing was), and which were good."""
    import numpy as np

    n, size = rows.shape
    helpers = min(processes or os.cpu_count() or 1, n // WORTH_A_HELPER)
    head = key.secret + layer_info(party, digest, epoch) + size.to_bytes(4, "little")
    shares = [np.ascontiguousarray(part).tobytes() for part in np.array_split(rows, max(1, helpers))]
    if helpers > 1:
        with ThreadPoolExecutor(helpers, "opening") as pool:
            answers = list(pool.map(lambda share: _by_helper(head, share), shares))
    else:
        answers = [_answer(head, share) for share in shares]
    wide = 1 + max(0, size - SEAL_BYTES)
    answered = np.frombuffer(b"".join(answers), dtype=np.uint8).reshape(n, wide)
    return answered[:, 1:], answered[:, 0] == 1


def _by_helper(head: bytes, share: bytes) -> bytes:
    """Of another process; of this one, if the other fails."""
    try:
        done = subprocess.run(_COMMAND, input=head + share, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    except OSError:  # no process can be started now
        return _answer(head, share)
    size = int.from_bytes(head[-4:], "little")
    whole = len(done.stdout) == (len(share) // size) * (1 + size - SEAL_BYTES)
    return done.stdout if done.returncode == 0 and whole else _answer(head, share)


def _answer(head: bytes, share: bytes) -> bytes:
    """For each row a 1 and what was in it, or zeros."""
    private, info, size = _private(head[:SECRET_BYTES]), head[SECRET_BYTES:-4], int.from_bytes(head[-4:], "little")
    nothing = bytes(1 + max(0, size - SEAL_BYTES))
    rows = (share[start : start + size] for start in range(0, len(share), size))
    plains = opened_in_turn(private, rows, info)
    return b"".join(nothing if plain is None else b"\1" + plain for plain in plains)


def _private(secret: bytes) -> Any:
    return Key("x25519", secret).private


def helper() -> None:
    """What a helper does; its input ends with whoever started it."""
    data = sys.stdin.buffer.read()
    if len(data) >= _HEAD:
        sys.stdout.buffer.write(_answer(data[:_HEAD], data[_HEAD:]))
