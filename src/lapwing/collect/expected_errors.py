"""How far off the estimates of a collection will be, before anybody reports: from simulated devices.

Without shufflers the error shrinks with the root of the number of reports, so a few thousand devices are enough. With
them a batch goes through the thresholds as it will later, with answers (and attributes, if crowds are made of them)
that are spread evenly, and the interval is the one that results have: it includes what is removed.

>>> from lapwing.crowd import UnaryEncoding
>>> error_of(UnaryEncoding.from_epsilon(1, domain=["bus", "bike"]), 10_000).half_width < 0.05
True

Accuracy: removals.md, which says what results state.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from math import prod
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from lapwing import checks
from lapwing.collect.answer_fragments import Fragments, PositionedBit
from lapwing.collect.collection import Collection
from lapwing.collect.crowds import Crowd
from lapwing.collect.removals import Removal
from lapwing.collect.shuffler import thresholded
from lapwing.crowd import Counts, Estimates, MeanEstimate, Reports
from lapwing.crowd.intervals import exact_estimate
from lapwing.crowd.protocol import OpenProtocol, Protocol
from lapwing.errors import NotPrivateWarning
from lapwing.mechanisms.dummies import DummyReports
from lapwing.noise import Entropy, Reproducible

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SIMULATED = 4_096
"""Devices that are simulated to see how far estimates are off, where nothing is removed."""
MOST_SIMULATED = 1 << 16
"""Reports of a simulated batch, about: a larger batch counts as several, of which a little more is removed."""
MOST_RUNS = 8
"""Small batches differ from each other: the average of some is quoted."""
LARGEST_TABLE = 1 << 22
"""Numbers of a sketch that are counted for a quote. A larger one has so many kinds of reports that each is alone."""
MOST_BATCHES = 1 << 20
CLOSE = 1.02
"""How exactly the number of devices is sought that a wanted error takes."""
CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Error:
    """How far an estimate from n reports is off, with 95 % confidence: about."""

    devices: int
    half_width: float
    of: str
    """What it is measured in."""
    gain_per_fake: float

    @property
    def useless(self) -> bool:
        """Whether the interval has room for every share."""
        return self.of == "share" and self.half_width >= 1

    @property
    def sentence(self) -> str:
        """How far off an estimate is, for a quote."""
        off = f"can be off by {self}" if self.useless else f"is off by about {self} (95 % confidence)"
        return f"With {self.devices:,} devices, an estimate {off}."

    def __str__(self) -> str:
        if self.useless:
            return "more than 100 percentage points, so it says nothing"
        if self.of == "share":
            return f"±{100 * self.half_width:.2g} percentage points"
        return f"±{self.half_width:.3g}"


def expected_error(collection: Collection, devices: int) -> Error | None:
    """How far off an estimate from so many devices will be; None where that depends on the answers."""
    if collection.crowd is None:
        return error_of(collection.local, devices)
    return _rehearsal(collection).error(devices)


def devices_for(collection: Collection, wanted: float, expected: Error) -> int | None:
    """How many devices it takes for a wanted error, about: a batch at least. None if no number does."""
    if collection.crowd is None:
        enough: int | None = math.ceil(expected.devices * (expected.half_width / wanted) ** 2)
    else:
        enough = _rehearsal(collection).devices_for(wanted)
    return None if enough is None else max(enough, devices_of_a_batch(collection))


def devices_of_a_batch(collection: Collection) -> int:
    """How many devices it takes until something is published, with one answer each. Every shuffler fills a batch."""
    reports = collection.smallest_batch * max(1, len(collection.shufflers))
    return -(-reports // (1 if collection.fragments is None else collection.fragments.count))


@lru_cache(maxsize=64)
def error_of(protocol: Protocol, devices: int) -> Error | None:
    """How far off an estimate will be if nothing is removed; None where that depends on the answers."""
    small = _smaller(protocol)
    with warnings.catch_warnings():  # nobody's answers: the same quote every time
        warnings.simplefilter("ignore", NotPrivateWarning)
        counts = small.absorb(None, small.randomize([None] * SIMULATED, Reproducible(0)))
    estimates = _estimated(small, counts, ["an answer"])
    if isinstance(estimates, MeanEstimate):
        error, of = float(estimates.sample_standard_error), "mean"
    elif isinstance(estimates, Estimates) and len(estimates):
        error, of = float(max(estimates.sample_standard_error)) / SIMULATED, "share"
    else:
        return None
    z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
    return Error(devices, z * error * math.sqrt(SIMULATED / devices), of, float(estimates.gain_per_fake))


def _estimated(protocol: Any, counts: Counts, candidates: Sequence[Any]) -> Any:
    """As the analyzer does it."""
    if isinstance(protocol, OpenProtocol):
        return protocol.estimate(counts, list(candidates))
    return exact_estimate(protocol, counts)


def _smaller(protocol: Protocol) -> Protocol:
    """The same with fewer hash functions, where a table would be too large to make for a quote."""
    if prod(protocol.shape) <= LARGEST_TABLE or "functions" not in {field.name for field in fields(protocol)}:
        return protocol
    return replace(protocol, functions=64)  # type: ignore[call-arg]


# ---------------------------------------------------------------- with shufflers


def _rehearsal(collection: Collection) -> Rehearsal:
    assert collection.crowd is not None
    shufflers = max(1, len(collection.shufflers))
    return Rehearsal(
        collection.local,
        collection.crowd,
        collection.candidates,
        collection.fragments,
        shufflers,
        collection.smallest_batch,
    )


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What decides about the error of a collection with shufflers."""

    protocol: Protocol
    crowd: Crowd
    candidates: tuple[str, ...]
    fragments: Fragments | None
    shufflers: int
    smallest_batch: int

    @property
    def message(self) -> Protocol:
        """Of which shufflers take reports."""
        return self.protocol if self.fragments is None else self.fragments.message

    def batches(self, devices: int) -> tuple[int, int]:
        """How many batches the reports of so many devices make, and of which size. They are as small as they may be."""
        reports = devices * (1 if self.fragments is None else self.fragments.count)
        parts = self.shufflers * max(1, reports // self.shufflers // min(self.smallest_batch, MOST_SIMULATED))
        return parts, max(1, reports // parts)

    def error(self, devices: int) -> Error | None:
        """Of the interval that results will have, on its longer side, for the answer where it is longest."""
        return _rehearsed(self, devices)

    def devices_for(self, wanted: float) -> int | None:
        """The number of devices for this error, about; above one batch, whole batches. None if no number does."""
        each = 1 if self.fragments is None else self.fragments.count
        whole = -(-self.shufflers * min(self.smallest_batch, MOST_SIMULATED) // each)

        def enough(devices: int) -> bool:
            error = _rehearsed(self, devices)
            return error is not None and error.half_width <= wanted

        if enough(whole):
            return _least(enough, 1, whole, CLOSE)
        batches = 2
        while not enough(batches * whole):
            if batches >= MOST_BATCHES:
                return None
            batches *= 2
        return whole * _least(lambda number: enough(number * whole), batches // 2, batches, CLOSE)


def _least(enough: Any, low: int, high: int, close: float) -> int:
    """About the smallest number between the two that is enough, as `high` is."""
    while high > low + 1 and high > close * low:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


@lru_cache(maxsize=256)
def _rehearsed(scene: Rehearsal, devices: int) -> Error | None:
    parts, size = scene.batches(devices)
    runs = [_run(scene, parts, size, seed) for seed in range(min(MOST_RUNS, -(-SIMULATED // size)))]
    widths, of, gains = zip(*runs, strict=True)
    return Error(devices, math.fsum(widths) / len(runs), of[0], max(gains))


def _run(scene: Rehearsal, parts: int, size: int, seed: int) -> tuple[float, str, float]:
    """How far the interval reaches to its longer side, in what, and how far a false report moves an estimate."""
    import numpy as np

    counts, kinds = (Counts(held.protocol, parts * held.n, parts * held.table) for held in _batch(scene, size, seed))
    if isinstance(scene.message, PositionedBit):
        estimates: Any = scene.message.estimate(counts)
    else:
        each = 1 if scene.fragments is None else scene.fragments.reports_each
        removal = Removal(scene.crowd, parts * size, parts, counts, kinds, each)
        candidates = scene.candidates
        estimates = removal.estimate(lambda state: _estimated(state.protocol, state, candidates))
    gain = float(estimates.gain_per_fake)
    if isinstance(estimates, MeanEstimate):
        mean, (low, high) = float(estimates.mean), estimates.interval()
        return max(high - mean, mean - low), "mean", gain
    lows, highs = estimates.interval()
    arms = np.maximum(highs - estimates.counts, estimates.counts - lows) / max(1, estimates.n)
    # An answer of which nothing is left can be anything.
    return float(arms.max(initial=0.0)) if len(estimates) >= len(_answers(scene)) else 1.0, "share", gain


@lru_cache(maxsize=64)
def _batch(scene: Rehearsal, size: int, seed: int) -> tuple[Counts, Counts]:
    """What comes through of one batch, and one of each kind where crowds are made of reports."""
    import numpy as np

    message = _smaller(scene.message)
    if message is not scene.message and scene.crowd.source == "report":  # no two reports are equal
        return message.empty(), message.empty()
    with warnings.catch_warnings():  # nobody's answers: the same quote every time
        warnings.simplefilter("ignore", NotPrivateWarning)
        entropy = Reproducible(seed)
        answers, names = _people(scene, size, entropy)
        reports = message.randomize(answers, entropy)
    alike = _alike(reports) if scene.crowd.source == "report" else None
    if isinstance(message, PositionedBit):
        names = reports.column("position")
    names = names if alike is None else alike
    kept = thresholded(scene.crowd, _rows(names), _rows(np.arange(len(answers))), entropy)
    kept = np.ascontiguousarray(kept).view("<u4").ravel()
    first = kept[:0] if alike is None else kept[np.unique(alike[kept], return_index=True)[1]]
    return message.absorb(None, reports[kept]), message.absorb(None, reports[first])


def _people(scene: Rehearsal, size: int, entropy: Entropy) -> tuple[list[Any], NDArray[Any]]:
    """An answer for each report, evenly spread, and the number of its crowd if that is not made of the report."""
    import numpy as np

    known, crowd, turns = _answers(scene), scene.crowd, np.arange(size)
    answers: list[Any] = [known[turn % len(known)] for turn in range(size)]
    if crowd.source == "attribute":
        return answers, (turns // len(known) % len(crowd.values)).astype("<u4")
    if crowd.source != "answer":
        return answers, turns.astype("<u4")
    names = [crowd.name(b"", answer=answer) for answer in known]
    listed = sorted({*names, *(crowd.public_names() if isinstance(crowd.dummies, DummyReports) else ())})
    numbers = np.array([listed.index(name) for name in names], dtype="<u4")[turns % len(known)]
    if isinstance(crowd.dummies, DummyReports):  # crowds of dummies never come through
        extra = crowd.dummies.draw(len(listed), entropy)
        answers += [None] * sum(extra)
        numbers = np.concatenate([numbers, np.repeat(np.arange(len(extra), dtype="<u4"), extra)])
    return answers, numbers


def _answers(scene: Rehearsal) -> Sequence[Any]:
    """What people may answer: all of the domain, the candidates, or both ends of a range."""
    protocol: Any = scene.protocol
    if isinstance(protocol, OpenProtocol):
        return scene.candidates
    nothing = protocol.estimate(protocol.empty())
    if isinstance(nothing, Estimates):
        return list(nothing.labels)
    return [float(bound) for bound in checks.interval(bounds=protocol.bounds)]


def _alike(reports: Reports) -> NDArray[Any]:
    """A number for each report, the same for equal ones."""
    import numpy as np

    bits = [column.to_bits(held, len(reports)) for column, held in reports._pairs()]
    packed = np.packbits(np.concatenate(bits, axis=1), axis=1)
    kinds = np.ascontiguousarray(packed).view(np.dtype((np.void, packed.shape[1]))).ravel()
    return np.unique(kinds, return_inverse=True)[1].ravel().astype("<u4")


def _rows(numbers: NDArray[Any]) -> NDArray[np.uint8]:
    import numpy as np

    return np.ascontiguousarray(numbers, dtype="<u4").view(np.uint8).reshape(-1, 4)
