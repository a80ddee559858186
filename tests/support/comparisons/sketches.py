"""Hash functions, estimates and errors of count mean sketches."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np
import pytest
from browser import Call

from lapwing.crowd import hashing
from lapwing.crowd.bits import unpack_rows
from lapwing.crowd.count_mean_sketch import CountMeanSketch
from lapwing.crowd.fragments import SequenceFragmentPuzzle
from lapwing.crowd.hadamard_sketch import HadamardCountMeanSketch
from lapwing.experiments import populations
from lapwing.experiments.experiment import entropy
from lapwing.experiments.sketches import theory
from lapwing.noise.arrays import unpack

SALT = "school"
SKETCHES = {"CMS": CountMeanSketch, "HCMS": HadamardCountMeanSketch}
TEXTS = (
    "",
    "lapwing",
    "😂",
    "❤️",
    "a much longer text, so long that SHA-256 needs more than one block of 64 bytes for it",
)
ANSWERS = ["😂"] * 90 + ["❤️"] * 60 + ["🔥"] * 30 + ["👍"] * 20
CANDIDATES = ["😂", "❤️", "🔥", "👍", "👀"]


def hashes() -> Iterator[Call]:
    rows = hashing.rows(1024, SALT.encode())
    for function in (0, 7, 1023):
        yield "hashing", "row", [function, SALT], rows[:, function].astype(int).tolist()
    for text in TEXTS:
        digest = hashlib.sha256(text.encode()).digest()
        words = [int.from_bytes(digest[place : place + 4], "big") for place in range(0, 32, 4)]
        yield "hashing", "sha256", [list(text.encode())], words
        items = hashing.hashed_items([text], SALT.encode())
        item = [int(part[0]) for part in (items.u, items.u_squared, items.v, items.v_squared)]
        yield "hashing", "item", [text, SALT], item
        for function, width in ((0, 16), (7, 256), (1023, 1024)):
            [cell] = hashing.cells(items, rows[:, function], width)
            yield "hashing", "cellOf", [text, SALT, function, width], int(cell)
            yield "hashing", "cell", [item, rows[:, function].astype(int).tolist(), width], int(cell)


def puzzles() -> Iterator[Call]:
    protocol = SequenceFragmentPuzzle(epsilon_fragments=4, epsilon_strings=4, salt=SALT)
    for text in ("lapwing", "a", "differential"):
        word = protocol._filled(text)
        fragments = [word[i : i + 2] for i in range(0, 10, 2)]
        expected = {"word": word, "piece": protocol._piece(word), "fragments": fragments}
        yield "sketches", "puzzle", [text, SALT], expected
        yield "hashing", "piece", [word, SALT], protocol._piece(word)


def estimates() -> Iterator[Call]:
    cms = CountMeanSketch(epsilon=4, functions=8, width=16, salt=SALT)
    reports = cms.randomize(ANSWERS, entropy("school", "CMS"))
    expected = cms.estimate(cms.absorb(None, reports), CANDIDATES).counts.tolist()
    function, rows = reports.columns
    ones = [np.flatnonzero(row).tolist() for row in unpack_rows(rows, 16)]
    given = list(zip(function.tolist(), ones, strict=True))
    yield "sketches", "estimateBits", [given, CANDIDATES, SALT, 16, float(cms.flip)], expected
    hadamard = HadamardCountMeanSketch(epsilon=4, functions=8, width=16, salt=SALT)
    reports = hadamard.randomize(ANSWERS, entropy("school", "HCMS"))
    expected = hadamard.estimate(hadamard.absorb(None, reports), CANDIDATES).counts.tolist()
    function, coordinate, minus = reports.columns
    signs = unpack(minus, len(ANSWERS)).astype(bool).tolist()
    lines = list(zip(function.tolist(), coordinate.tolist(), signs, strict=True))
    yield "sketches", "estimateSigns", [lines, CANDIDATES, SALT, 16, float(hadamard.flip)], expected


def errors() -> Iterator[Call]:
    population = populations.emoji(20_000, different=50)
    even = dict.fromkeys(map(str, range(30)), 40)  # where every answer errs as much as all do in the mean
    for kind in SKETCHES:
        for epsilon, width, functions in ((0.5, 16, 1), (4, 256, 256), (8, 1024, 1024)):
            sizes = {"epsilon": epsilon, "width": width, "functions": functions}
            given = [epsilon, width, functions]
            yield "sketches", "theory", [kind, list(population.values()), *given], theory(kind, population, **sizes)
            yield "sketches", "standardError", [kind, 40, 1200, 30 * 40**2, *given], theory(kind, even, **sizes)


def coins() -> Iterator[Call]:
    """As often as the library flips them but for the digits of its fractions."""
    for kind, sketch in SKETCHES.items():
        for epsilon in (0.1, 1, 4, 8):
            flip = float(sketch(epsilon=epsilon, functions=4, width=4).flip)
            yield "sketches", "flip", [kind, epsilon], pytest.approx(flip, rel=0.01)
    for number in (0, 1, 2, 3, 255, 1023, 0b1011 << 12, 2**31 - 1):
        yield "sketches", "parity", [number], number.bit_count() % 2


def reports() -> Iterator[Call]:
    for kind, sketch in SKETCHES.items():
        layout = sketch(epsilon=4, functions=1024, width=256).layout
        yield "sketches", "bits", [kind, 1024, 256], sum(column.bits for column in layout)
    counts = [6, 3, 1]  # one in ten people at (i + ½)/10 of the way
    yield "sketches", "people", [counts, 10], [0] * 6 + [1] * 3 + [2]
    yield "sketches", "people", [counts, 4], [0, 0, 1, 1]
    functions, width = 4, 64
    items = hashing.hashed_items(CANDIDATES, SALT.encode())
    rows = hashing.rows(functions, SALT.encode())
    cells = [hashing.cells(items, rows[:, function], width).tolist() for function in range(functions)]
    yield "sketches", "places", [CANDIDATES, functions, width, SALT], [cell for row in cells for cell in row]
    yield "sketches", "wordsEach", [10], 1 + 1 + 10  # where to look, the sign, and a coin for each candidate
