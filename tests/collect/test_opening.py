"""Envelopes are opened by helpers on all cores: the same rows, whoever opens them, and whoever is killed."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from lapwing.collect import opening
from lapwing.collect.keys import Key
from lapwing.collect.opening import opened_rows
from lapwing.collect.sealing import layer_info, sealed_for

DIGEST, KEY, OTHER = bytes(range(32)), Key.random("x25519"), Key.random("x25519")
PLAINS = [number.to_bytes(20, "little") for number in range(1, 24)]
WRONG = {3, 11, 22}


@pytest.fixture(scope="module")
def rows() -> np.ndarray:
    """Sealed reports, some of them for another key."""
    info = layer_info("aggregator", DIGEST, 7)
    keys = [OTHER.public if number in WRONG else KEY.public for number in range(len(PLAINS))]
    sealed = [sealed_for(key, plain, info) for key, plain in zip(keys, PLAINS, strict=True)]
    return np.frombuffer(b"".join(sealed), dtype=np.uint8).reshape(len(PLAINS), -1)


def check(rows: np.ndarray, processes: int) -> None:
    plains, good = opened_rows(KEY, DIGEST, 7, rows, processes=processes)
    assert set(np.flatnonzero(~good).tolist()) == WRONG
    assert [row.tobytes() for row in plains[good]] == [p for i, p in enumerate(PLAINS) if i not in WRONG]
    assert not plains[~good].any()


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_any_number_of_helpers_opens_the_same(
    rows: np.ndarray, processes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "WORTH_A_HELPER", 4)
    if processes > 1:  # else nobody would notice that helpers do nothing
        monkeypatch.setattr(opening, "_answer", lambda head, share: pytest.fail("a helper failed"))
    check(rows, processes)


@pytest.mark.parametrize(
    "program",
    [
        "import os; os.kill(os.getpid(), 9)",
        "import sys; sys.stdin.buffer.read(); sys.stdout.buffer.write(b'half')",
        "import sys; sys.exit(1)",
    ],
    ids=["killed", "half an answer", "failed"],
)
def test_what_a_helper_leaves_is_opened_here(rows: np.ndarray, program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "WORTH_A_HELPER", 4)
    monkeypatch.setattr(opening, "_COMMAND", [sys.executable, "-c", program])
    check(rows, 2)
    monkeypatch.setattr(opening, "_COMMAND", ["/no/such/program"])
    check(rows, 2)


def test_nothing_is_opened_to_nothing() -> None:
    plains, good = opened_rows(KEY, DIGEST, 7, np.empty((0, 68), dtype=np.uint8), processes=4)
    assert plains.shape == (0, 20)
    assert len(good) == 0


def test_another_epoch_or_collection_opens_nothing(rows: np.ndarray) -> None:
    assert not opened_rows(KEY, DIGEST, 8, rows)[1].any()
    assert not opened_rows(KEY, bytes(32), 7, rows)[1].any()
