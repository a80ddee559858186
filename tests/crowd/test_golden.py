"""Golden vectors: fixed parameters and fixed entropy give these bytes on every platform, or the change is deliberate.

The same file is what a client in another language is checked against: hash functions, layouts, fingerprints and bytes.
After a deliberate change (and a new `version` of the protocols concerned) write it anew:

    PYTHONPATH=tests/support python tests/crowd/test_golden.py --write
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
from cases import together
from protocols import ALL_PROTOCOLS, Case, plain_cell, plain_text, plain_words

from lapwing.crowd import Counts, Reports
from lapwing.crowd import hashing as h
from lapwing.noise import Reproducible

GOLDEN = Path(__file__).parent / "golden.json"
PEOPLE = 67
ITEMS: list[Any] = ["", "a", "Oslo", "ß∂ƒ", 0, 17, -5]
SALTS = ["", "survey 2026"]
WIDTHS = [2, 1000, 1 << 20]


def reports_of(case: Case) -> Reports:
    people = [case.answers[place % len(case.answers)] for place in range(PEOPLE)]
    return case.protocol.randomize(people, Reproducible(1))


def reported(case: Case) -> dict[str, Any]:
    """What a protocol's parameters mean in bytes."""
    reports = reports_of(case)
    return {
        "protocol": type(case.protocol).__name__,
        "version": case.protocol.version,
        "parameters": case.protocol.parameters(),
        "fingerprint": case.protocol.fingerprint.hex(),
        "layout": [
            {"name": column.name, "bits": column.bits, "kind": column.kind, "below": column.below}
            for column in case.protocol.layout
        ],
        "answers": [str(case.answers[place % len(case.answers)]) for place in range(PEOPLE)],
        "reports": reports.to_bytes().hex(),
        "first report alone": reports[:1].to_bytes().hex(),
        "counted": int(case.protocol.absorb(None, reports).table.sum()),
    }


def hashed(salt: str) -> dict[str, Any]:
    """What the hash functions of a salt do with a few items."""
    items, coefficients = h.hashed_items(ITEMS, salt.encode()), h.rows(3, salt.encode())
    return {
        "salt": salt,
        "prime": h.PRIME,
        "items": [str(item) for item in ITEMS],
        "u": [int(u) for u in items.u],
        "v": [int(v) for v in items.v],
        "rows": [[int(number) for number in coefficients[:, row]] for row in range(3)],
        "cells": {str(w): [h.cells(items, coefficients[:, row], w).tolist() for row in range(3)] for w in WIDTHS},
    }


def everything() -> str:
    """The whole file, a line for each salt and each protocol."""
    salts = ",\n".join(json.dumps(hashed(salt)) for salt in SALTS)
    protocols = ",\n".join(f"{json.dumps(case.name)}: {json.dumps(reported(case))}" for case in ALL_PROTOCOLS)
    return f'{{"hashing": [\n{salts}\n], "protocols": {{\n{protocols}\n}}}}\n'


def golden() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(GOLDEN.read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("case", ALL_PROTOCOLS, ids=str)
def test_reports_never_change(case: Case) -> None:
    stored = golden()["protocols"].get(case.name)
    assert stored is not None, "a new protocol: python tests/crowd/test_golden.py --write"
    assert json.loads(json.dumps(reported(case))) == stored


@pytest.mark.parametrize("case", ALL_PROTOCOLS, ids=str)
def test_stored_reports_can_still_be_read(case: Case) -> None:
    stored = golden()["protocols"][case.name]
    reports = Reports.from_bytes(case.protocol, bytes.fromhex(stored["reports"]))
    assert reports.n == PEOPLE
    assert reports == reports_of(case)
    state = case.protocol.absorb(None, reports)
    assert Counts.from_bytes(case.protocol, state.to_bytes()) == state


def test_nothing_is_stored_that_no_protocol_has() -> None:
    assert set(golden()["protocols"]) == {case.name for case in ALL_PROTOCOLS}


@together("place", range(len(SALTS)))
def test_hash_functions_never_change(place: int) -> None:
    assert json.loads(json.dumps(hashed(SALTS[place]))) == golden()["hashing"][place]


@together("place", range(len(SALTS)))
def test_stored_hashes_follow_their_definition(place: int) -> None:
    """The file against plain whole numbers: what another language has to compute."""
    stored = golden()["hashing"][place]
    salt = stored["salt"].encode()
    for i, item in enumerate(ITEMS):
        assert [stored["u"][i], stored["v"][i]] == plain_words(b"lapwing item 1", salt, plain_text(item), 2)
        for row in range(3):
            for width in WIDTHS:
                assert stored["cells"][str(width)][row][i] == plain_cell(plain_text(item), salt, row, width)
    for row in range(3):
        assert stored["rows"][row] == plain_words(b"lapwing row 1", salt, row.to_bytes(8, "little"), 5)


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit(__doc__)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that reproducible noise is not private
        GOLDEN.write_text(everything(), encoding="utf-8")
    print(f"wrote {GOLDEN.name}: {len(ALL_PROTOCOLS)} protocols")
