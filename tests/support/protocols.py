"""Every local protocol beside an independent account of it: what a report is, with which probability, and how far off.

A protocol joins all laws of tests/crowd/test_contract.py by one `Case` in `ALL_PROTOCOLS`. What a case says is written
down from the literature and in plain Python, with nothing of the protocol but its public parameters.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.crowd import Counts, Estimates, Protocol, Reports, UnaryEncoding
from lapwing.crowd.binary import BinaryResponse
from lapwing.crowd.categories import CategoryResponse
from lapwing.crowd.count_mean_sketch import CountMeanSketch
from lapwing.crowd.fragments import SequenceFragmentPuzzle
from lapwing.crowd.hadamard import HadamardResponse
from lapwing.crowd.hadamard_sketch import HadamardCountMeanSketch
from lapwing.crowd.hybrid import Hybrid
from lapwing.crowd.local_hashing import LocalHashing
from lapwing.crowd.monitoring import Monitoring
from lapwing.crowd.numeric import MeanEstimate, Piecewise, StochasticRounding
from lapwing.crowd.prefixes import END, PrefixExtension, PrefixTree, TreeHist
from lapwing.crowd.rappor import BasicOneTimeRappor, BasicRappor, OneTimeRappor, Rappor
from lapwing.crowd.square_wave import SquareWave
from lapwing.crowd.unknown import UnknownDictionary
from lapwing.mechanisms.probabilities import flip_probability

Report = tuple[int, ...]
"""A bit or a number for each column; a row of bits is the number it spells, lowest bit first."""
Law = dict[Report, Fraction]
Variances = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Of every estimate: over the coins for these people, and over people drawn at random, too."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """A protocol of ordinary size, one of the same class so small that everything can be enumerated, and the theory."""

    name: str
    protocol: Protocol
    answers: Sequence[Any]
    tiny: Protocol
    tiny_answers: Sequence[Any]
    """Some of them strangers to the domain, where there is one."""
    law: Callable[[Any, Any], Law]
    """(tiny protocol, answer) → the probability of every report."""
    others: Mapping[str, Any]
    """Another value for every public parameter of `protocol`."""
    variances: Callable[[Any, Sequence[Any], Sequence[Any]], Variances] | None = None
    """(protocol, everybody's answer, what is estimated) → variances; None: no estimator that is unbiased."""
    labels: Sequence[Any] | None = None
    """What is estimated, if not `answers`; a single None stands for the sum of numbers."""
    candidates: bool = False
    """Whether the estimator has to be told what to estimate."""
    asked: Callable[[Any, Counts, Sequence[Any]], Estimates] | None = None
    """(protocol, counts, labels) → what is unbiased, if `estimate` makes a choice."""
    score: Callable[[Any, Any], float] = lambda answer, label: answer == label
    """(answer, label) → what somebody with this answer adds to the truth."""
    additive: bool = True
    """Whether estimates are sums over reports."""
    resalted: Callable[[int], Protocol] | None = None
    """The same with other hash functions, where estimates are unbiased over these only."""
    population_error_is_a_bound: bool = False
    exactly: bool = True
    """Whether the variances are exact also for the tiny protocol."""
    people: int = 1000

    def __str__(self) -> str:
        return self.name

    def weights(self) -> NDArray[np.float64]:
        """A skewed population."""
        falling = 1 / np.arange(1, len(self.answers) + 1)
        return falling / falling.sum()

    def drawn(self, n: int, chance: np.random.Generator) -> list[Any]:
        """Somebody's answer, n times."""
        return [self.answers[place] for place in chance.choice(len(self.answers), n, p=self.weights()).tolist()]

    def estimated(self) -> Sequence[Any]:
        """What is estimated."""
        return self.answers if self.labels is None else self.labels

    def truth(self, people: Sequence[Any]) -> NDArray[np.float64]:
        """What should be estimated."""
        numbers = Counter(people)
        return np.array(list(numbers.values()), dtype=np.float64) @ self.scores(list(numbers))

    def scores(self, people: Sequence[Any]) -> NDArray[np.float64]:
        """What each of these people adds to the truth."""
        if self.estimated() == (None,):
            bounds: Any = getattr(self.protocol, "bounds", None)
            return np.clip(np.array(people, dtype=np.float64), *map(float, bounds))[:, None]
        return np.array([[self.score(answer, label) for label in self.estimated()] for answer in people], dtype=float)

    def estimate(self, state: Counts) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Estimates, and their population and sample standard errors; of a mean, n times these."""
        protocol: Any = state.protocol
        found: Estimates | MeanEstimate
        if self.asked is not None:
            found = self.asked(protocol, state, self.estimated())
        else:
            found = protocol.estimate(state, self.estimated()) if self.candidates else protocol.estimate(state)
        if isinstance(found, MeanEstimate):
            numbers = (found.mean, found.population_standard_error, found.sample_standard_error)
            return tuple(np.array([found.n * number]) for number in numbers)  # type: ignore[return-value]
        return found.counts, found.population_standard_error, found.sample_standard_error


# --- reports ---------------------------------------------------------------------------------------------------------


def written(reports: Reports) -> list[Report]:
    """Reports as the laws write them."""
    columns = []
    for column, held in zip(reports.protocol.layout, reports.columns, strict=True):
        bits = column.to_bits(held, reports.n).astype(np.int64 if column.bits < 63 else object)
        columns.append((bits << np.arange(column.bits)).sum(axis=1).tolist() if reports.n else [])
    return list(zip(*columns, strict=True))


def marginals(law: Law, layout: Sequence[Any]) -> list[Fraction]:
    """The probability that a bit is one, for every bit of every column that consists of bits."""
    found = []
    for place, column in enumerate(layout):
        if column.kind != "number":
            for bit in range(column.bits):
                found.append(sum((p for report, p in law.items() if report[place] >> bit & 1), Fraction(0)))
    return found


def loss_ratio(laws: Iterable[Law]) -> Fraction:
    """The largest ratio of the probabilities of one report under two answers."""
    listed = list(laws)
    reports = set().union(*listed)
    return max(max(law[report] for law in listed) / min(law[report] for law in listed) for report in reports)


# --- the law of every protocol ---------------------------------------------------------------------------------------


def independent_bits(probabilities: Sequence[Fraction]) -> dict[int, Fraction]:
    """The law of a row of independent bits."""
    law = {0: Fraction(1)}
    for place, p in enumerate(probabilities):
        law = {row | bit << place: q * (p if bit else 1 - p) for row, q in law.items() for bit in (0, 1)}
    return law


def binary_law(protocol: BinaryResponse, answer: Any) -> Law:
    yes = Fraction(protocol.yes_if_yes if answer == 1 else protocol.yes_if_no)
    return {(1,): yes, (0,): 1 - yes}


def category_law(protocol: CategoryResponse, answer: Any) -> Law:
    domain = _listed(protocol.domain)
    k, keep = len(domain), Fraction(protocol.keep)
    if answer not in domain:
        return {(place,): Fraction(1, k) for place in range(k)}
    return {(place,): keep if domain[place] == answer else (1 - keep) / (k - 1) for place in range(k)}


def unary_law(protocol: UnaryEncoding, answer: Any) -> Law:
    p, q = Fraction(protocol.one_if_true), Fraction(protocol.one_if_other)
    return {
        (row,): c for row, c in independent_bits([p if a == answer else q for a in _listed(protocol.domain)]).items()
    }


def rounding_law(protocol: StochasticRounding | Hybrid, answer: Any) -> Law:
    flip, share = Fraction(protocol.flip), _share(protocol, answer)
    one = flip + (1 - 2 * flip) * share
    return {(1,): one, (0,): 1 - one}


def piecewise_law(protocol: Piecewise | Hybrid, answer: Any) -> Law:
    width, total, inside = protocol.window, protocol.cells, Fraction(protocol.inside)
    place = _share(protocol, answer) * (total - width)
    law = {(cell,): Fraction(0) for cell in range(total)}
    for start, chance in ((math.floor(place), 1 - place % 1), (math.floor(place) + 1, place % 1)):
        for cell in range(total):
            here = start <= cell < start + width
            law[cell,] += chance * (inside / width if here else (1 - inside) / (total - width))
    return law


def hybrid_law(protocol: Hybrid, answer: Any) -> Law:
    share, cells = Fraction(protocol.piecewise_share), protocol.cells
    law = {report: share * chance for report, chance in piecewise_law(protocol, answer).items()}
    for (bit,), chance in rounding_law(protocol, answer).items():
        law[cells + bit,] = (1 - share) * chance
    return {report: chance for report, chance in law.items() if chance}


def _share(protocol: Any, answer: Any) -> Fraction:
    """How far between the bounds; the answers here lie on levels, so nothing is rounded."""
    low, high = map(Fraction, protocol.bounds)
    return (min(max(Fraction(answer), low), high) - low) / (high - low) if _is_number(answer) else Fraction(1, 2)


def _is_number(answer: Any) -> bool:
    return isinstance(answer, (int, float, Fraction, Decimal)) and math.isfinite(answer)


def _listed(domain: Any) -> Sequence[Any]:
    return range(domain) if isinstance(domain, int) else domain


PRIME = 2**25 - 39


def plain_words(tag: bytes, salt: bytes, text: bytes, count: int) -> list[int]:
    """The first words of a digest, below the prime: the definition in hashing.py, in plain whole numbers."""
    digest = hashlib.sha256(tag + b"\0" + salt + b"\0" + text).digest()
    return [int.from_bytes(digest[4 * i : 4 * i + 4], "little") % PRIME for i in range(count)]


def plain_cell(text: bytes, salt: bytes, row: int, width: int) -> int:
    """The cell of a text under hash function `row`."""
    u, v = plain_words(b"lapwing item 1", salt, text, 2)
    a, b, c, d, e = plain_words(b"lapwing row 1", salt, row.to_bytes(8, "little"), 5)
    return width * ((a * u * u + b * u + c * v * v + d * v + e) % PRIME) // PRIME


def plain_text(answer: Any) -> bytes:
    """The bytes that stand for an answer."""
    if isinstance(answer, str):
        return answer.encode("utf-8", "surrogatepass")
    return b"%d" % answer if isinstance(answer, int) else b"\xff"


def hadamard_law(protocol: HadamardResponse, answer: Any) -> Law:
    domain, count = _listed(protocol.domain), protocol.rows or 0
    cells = 1 << count
    size = 1 << (len(domain) - 1).bit_length()
    wrong, law = flip_probability(protocol.epsilon, others=cells - 1), {}
    for rows in itertools.product(range(size), repeat=count):
        for cell in range(cells):
            if answer not in domain:
                chance = Fraction(1, cells)
            else:
                place = list(domain).index(answer)
                true = sum(((row & place).bit_count() & 1) << i for i, row in enumerate(rows))
                chance = 1 - (cells - 1) * wrong if cell == true else wrong
            law[*rows, cell] = chance / size**count
    return law


def local_hashing_law(protocol: LocalHashing, answer: Any) -> Law:
    cells = protocol.shape[1]
    wrong, law = flip_probability(protocol.epsilon, others=cells - 1), {}
    for function in range(protocol.functions):
        true = plain_cell(plain_text(answer), _salt(protocol), function, cells)
        for cell in range(cells):
            chance = 1 - (cells - 1) * wrong if cell == true else wrong
            law[function, cell] = chance / protocol.functions
    return law


def sketch_law(protocol: CountMeanSketch, answer: Any) -> Law:
    flip, law = flip_probability(Fraction(protocol.epsilon) / 2), {}
    for function in range(protocol.functions):
        cell = plain_cell(plain_text(answer), _salt(protocol), function, protocol.width)
        bits = independent_bits([1 - flip if place == cell else flip for place in range(protocol.width)])
        law |= {(function, row): chance / protocol.functions for row, chance in bits.items()}
    return law


def hadamard_sketch_law(protocol: HadamardCountMeanSketch, answer: Any) -> Law:
    flip, law = flip_probability(protocol.epsilon), {}
    for function in range(protocol.functions):
        cell = plain_cell(plain_text(answer), _salt(protocol), function, protocol.width)
        for coordinate in range(protocol.width):
            minus = (coordinate & cell).bit_count() & 1
            for bit in (0, 1):
                chance = 1 - flip if bit == minus else flip
                law[function, coordinate, bit] = chance / protocol.functions / protocol.width
    return law


def rappor_ones(protocol: Any) -> tuple[Fraction, Fraction]:
    """p* and q* of the paper: that a bit is one if the answer does not set it, and if it does."""
    f = Fraction(protocol.permanent_noise)
    p, q = (Fraction(getattr(protocol, name, one)) for name, one in (("one_if_unset", 0), ("one_if_set", 1)))
    return f / 2 * (p + q) + (1 - f) * p, f / 2 * (p + q) + (1 - f) * q


def rappor_law(protocol: OneTimeRappor, answer: Any) -> Law:
    unset, whether = rappor_ones(protocol)
    law: Law = {}
    for cohort in range(protocol.cohorts):
        functions = range(cohort * protocol.hashes, (cohort + 1) * protocol.hashes)
        filled = {plain_cell(plain_text(answer), _salt(protocol), row, protocol.bits) for row in functions}
        bits = independent_bits([whether if place in filled else unset for place in range(protocol.bits)])
        law |= {(cohort, row): chance / protocol.cohorts for row, chance in bits.items()}
    return law


def basic_rappor_law(protocol: BasicOneTimeRappor, answer: Any) -> Law:
    unset, whether = rappor_ones(protocol)
    domain = _listed(protocol.domain)
    return {(row,): c for row, c in independent_bits([whether if a == answer else unset for a in domain]).items()}


def fragments_law(protocol: SequenceFragmentPuzzle, answer: Any) -> Law:
    """A position, a sketch report about the fragment there with its piece, and one about the whole string."""
    text, size = _filled(protocol, answer), protocol.fragment
    digest = hashlib.sha256(b"lapwing piece 1\0" + _salt(protocol) + b"\0" + plain_text(text)).digest()
    piece = int.from_bytes(digest[:8], "little") % protocol.pieces
    fragments, strings = (_sketch_of(protocol, e) for e in (protocol.epsilon_fragments, protocol.epsilon_strings))
    law: Law = {}
    positions = protocol.length // size
    for position in range(positions):
        part = sketch_law(fragments, f"{piece}\0{text[position * size : (position + 1) * size]}")
        whole = sketch_law(strings, text)
        law |= {(position, *a, *b): p * q / positions for a, p in part.items() for b, q in whole.items()}
    return law


def _filled(protocol: SequenceFragmentPuzzle, answer: Any) -> str:
    text = answer if isinstance(answer, str) else "\ufffd"
    return text[: protocol.length].ljust(protocol.length, protocol.padding)


def _sketch_of(protocol: SequenceFragmentPuzzle, epsilon: Any) -> CountMeanSketch:
    return CountMeanSketch(
        epsilon=epsilon, functions=protocol.functions, width=protocol.width, salt=protocol.salt, unit=protocol.unit
    )


def prefix_law(protocol: PrefixTree, answer: Any) -> Law:
    """A level, and an inner report about the beginning of that length."""
    inner, lengths = _inner(protocol), _lengths(protocol)
    known = isinstance(answer, str) and END not in answer
    law: Law = {}
    for level, length in enumerate(lengths):
        start = answer[:length].ljust(length, END) if known else None
        about = hadamard_sketch_law if isinstance(inner, HadamardCountMeanSketch) else local_hashing_law
        law |= {(level, *report): p / len(lengths) for report, p in about(inner, start).items()}
    return law


def _lengths(protocol: PrefixTree) -> list[int]:
    return [*range(protocol.start, protocol.length, protocol.step), protocol.length]


def _inner(protocol: Any) -> Any:
    same = {"epsilon": protocol.epsilon, "functions": protocol.functions, "salt": protocol.salt}
    if isinstance(protocol, TreeHist):
        return HadamardCountMeanSketch(**same, width=protocol.width)
    return LocalHashing(**same)


def unknown_law(protocol: UnknownDictionary, answer: Any) -> Law:
    """A pair of positions, and three RAPPOR reports: on the whole, and on the two fragments."""
    size, law = protocol.fragment_length, {}
    pairs = list(itertools.combinations(range(protocol.length // size), 2))
    whole = rappor_law(protocol.whole, answer[: protocol.length] if isinstance(answer, str) else None)
    for number, pair in enumerate(pairs):
        pieces = []
        for position in pair:
            filled = answer.ljust(protocol.length, protocol.filler) if isinstance(answer, str) else None
            pieces.append(None if filled is None else filled[position * size : (position + 1) * size])
        first, second = (rappor_law(protocol.fragment, piece) for piece in pieces)
        for (a, p), (b, q), (c, r) in itertools.product(whole.items(), first.items(), second.items()):
            law[number, *a, *b, *c] = p * q * r / len(pairs)
    return law


def monitoring_law(protocol: Monitoring, answer: Any) -> Law:
    """A level, and a fair coin for each of its intervals but the one with the change that is told."""
    history = tuple(answer or ()) + (0,) * protocol.steps
    times = [t for t in range(protocol.steps) if history[t] != (history[t - 1] if t else 0)]
    levels, flip = protocol.steps.bit_length(), flip_probability(protocol.epsilon)
    law: Law = {}
    for level, change in itertools.product(range(levels), range(protocol.changes)):
        ones = [HALF] * (protocol.steps >> level)
        if change < len(times) and times[change] >> level < len(ones):
            ones[times[change] >> level] = 1 - flip if history[times[change]] else flip
        for row, p in independent_bits(ones).items():
            law[level, row] = law.get((level, row), Fraction(0)) + p / (levels * protocol.changes)
    return law


def _salt(protocol: Any) -> bytes:
    return protocol.salt.encode() if isinstance(protocol.salt, str) else bytes(protocol.salt)


# --- variances -------------------------------------------------------------------------------------------------------


def pure_variances(p: Fraction | float, q: Fraction | float, counts: NDArray[np.float64], n: int) -> Variances:
    """A report supports the truth with p and anything else with q (Wang, Blocki, Li and Jha 2017)."""
    p, q = float(p), float(q)
    coins = (counts * p * (1 - p) + (n - counts) * q * (1 - q)) / (p - q) ** 2
    rate = q + (p - q) * counts / n
    return coins, n * rate * (1 - rate) / (p - q) ** 2


def counted(people: Sequence[Any], labels: Sequence[Any]) -> NDArray[np.float64]:
    counts = Counter(people)
    return np.array([counts[label] for label in labels], dtype=np.float64)


def binary_variances(protocol: BinaryResponse, people: Sequence[Any], labels: Sequence[Any]) -> Variances:
    """λ(1−λ)/α² for sampled respondents; for fixed ones only the coins vary."""
    yes = counted(people, [True])
    coins, sample = pure_variances(Fraction(protocol.yes_if_yes), Fraction(protocol.yes_if_no), yes, len(people))
    return np.repeat(coins, 2), np.repeat(sample, 2)


def category_variances(protocol: CategoryResponse, people: Sequence[Any], labels: Sequence[Any]) -> Variances:
    keep, k = Fraction(protocol.keep), len(_listed(protocol.domain))
    return pure_variances(keep, (1 - keep) / (k - 1), counted(people, labels), len(people))


def unary_variances(protocol: UnaryEncoding, people: Sequence[Any], labels: Sequence[Any]) -> Variances:
    p, q = Fraction(protocol.one_if_true), Fraction(protocol.one_if_other)
    return pure_variances(p, q, counted(people, labels), len(people))


def rounding_variances(protocol: StochasticRounding, people: Sequence[Any], labels: Sequence[Any]) -> Variances:
    low, high = map(float, protocol.bounds)
    flip = float(protocol.flip)
    rates = flip + (1 - 2 * flip) * (np.clip(people, low, high) - low) / (high - low)
    scale = ((high - low) / (1 - 2 * flip)) ** 2
    sample = len(people) * rates.mean() * (1 - rates.mean())
    return np.array([scale * (rates * (1 - rates)).sum()]), np.array([scale * sample])


def piecewise_variances(protocol: Piecewise, people: Sequence[Any], labels: Sequence[Any]) -> Variances:
    """That of the continuous mechanism (Wang et al. 2019): t²/(r−1) + (r+3)/(3(r−1)²), r = e^(ε/2), t = −1 … 1."""
    low, high = map(float, protocol.bounds)
    root = math.exp(float(protocol.privacy_loss().epsilon) / 2)
    numbers = np.clip(people, low, high)
    middle, half = (low + high) / 2, (high - low) / 2
    each = ((numbers - middle) / half) ** 2 / (root - 1) + (root + 3) / (3 * (root - 1) ** 2)
    coins = half**2 * each.sum()
    return np.array([coins]), np.array([coins + len(people) * numbers.var()])


def law_variances(protocol: Any, people: Sequence[Any], labels: Sequence[Any]) -> Variances:
    """From the law of every cell: what a report stands for is a line through the cells, or one of two numbers."""
    low, high = map(float, protocol.bounds)
    numbers = np.clip(np.array(people, dtype=np.float64), low, high)
    kinds, places = np.unique(numbers, return_inverse=True)
    each = np.array([_variance_of_one(protocol, number, high - low) for number in kinds])[places]
    return np.array([each.sum()]), np.array([each.sum() + len(people) * numbers.var()])


def _variance_of_one(protocol: Any, number: float, width: float) -> float:
    cells, window, inside = protocol.cells, protocol.window, float(protocol.inside)
    law = hybrid_law(protocol, number) if isinstance(protocol, Hybrid) else piecewise_law(protocol, number)
    slope = inside - window * (1 - inside) / (cells - window)  # of the expected cell over the start of the window
    scale = width / (slope * (cells - window))
    cut = {report: float(p) for report, p in law.items() if report[0] < cells}
    bits = {report: float(p) for report, p in law.items() if report[0] >= cells}
    total, variance = sum(cut.values()), 0.0
    if cut:
        mean = sum(p * cell for (cell,), p in cut.items()) / total
        variance += scale**2 * sum(p * (cell - mean) ** 2 for (cell,), p in cut.items())
    if bits:
        up = bits.get((cells + 1,), 0.0) / (1 - total)
        variance += (1 - total) * up * (1 - up) * (width / (1 - 2 * float(protocol.flip))) ** 2
    return variance


def hadamard_variances(protocol: HadamardResponse, people: Sequence[Any], labels: Sequence[Any]) -> Variances:
    """Two answers share a cell with probability 1/cells (Acharya and Sun 2019, with several rows)."""
    cells = 1 << (protocol.rows or 0)
    true = 1 - (cells - 1) * flip_probability(protocol.epsilon, others=cells - 1)
    return pure_variances(true, Fraction(1, cells), counted(people, labels), len(people))


def local_hashing_variances(protocol: LocalHashing, people: Sequence[Any], labels: Sequence[Any]) -> Variances:
    """Wang, Blocki, Li and Jha 2017, and what pairs of people with one answer and one function add."""
    cells, counts = protocol.shape[1], counted(people, labels)
    true = 1 - (cells - 1) * flip_probability(protocol.epsilon, others=cells - 1)
    coins, sample = pure_variances(true, Fraction(1, cells), counts, len(people))
    pairs = np.array([sum(c * (c - 1) for c in _others(people, label)) for label in labels])
    shared = pairs / (protocol.functions * (cells - 1))
    return coins + shared, sample + shared


def sketch_variances(protocol: CountMeanSketch, people: Sequence[Any], labels: Sequence[Any]) -> Variances:
    """(m/(m−1))²·{n·e^(ε/2)/(e^(ε/2)−1)² + (1/m)(1−1/m)[(1−1/k)Σn_j + Σn_j²/k]}, sums over the other answers."""
    n, m, k = len(people), protocol.width, protocol.functions
    odds = float(1 / flip_probability(Fraction(protocol.epsilon) / 2) - 1)
    found = []
    for label in labels:
        others = np.array(_others(people, label), dtype=float)
        shared = (1 - 1 / k) * others.sum() + (others**2).sum() / k
        found.append(n * odds / (odds - 1) ** 2 + (1 / m) * (1 - 1 / m) * shared)
    coins = (m / (m - 1)) ** 2 * np.array(found)
    counts = counted(people, labels)
    return coins, coins + counts * (1 - counts / n)


def hadamard_sketch_variances(
    protocol: HadamardCountMeanSketch, people: Sequence[Any], labels: Sequence[Any]
) -> Variances:
    """(m/(m−1))²·{n·c² − n_d + (1/m)(1−1/m)Σn_j²/k − Σn_j[1/m² + (1/m)(1−1/m)/k]}, c = (e^ε+1)/(e^ε−1)."""
    n, m, k = len(people), protocol.width, protocol.functions
    odds = float(1 / flip_probability(protocol.epsilon) - 1)
    found = []
    for label in labels:
        others = np.array(_others(people, label), dtype=float)
        apart, once = (1 / m) * (1 - 1 / m) / k, others.sum()
        own = n - once
        found.append(n * ((odds + 1) / (odds - 1)) ** 2 - own + apart * (others**2).sum() - once * (m**-2 + apart))
    coins = (m / (m - 1)) ** 2 * np.array(found)
    counts = counted(people, labels)
    return coins, coins + counts * (1 - counts / n)


def basic_rappor_variances(protocol: BasicOneTimeRappor, people: Sequence[Any], labels: Sequence[Any]) -> Variances:
    unset, whether = rappor_ones(protocol)
    return pure_variances(whether, unset, counted(people, labels), len(people))


def fragments_variances(protocol: SequenceFragmentPuzzle, people: Sequence[Any], labels: Sequence[Any]) -> Variances:
    """Of strings that were listed beforehand: those of their sketch."""
    return sketch_variances(_sketch_of(protocol, protocol.epsilon_strings), people, labels)


def prefix_variances(protocol: PrefixTree, people: Sequence[Any], labels: Sequence[Any]) -> Variances:
    """The last level is a random part of the people: their sample variance, enlarged; less what drawing them adds."""
    chance, inner, levels = np.random.default_rng(4), _inner(protocol), len(_lengths(protocol))
    about = hadamard_sketch_variances if isinstance(inner, HadamardCountMeanSketch) else local_hashing_variances
    sample = []
    for _ in range(10):
        drawn = np.flatnonzero(chance.integers(0, levels, len(people)) == 0)
        some = [people[place] for place in drawn.tolist()]
        sample.append((len(people) / len(some)) ** 2 * about(inner, some, labels)[1])
    counts = counted(people, labels)
    mean = np.mean(sample, axis=0)
    return mean - counts * (1 - counts / len(people)), mean


def monitoring_variances(protocol: Monitoring, people: Sequence[Any], labels: Sequence[Any]) -> Variances:
    """n·c(t)·k²·L/(2p−1)² less s, and less s²/n if the people are drawn."""
    n, yes = len(people), np.array(people, dtype=float).sum(axis=0)
    ones = np.array([step.bit_count() for step in labels])
    apart = float(1 - 2 * flip_probability(protocol.epsilon))
    told = n * ones * protocol.changes**2 * protocol.steps.bit_length() / apart**2
    return told - yes, told - yes**2 / n


def listed_strings(protocol: SequenceFragmentPuzzle, state: Counts, labels: Sequence[Any]) -> Estimates:
    return protocol._looked_up([_filled(protocol, label) for label in labels], state, 0.95)


def listed_texts(protocol: PrefixTree, state: Counts, labels: Sequence[Any]) -> Estimates:
    filled = [label.ljust(protocol.length, END) for label in labels]
    return protocol._of_everybody(protocol._level(state, len(_lengths(protocol)) - 1, filled, 0.95), state.n)


def _others(people: Sequence[Any], label: Any) -> list[int]:
    """How many people gave each of the other answers."""
    return [count for answer, count in Counter(people).items() if answer != label]


# --- the protocols ---------------------------------------------------------------------------------------------------

TOWNS = ("Oslo", "Rome", "Bern", "Riga", "Kyiv", "Cork", "Graz", "Nice", "Lund", "Porto")
WORDS = ("abcdef", "abcd", "fedcba", "hh", "abcdeg", "a", "cafe", "deface", "babe", "gaga")
HALF, QUARTER, EIGHTH = Fraction(1, 2), Fraction(1, 4), Fraction(1, 8)

ALL_PROTOCOLS = [
    Case(
        name="yes or no, fair coins",
        protocol=BinaryResponse.from_coins(HALF, HALF),
        answers=(False, True),
        labels=(True, False),
        tiny=BinaryResponse.from_coins(HALF, HALF),
        tiny_answers=(True, False, None, "yes"),
        law=binary_law,
        variances=binary_variances,
        others={"yes_if_yes": 0.875, "yes_if_no": 0.125, "unit": "household"},
    ),
    Case(
        name="yes or no, unlike coins",
        protocol=BinaryResponse.from_coins(0.6, Fraction(1, 3)),
        answers=(False, True),
        labels=(True, False),
        tiny=BinaryResponse.from_coins(0.6, Fraction(1, 3)),
        tiny_answers=(True, False, None, 2),
        law=binary_law,
        variances=binary_variances,
        others={"yes_if_yes": 0.875, "yes_if_no": 0.125, "unit": "household"},
    ),
    Case(
        name="one of ten",
        protocol=CategoryResponse.from_epsilon(2, domain=TOWNS),
        answers=TOWNS,
        tiny=CategoryResponse.from_epsilon(1, domain=("a", "b", "c")),
        tiny_answers=("a", "b", "c", "d"),
        law=category_law,
        variances=category_variances,
        others={"domain": TOWNS[:9], "keep": 0.75, "unit": "household"},
    ),
    Case(
        name="unary, symmetric",
        protocol=UnaryEncoding.from_epsilon(2, symmetric=True, domain=70),
        answers=range(70),
        tiny=UnaryEncoding.from_epsilon(1, symmetric=True, domain=("a", "b", "c")),
        tiny_answers=("a", "b", "c", "d"),
        law=unary_law,
        variances=unary_variances,
        others={"domain": 71, "one_if_true": 0.875, "one_if_other": 0.125, "unit": "household"},
    ),
    Case(
        name="unary, optimised",
        protocol=UnaryEncoding.from_epsilon(2, domain=TOWNS),
        answers=TOWNS,
        tiny=UnaryEncoding.from_epsilon(1, domain=("a", "b", "c")),
        tiny_answers=("a", "b", "c", "d"),
        law=unary_law,
        variances=unary_variances,
        others={"domain": TOWNS[::-1], "one_if_true": 0.875, "one_if_other": 0.125, "unit": "household"},
    ),
    Case(
        name="mean, one bit",
        protocol=StochasticRounding.from_epsilon(1, bounds=(-10, 30)),
        answers=tuple(range(-12, 34, 3)),
        labels=(None,),
        tiny=StochasticRounding.from_epsilon(1, bounds=(0, 2)),
        tiny_answers=(0, 2, 1, HALF, -5, math.nan, None),
        law=rounding_law,
        variances=rounding_variances,
        others={"bounds": (-10, 31), "flip": 0.25, "unit": "household"},
        population_error_is_a_bound=True,
    ),
    Case(
        name="mean, piecewise",
        protocol=Piecewise.from_epsilon(2, bounds=(-10, 30)),
        answers=tuple(range(-12, 34, 3)),
        labels=(None,),
        tiny=Piecewise.from_epsilon(1, bounds=(0, 2), cells=8),
        tiny_answers=(0, 2, 1, HALF, QUARTER, -5, math.nan, None),
        law=piecewise_law,
        variances=piecewise_variances,
        others={"bounds": (-10, 31), "window": 300, "inside": 0.75, "cells": 1000, "unit": "household"},
        exactly=False,
    ),
    Case(
        name="mean, square wave",
        protocol=SquareWave.from_epsilon(2, bounds=(-10, 30), cells=256),
        answers=tuple(range(-12, 34, 3)),
        labels=(None,),
        tiny=SquareWave.from_epsilon(1, bounds=(0, 2), cells=8),
        tiny_answers=(0, 2, 1, HALF, QUARTER, -5, math.nan, None),
        law=piecewise_law,
        variances=law_variances,
        others={"bounds": (-10, 31), "window": 100, "inside": 0.75, "cells": 250, "unit": "household"},
    ),
    Case(
        name="mean, hybrid",
        protocol=Hybrid.from_epsilon(2, bounds=(-10, 30), cells=256),
        answers=tuple(range(-12, 34, 3)),
        labels=(None,),
        tiny=Hybrid.from_epsilon(1, bounds=(0, 2), cells=8),
        tiny_answers=(0, 2, 1, HALF, QUARTER, -5, math.nan, None),
        law=hybrid_law,
        variances=law_variances,
        others={
            **{"bounds": (-10, 31), "window": 60, "inside": 0.75, "cells": 250, "flip": QUARTER},
            **{"piecewise_share": HALF, "unit": "household"},
        },
        population_error_is_a_bound=True,
    ),
    Case(
        name="Hadamard, one row",
        protocol=HadamardResponse(epsilon=1, domain=TOWNS, rows=1),
        answers=TOWNS,
        tiny=HadamardResponse(epsilon=1, domain=("a", "b", "c"), rows=1),
        tiny_answers=("a", "b", "c", "d"),
        law=hadamard_law,
        variances=hadamard_variances,
        others={"epsilon": 2, "domain": TOWNS[:9], "rows": 2, "unit": "household"},
    ),
    Case(
        name="Hadamard, two rows",
        protocol=HadamardResponse(epsilon=2, domain=TOWNS, rows=2),
        answers=TOWNS,
        tiny=HadamardResponse(epsilon=2, domain=("a", "b", "c"), rows=2),
        tiny_answers=("a", "b", "c", "d"),
        law=hadamard_law,
        variances=hadamard_variances,
        others={"epsilon": 1, "domain": TOWNS[:9], "rows": 1, "unit": "household"},
    ),
    Case(
        name="local hashing",
        protocol=LocalHashing(epsilon=2, salt="a", functions=64),
        answers=TOWNS,
        tiny=LocalHashing(epsilon=1, salt="tiny", functions=4, cells=3),
        tiny_answers=("a", "b", "c", None),
        law=local_hashing_law,
        variances=local_hashing_variances,
        others={"epsilon": 1, "salt": "b", "domain": TOWNS, "functions": 32, "cells": 3, "unit": "household"},
        candidates=True,
        resalted=lambda run: LocalHashing(epsilon=2, salt=f"run {run}", functions=64),
        exactly=False,
    ),
    Case(
        name="count mean sketch",
        protocol=CountMeanSketch(epsilon=4, functions=16, width=32, salt="a"),
        answers=TOWNS,
        tiny=CountMeanSketch(epsilon=1, functions=2, width=3, salt="tiny"),
        tiny_answers=("a", "b", "c", None),
        law=sketch_law,
        variances=sketch_variances,
        others={"epsilon": 1, "salt": "b", "functions": 32, "width": 33, "unit": "household"},
        candidates=True,
        resalted=lambda run: CountMeanSketch(epsilon=4, functions=16, width=32, salt=f"run {run}"),
        exactly=False,
    ),
    Case(
        name="Hadamard count mean sketch",
        protocol=HadamardCountMeanSketch(epsilon=2, functions=16, width=32, salt="a"),
        answers=TOWNS,
        tiny=HadamardCountMeanSketch(epsilon=1, functions=2, width=4, salt="tiny"),
        tiny_answers=("a", "b", "c", None),
        law=hadamard_sketch_law,
        variances=hadamard_sketch_variances,
        others={"epsilon": 1, "salt": "b", "functions": 32, "width": 64, "unit": "household"},
        candidates=True,
        resalted=lambda run: HadamardCountMeanSketch(epsilon=2, functions=16, width=32, salt=f"run {run}"),
        exactly=False,
    ),
    Case(
        name="RAPPOR",
        protocol=Rappor.from_symbols(k=70, h=2, m=4, f=HALF, p=HALF, q=Fraction(3, 4), salt=b"a"),
        answers=TOWNS,
        tiny=Rappor.from_symbols(k=4, h=2, m=2, f=HALF, p=HALF, q=Fraction(3, 4), salt=b"tiny"),
        tiny_answers=("a", "b", "c", "d", "e", "f", "g", None),
        law=rappor_law,
        others={
            **{"permanent_noise": QUARTER, "one_if_unset": QUARTER, "one_if_set": 0.875, "bits": 71, "hashes": 3},
            **{"cohorts": 5, "salt": b"b", "unit": "household"},
        },
    ),
    Case(
        name="RAPPOR, one time",
        protocol=OneTimeRappor(bits=70, hashes=2, cohorts=4, permanent_noise=HALF, salt=b"a"),
        answers=TOWNS,
        tiny=OneTimeRappor(bits=4, hashes=2, cohorts=2, permanent_noise=HALF, salt=b"tiny"),
        tiny_answers=("a", "b", "c", "d", "e", "f", "g", None),
        law=rappor_law,
        others={
            **{"permanent_noise": QUARTER, "bits": 71, "hashes": 3, "cohorts": 5, "salt": b"b", "unit": "household"},
        },
    ),
    Case(
        name="RAPPOR, basic",
        protocol=BasicRappor(domain=TOWNS, permanent_noise=HALF, one_if_unset=QUARTER, one_if_set=0.75),
        answers=TOWNS,
        tiny=BasicRappor(domain=("a", "b", "c"), permanent_noise=HALF, one_if_unset=QUARTER, one_if_set=0.75),
        tiny_answers=("a", "b", "c", "d"),
        law=basic_rappor_law,
        variances=basic_rappor_variances,
        others={
            **{"domain": TOWNS[:9], "permanent_noise": QUARTER, "one_if_unset": EIGHTH, "one_if_set": 0.875},
            **{"unit": "household"},
        },
    ),
    Case(
        name="RAPPOR, basic and one time",
        protocol=BasicOneTimeRappor(domain=TOWNS, permanent_noise=HALF),
        answers=TOWNS,
        tiny=BasicOneTimeRappor(domain=("a", "b", "c"), permanent_noise=HALF),
        tiny_answers=("a", "b", "c", "d"),
        law=basic_rappor_law,
        variances=basic_rappor_variances,
        others={"domain": TOWNS[:9], "permanent_noise": QUARTER, "unit": "household"},
    ),
    Case(
        name="sequence fragment puzzle",
        protocol=SequenceFragmentPuzzle(
            **{"epsilon_fragments": 3, "epsilon_strings": 4, "functions": 16, "width": 32, "length": 6, "salt": "a"},
            **{"alphabet": "abcdefgh", "pieces": 4},
        ),
        answers=WORDS,
        tiny=SequenceFragmentPuzzle(
            **{"epsilon_fragments": 1, "epsilon_strings": 2, "functions": 1, "width": 2, "length": 2, "fragment": 1},
            **{"alphabet": "abc", "padding": "_", "pieces": 3, "salt": "tiny"},
        ),
        tiny_answers=("ab", "ca", "bb", "a", "", "cccc", "xy", None),
        law=fragments_law,
        variances=fragments_variances,
        others={
            **{"epsilon_fragments": 1, "epsilon_strings": 1, "functions": 32, "width": 33, "length": 8, "fragment": 3},
            **{"alphabet": "abcdefg", "padding": "_", "pieces": 8, "salt": "b", "unit": "household"},
        },
        asked=listed_strings,
        resalted=lambda run: SequenceFragmentPuzzle(
            **{"epsilon_fragments": 3, "epsilon_strings": 4, "functions": 16, "width": 32, "length": 6},
            **{"alphabet": "abcdefgh", "pieces": 4, "salt": f"run {run}"},
        ),
        exactly=False,
    ),
    Case(
        name="prefix extension",
        protocol=PrefixExtension(epsilon=3, alphabet="abcdefgh", length=6, start=3, step=3, functions=64, salt="a"),
        answers=WORDS,
        tiny=PrefixExtension(epsilon=1, alphabet="01", length=2, start=1, step=1, functions=2, salt="tiny"),
        tiny_answers=("00", "10", "1", "", "0111", "x", None),
        law=prefix_law,
        variances=prefix_variances,
        others={
            **{"epsilon": 1, "alphabet": "abcdefg", "length": 7, "start": 2, "step": 2, "keep": 32, "functions": 32},
            **{"salt": "b", "unit": "household"},
        },
        asked=listed_texts,
        additive=False,
        resalted=lambda run: PrefixExtension(
            epsilon=3, alphabet="abcdefgh", length=6, start=3, step=3, functions=64, salt=f"run {run}"
        ),
        exactly=False,
    ),
    Case(
        name="TreeHist",
        protocol=TreeHist(epsilon=3, alphabet="abcdefgh", length=6, start=3, step=3, functions=16, width=32, salt="a"),
        answers=WORDS,
        tiny=TreeHist(epsilon=1, alphabet="01", length=2, functions=2, width=4, salt="tiny"),
        tiny_answers=("00", "10", "1", "", "0111", "x", None),
        law=prefix_law,
        variances=prefix_variances,
        others={
            **{"epsilon": 1, "alphabet": "abcdefg", "length": 7, "start": 2, "step": 2, "keep": 32, "functions": 32},
            **{"width": 64, "salt": "b", "unit": "household"},
        },
        asked=listed_texts,
        additive=False,
        resalted=lambda run: TreeHist(
            **{"epsilon": 3, "alphabet": "abcdefgh", "length": 6, "start": 3, "step": 3, "functions": 16, "width": 32},
            salt=f"run {run}",
        ),
        exactly=False,
    ),
    Case(
        name="unknown dictionary",
        protocol=UnknownDictionary(
            whole=OneTimeRappor(bits=70, hashes=2, cohorts=4, permanent_noise=HALF, salt=b"a"),
            fragment=OneTimeRappor(bits=40, hashes=2, cohorts=2, permanent_noise=QUARTER, salt=b"b"),
            alphabet="abcdefgh",
            length=6,
        ),
        answers=WORDS,
        tiny=UnknownDictionary(
            whole=OneTimeRappor(bits=2, hashes=1, cohorts=1, permanent_noise=HALF, salt=b"tiny"),
            fragment=Rappor.from_symbols(k=2, h=1, m=1, f=HALF, p=QUARTER, q=Fraction(3, 4), salt=b"tiny"),
            alphabet="abcd",
            length=3,
            fragment_length=1,
        ),
        tiny_answers=("abc", "bca", "cdd", "ddd", "a", "", "abcdef", "xyz", None),
        law=unknown_law,
        others={
            "whole": OneTimeRappor(bits=70, hashes=2, cohorts=4, permanent_noise=HALF, salt=b"c"),
            "fragment": OneTimeRappor(bits=40, hashes=2, cohorts=3, permanent_noise=QUARTER, salt=b"b"),
            **{"alphabet": "abcdefg", "length": 8, "fragment_length": 3, "filler": "_", "unit": "household"},
        },
    ),
    Case(
        name="monitoring",
        protocol=Monitoring(steps=5, changes=2, epsilon=2),
        answers=((0, 0, 0, 0, 0), (1, 1, 1, 1, 1), (0, 1, 1, 0, 0), (0, 0, 0, 0, 1), (1, 1, 0, 0, 0)),
        labels=range(1, 6),
        tiny=Monitoring(steps=5, changes=1, epsilon=1),
        tiny_answers=((1, 1, 1, 1, 1), (0, 1, 1, 1, 1), (0, 0, 0, 0, 0), (0, 0, 1, 1, 1), (0, 0, 0, 0, 1), None),
        law=monitoring_law,
        variances=monitoring_variances,
        others={"steps": 6, "changes": 3, "epsilon": 1, "unit": "household"},
        score=lambda history, step: history[step - 1],
    ),
]
