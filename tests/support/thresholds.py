"""Simulated people whose reports go through the shuffler's own code: what comes through, for tests of estimates."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from lapwing.collect.crowds import Crowd
from lapwing.collect.removals import Removal
from lapwing.collect.shuffler import thresholded
from lapwing.crowd import BinaryResponse, CategoryResponse, Counts, LocalHashing, UnaryEncoding
from lapwing.crowd.intervals import exact_estimate
from lapwing.crowd.protocol import Protocol
from lapwing.mechanisms.dummies import DummyReports
from lapwing.noise import Reproducible

MISSES = 0.05


def crowd_of(source: Any, threshold: int = 20, mean_drop: int = 10, sigma: int = 2, **named: Any) -> Crowd:
    return Crowd(
        source=source,
        threshold=threshold,
        mean_drop=mean_drop,
        sigma=Fraction(sigma),
        delta=Fraction(1, 100),
        **named,
    )


@dataclass(frozen=True)
class Case:
    """People with these shares of answers, a crowd for each report, attribute or answer, and a threshold."""

    protocol: Protocol
    crowd: Crowd
    labels: tuple[Any, ...]
    shares: tuple[float, ...]
    people: int
    parts: int = 1
    regions: int = 1
    each: int = 1

    def run(self, seed: int) -> tuple[Removal, np.ndarray]:
        """What comes through the shuffler's own code, and how many people gave each answer."""
        generator, entropy = np.random.default_rng(seed), Reproducible(seed)
        counts, kinds, truth = self.protocol.empty(), self.protocol.empty(), np.zeros(len(self.labels), dtype=int)
        for _ in range(self.parts):
            places = generator.choice(len(self.labels), self.people, p=self.shares)
            truth += np.bincount(places, minlength=len(self.labels))
            came, kind = self._part(places, generator, entropy)
            counts, kinds = counts.merge(came), kinds.merge(kind)
        return Removal(self.crowd, self.parts * self.people, self.parts, counts, kinds), truth

    def run_in_fragments(self, seed: int) -> Removal:
        """Each person sends several reports, each through a shuffler that coins choose; some get lost."""
        generator, entropy = np.random.default_rng(seed), Reproducible(seed)
        places = generator.choice(len(self.labels), self.people, p=self.shares)
        sent = np.repeat(places, generator.binomial(self.each, 0.9, self.people))
        shufflers = generator.integers(self.parts, size=len(sent))
        counts, kinds = self.protocol.empty(), self.protocol.empty()
        for shuffler in range(self.parts):
            came, kind = self._part(sent[shufflers == shuffler], generator, entropy)
            counts, kinds = counts.merge(came), kinds.merge(kind)
        return Removal(self.crowd, len(sent), self.parts, counts, kinds, self.each)

    def _part(self, places: np.ndarray, generator: Any, entropy: Reproducible) -> tuple[Counts, Counts]:
        answers: list[Any] = [self.labels[place] for place in places]
        names = places.copy()
        if self.crowd.dummies is not None:
            extra = self.crowd.dummies.draw(len(self.labels) + 1, entropy)
            answers += [None] * sum(extra)
            names = np.concatenate([names, np.repeat(np.arange(len(extra)), extra)])
        reports = self.protocol.randomize(answers, entropy)
        bits = [column.to_bits(held, len(answers)).reshape(len(answers), -1) for column, held in reports._pairs()]
        alike = np.unique(np.concatenate(bits, axis=1), axis=0, return_inverse=True)[1].ravel()
        if self.crowd.source == "report":
            names = alike
        elif self.crowd.source == "attribute":  # those with the first answer live in the smallest region
            names = np.where(places == 0, 0, generator.integers(self.regions, size=len(places)))
        numbers = np.arange(len(answers), dtype="<u4").view(np.uint8).reshape(-1, 4)
        kept = thresholded(self.crowd, names.astype("<u4").view(np.uint8).reshape(-1, 4), numbers, entropy)
        kept = np.ascontiguousarray(kept).view("<u4").ravel()
        first = kept[np.unique(alike[kept], return_index=True)[1]] if self.crowd.source == "report" else kept[:0]
        return self.protocol.absorb(None, reports[kept]), self.protocol.absorb(None, reports[first])

    def estimated(self, counts: Counts) -> Any:
        """As the analyzer does it."""
        if isinstance(self.protocol, LocalHashing):
            return self.protocol.estimate(counts, self.labels)
        return exact_estimate(self.protocol, counts)  # type: ignore[arg-type]

    def missed(self, runs: int) -> dict[str, np.ndarray]:
        """How often the interval of each answer did not hold, about each question."""
        wrong = {name: np.zeros(len(self.labels), dtype=int) for name in ("sample", "respondents")}
        wrong["at once"] = np.zeros(1, dtype=int)
        for seed in range(runs):
            removal, truth = self.run(seed)
            estimates: Any = removal.estimate(self.estimated)
            share = np.array(self.shares) * removal.taken
            for name, goal, at_once in (
                ("sample", share, False),
                ("respondents", truth, False),
                ("at once", share, True),
            ):
                low, high = estimates.interval(
                    "respondents" if name == "respondents" else "sample", simultaneous=at_once
                )
                inside = (low <= estimates.counts) & (estimates.counts <= high)
                assert name == "respondents" or inside.all()
                outside = (goal < low) | (goal > high)
                wrong[name] += outside.any() if at_once else outside
        return wrong


def zipf(count: int) -> tuple[float, ...]:
    weights = [1 / (place + 1) for place in range(count)]
    return tuple(weight / sum(weights) for weight in weights)


LETTERS = tuple("abcdefgh")
WORDS = tuple(f"w{number}" for number in range(60))
BITS = UnaryEncoding.from_epsilon(1, domain=LETTERS)
WORD = CategoryResponse.from_epsilon(3, domain=WORDS)
CASES = {
    "two kinds": Case(BinaryResponse.from_epsilon(1), crowd_of("report"), (True, False), (0.3, 0.7), 300),
    "one kind is too small": Case(BinaryResponse.from_epsilon(4), crowd_of("report"), (True, False), (0.04, 0.96), 300),
    "kinds of eight bits, nearly all rare": Case(BITS, crowd_of("report"), LETTERS, zipf(8), 600),
    "kinds of eight bits, half of them rare": Case(BITS, crowd_of("report", 5, 6, 2), LETTERS, zipf(8), 3_000),
    "many words just at the threshold": Case(WORD, crowd_of("report", 12, 6, 2), WORDS, (1 / 60,) * 60, 1_200),
    "many words, five batches": Case(WORD, crowd_of("report", 8, 6, 2), WORDS, zipf(60), 400, parts=5),
    "regions, one of them small": Case(BITS, crowd_of("attribute"), LETTERS, zipf(8), 500, regions=20),
    "answers": Case(BITS, crowd_of("answer"), LETTERS, zipf(8), 300),
    "answers with dummies": Case(
        CategoryResponse.from_epsilon(1, domain=LETTERS),
        crowd_of("answer", 40, dummies=DummyReports(epsilon=2, delta=0.001, relation="replace"), values=LETTERS),
        LETTERS,
        zipf(8),
        500,
    ),
    "hashed reports": Case(LocalHashing.from_epsilon(2), crowd_of("report", 2, 6, 2), LETTERS, zipf(8), 400),
    "hashed answers": Case(LocalHashing.from_epsilon(1), crowd_of("answer"), LETTERS, zipf(8), 400),
    "words as answers, most of them rare": Case(WORD, crowd_of("answer", 8, 6, 2), WORDS, zipf(60), 500, parts=2),
}

FEW_WORDS = CategoryResponse.from_epsilon(3, domain=WORDS[:20])
IN_FRAGMENTS = {
    "words, most of them rare": Case(FEW_WORDS, crowd_of("report"), WORDS[:20], zipf(20), 150, parts=2, each=3),
    "two kinds": Case(
        BinaryResponse.from_epsilon(2), crowd_of("report"), (True, False), (0.03, 0.97), 150, parts=2, each=4
    ),
    "kinds of eight bits": Case(BITS, crowd_of("report", 5, 6, 2), LETTERS, zipf(8), 400, parts=3, each=3),
    "regions": Case(BITS, crowd_of("attribute"), LETTERS, zipf(8), 250, regions=20, parts=2, each=2),
    "hashed": Case(LocalHashing.from_epsilon(2), crowd_of("report", 2, 6, 2), LETTERS, zipf(8), 150, parts=2, each=3),
    "hashed, by region": Case(
        LocalHashing.from_epsilon(2), crowd_of("attribute"), LETTERS, zipf(8), 250, regions=9, parts=2, each=3
    ),
}
