"""Reports that do not follow the protocol (data poisoning): how much they can move, and how some are noticed.

Somebody who lies in a survey lies about one answer. Somebody who writes a report without tossing the coins lies much
louder, because honest reports are noisy and estimates make up for that. The gain grows as epsilon falls: more privacy,
less robustness (Cao, Jia and Gong 2021; Cheu, Smith and Ullman 2021).

    gain(estimates, fake_share)             what fakes can add to each share, at worst
    suspicious(reports)                     which reports honest people hardly ever send
    fakes.maximal_gain and others           reports to try it with

Accuracy: the checks have a declared false-alarm rate, whatever honest people answer. They find careless fakes only:
fakes that draw the number of ones as honest people do, with no two reports alike, pass. `gain` holds for everybody.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

from lapwing import checks
from lapwing.calls import helpful
from lapwing.checks import Number
from lapwing.crowd.count_mean_sketch import CountMeanSketch
from lapwing.crowd.estimates import Estimates
from lapwing.crowd.hadamard import HadamardResponse
from lapwing.crowd.hadamard_sketch import HadamardCountMeanSketch
from lapwing.crowd.local_hashing import LocalHashing
from lapwing.crowd.protocol import Protocol
from lapwing.crowd.rappor import BasicOneTimeRappor, OneTimeRappor
from lapwing.crowd.reports import Reports, some
from lapwing.crowd.unary import UnaryEncoding

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@helpful
def gain(estimates: Estimates, fake_share: Number) -> NDArray[np.float64]:
    """By how much fake reports can raise each estimated share, at worst.

    A fake takes the place of somebody honest, so with the share β of fakes and a true share f the estimate rises by
    at most β·(g − f), g being `gain_per_fake` (Cao, Jia and Gong 2021). The estimated shares stand in for f.

    Args:
        estimates: The estimates of the collection.
        fake_share: The share β of reports that do not follow the protocol, 0 to 1.

    Returns:
        For each answer the largest change of its share (0.01 is one percentage point).

    Raises:
        InvalidParameter: If fake_share is not a share from 0 to 1.

    >>> from lapwing.crowd import UnaryEncoding
    >>> poll = UnaryEncoding.from_epsilon(epsilon=1, domain=["yes", "no"])
    >>> estimates = poll.estimate(poll.absorb(None, poll.randomize(["yes"] * 1000)))
    >>> bool((gain(estimates, 0.01) > 0.01).all())
    True
    """
    import numpy as np

    share = float(checks.share(fake_share=fake_share))
    return share * (estimates.gain_per_fake - np.clip(estimates.shares, 0, 1))


@dataclass(frozen=True, slots=True)
class Row:
    """Bits of an honest report: independent, `true` of them one with `if_true`, the others with `if_other`.

    How many are true may depend on the answer, so there are several possibilities.
    """

    column: str
    bits: int
    true: tuple[int, ...]
    if_true: Fraction
    if_other: Fraction

    def ones(self) -> NDArray[np.float64]:
        """The distribution of the number of ones, for each possibility: a row of bits + 1 probabilities."""
        import numpy as np
        from scipy.stats import binom

        p, q, k = float(self.if_true), float(self.if_other), self.bits
        return np.array(
            [
                np.convolve(binom.pmf(np.arange(true + 1), true, p), binom.pmf(np.arange(k - true + 1), k - true, q))
                for true in self.true
            ]
        )

    def log_alike(self, size: NDArray[np.int64], bits: int, possible: Sequence[int]) -> NDArray[np.float64]:
        """ln of the chance that `size` honest reports agree in `bits` of their bits, at most.

        Σ_x Π P_i(x) ≤ max_i Σ_x P_i(x)^size by Hölder's inequality, a product over the bits.
        """
        import numpy as np

        def log_sum(probability: Fraction) -> NDArray[np.float64]:
            low, high = sorted((float(probability), float(1 - probability)))
            return np.asarray(size * np.log(high) + np.log1p((low / high) ** size))

        laws = [true * log_sum(self.if_true) + (bits - true) * log_sum(self.if_other) for true in possible]
        return np.asarray(np.max(laws, axis=0))


@dataclass(frozen=True, slots=True)
class Law:
    """What is known about honest reports whatever people answer: a row of bits, and columns drawn uniformly."""

    row: Row | None = None
    uniform: tuple[str, ...] = ()


def honest(protocol: Protocol) -> Law:
    """The law of honest reports, as far as it does not depend on answers."""
    match protocol:
        case UnaryEncoding():
            return Law(Row("bits", protocol.shape[0], (0, 1), protocol._true, protocol._other))
        case BasicOneTimeRappor():
            return Law(Row("bits", protocol.width, (0, 1), *map(protocol.one_probability, (True, False))))
        case OneTimeRappor():
            true = tuple(range(1, protocol.hashes + 1))  # fewer than `hashes` where functions collide
            return Law(Row("bits", protocol.bits, true, *map(protocol.one_probability, (True, False))), ("cohort",))
        case CountMeanSketch():
            return Law(Row("bits", protocol.width, (1,), 1 - protocol.flip, protocol.flip), ("function",))
        case HadamardCountMeanSketch():
            return Law(None, ("function", "coordinate"))
        case LocalHashing():
            return Law(None, ("function",))
        case HadamardResponse():
            return Law(None, tuple(column.name for column in protocol.layout[:-1]))
    return Law()


@dataclass(frozen=True, slots=True, eq=False)
class Suspicion:
    """What one check found. The p-value allows for all that the check looked at.

    Attributes:
        check: What was looked at, such as "ones" or "alike".
        p_value: The probability that honest people look at least as strange.

    >>> from lapwing.crowd import UnaryEncoding, suspicious
    >>> poll = UnaryEncoding.from_epsilon(epsilon=1, domain=["yes", "no", "other"])
    >>> for finding in suspicious(poll.randomize(["yes"] * 1000)).findings:
    ...     print(finding.check, len(finding.reports))
    ones 0
    alike 0
    """

    check: str
    p_value: float
    reports: NDArray[np.intp]
    """Places of the reports that honest people hardly ever send."""


@dataclass(frozen=True, slots=True, eq=False)
class Suspicions:
    """What all checks found. With honest people only, any alarm has probability `false_alarm` at most.

    Attributes:
        n: How many reports were looked at.
        false_alarm: The probability of an alarm if everybody is honest, at most.
        findings: What each check found.

    >>> from lapwing.crowd import UnaryEncoding, suspicious
    >>> poll = UnaryEncoding.from_epsilon(epsilon=1, domain=["yes", "no", "other"])
    >>> found = suspicious(poll.randomize(["yes"] * 1000), false_alarm=1e-9)
    >>> found.alarm, len(found.reports)
    (False, 0)
    """

    n: int
    false_alarm: float
    findings: tuple[Suspicion, ...]

    @property
    def found(self) -> tuple[Suspicion, ...]:
        """The findings, by their old name."""
        warnings.warn("Suspicions.found is now Suspicions.findings.", DeprecationWarning, stacklevel=2)
        return self.findings

    @property
    def alarm(self) -> bool:
        """Whether something is wrong with these reports."""
        return any(suspicion.p_value <= self.false_alarm / len(self.findings) for suspicion in self.findings)

    @property
    def reports(self) -> NDArray[np.intp]:
        """Places of all suspicious reports. Dropping them biases estimates less than keeping them, but does bias."""
        import numpy as np

        return (
            np.unique(np.concatenate([suspicion.reports for suspicion in self.findings]))
            if self.findings
            else np.empty(0, np.intp)
        )

    def __str__(self) -> str:
        said = {"ones": "numbers of ones", "alike": "reports alike", "shared": "functions or coordinates shared"}
        lines = [
            f"{said.get(suspicion.check, suspicion.check)}: p ≤ {max(suspicion.p_value, 1e-300):.2g}"
            + (f", {some(len(suspicion.reports), 'report')} named" if len(suspicion.reports) else "")
            for suspicion in self.findings
        ]
        named = f"suspicious: {some(len(self.reports), 'report')} of {self.n:,}"
        verdict = named if self.alarm else "nothing suspicious was found, but this does not prove that nobody lies"
        return "\n".join(
            [*(lines or ["nothing can be checked: an honest person could send any of these reports"]), verdict]
        )


def suspicious(reports: Reports, *, false_alarm: Number = 1e-6) -> Suspicions:
    """Compare reports with what honest people send, whatever their answers.

    *ones*: the number of ones in a report, one by one and all together; *alike*: reports that are the same, or the same
    in a word of 64 bits, or share a hash function or coordinate, more often than coins allow. Protocols in which a
    report is just an answer (k-ary, binary) offer nothing to check.

    Accuracy: an honest population raises an alarm with probability `false_alarm` at most: every p-value is a proven
    bound, summed over all that is looked at. Each person must report once. Where there are fakes, an honest report that
    happens to look like them may be named with them.

    Args:
        reports: The reports, before they are counted.
        false_alarm: The largest probability of any alarm if everybody is honest.

    Returns:
        What each check found, and the places of suspicious reports. Print it.

    Raises:
        InvalidParameter: If these are not reports, or if false_alarm is not above 0 and below 1.

    >>> from lapwing.crowd import UnaryEncoding
    >>> poll = UnaryEncoding.from_epsilon(epsilon=1, domain=["yes", "no", "other"])
    >>> suspicious(poll.randomize(["yes"] * 1000), false_alarm=1e-9).alarm
    False
    """
    checks.of_kind(Reports, "are not reports", "Look at reports before they are counted.", reports=reports)
    law, alarm = honest(reports.protocol), float(checks.probability(false_alarm=false_alarm))
    todo: list[Callable[[float], Suspicion]] = []
    if reports.n and law.row is not None:
        row = law.row
        todo += [lambda share: _ones(reports, row, share), lambda share: _alike(reports, row, share)]
    if reports.n and law.uniform:
        todo.append(lambda share: _shared(reports, law.uniform, share))
    return Suspicions(reports.n, alarm, tuple(check(alarm / len(todo)) for check in todo))


def _ones(reports: Reports, row: Row, alarm: float) -> Suspicion:
    """Half of the alarms for single reports far out, half for the batch.

    How many of n honest reports have t ones, or more than t, lies stochastically between two binomials: of the least
    and of the greatest probability that an answer gives it.
    """
    import numpy as np
    from scipy.stats import binom

    counts = _popcount(reports.column(row.column))
    exactly = row.ones()
    above = np.cumsum(exactly[:, ::-1], axis=1)[:, ::-1].clip(0, 1)
    below = np.cumsum(exactly, axis=1).clip(0, 1)
    tail = np.minimum(above.max(axis=0), below.max(axis=0))
    far = np.flatnonzero(tail[counts] * 4 * reports.n <= alarm)
    seen = np.bincount(counts, minlength=row.bits + 1)
    more = np.cumsum(seen[::-1])[::-1]
    p_values = [1.0, float(tail[counts].min()) * 2 * reports.n]
    for observed, law in ((seen, exactly), (more[1:], above[:, 1:])):
        high = binom.sf(observed - 1, reports.n, law.max(axis=0))
        low = binom.cdf(observed, reports.n, law.min(axis=0))
        p_values += [float(high.min()) * (4 * row.bits + 2), float(low.min()) * (4 * row.bits + 2)]
    return Suspicion("ones", min(1.0, 2 * min(p_values)), far)


def _alike(reports: Reports, row: Row, alarm: float) -> Suspicion:
    """Reports that agree in all bits, or in a word."""
    import numpy as np

    rows = reports.column(row.column)
    looks, most = rows.shape[1] + 1, max(row.true)
    same, p_value, places = np.zeros(reports.n, dtype=np.int64), 1.0, [np.empty(0, dtype=np.intp)]
    for i in range(rows.shape[1]):
        bits = min(64, row.bits - 64 * i)
        law = partial(row.log_alike, bits=bits, possible=range(min(most, bits) + 1))
        word = np.unique(rows[:, i], return_inverse=True)[1].ravel()
        p, members = _clusters(word, law, alarm / looks)
        p_value, places = min(p_value, p), [*places, members]
        same = np.unique(same * reports.n + word, return_inverse=True)[1].ravel()
    p, members = _clusters(same, partial(row.log_alike, bits=row.bits, possible=row.true), alarm / looks)
    return Suspicion("alike", min(1.0, looks * min(p_value, p)), np.unique(np.concatenate([*places, members])))


def _shared(reports: Reports, columns: tuple[str, ...], alarm: float) -> Suspicion:
    """Reports that share what everybody draws uniformly."""
    import numpy as np

    looks, p_value, places = len(columns), 1.0, [np.empty(0, dtype=np.intp)]
    sizes = {column.name: column.below or 1 for column in reports.protocol.layout}
    for name in columns:
        numbers = np.unique(reports.column(name), return_inverse=True)[1].ravel()
        p, members = _clusters(numbers, partial(_log_shared, below=sizes[name]), alarm / looks)
        p_value, places = min(p_value, p), [*places, members]
    return Suspicion("shared", min(1.0, looks * p_value), np.unique(np.concatenate(places)))


def _clusters(
    numbers: NDArray[np.intp], log_alike: Callable[[NDArray[np.int64]], NDArray[np.float64]], alarm: float
) -> tuple[float, NDArray[np.intp]]:
    """How likely the largest group of equal numbers is at most, and the members of groups that are too large.

    There is a group of r among n with probability C(n, r)·P(r reports agree) at most; whoever has r has fewer, too.
    """
    import numpy as np
    from scipy.special import gammaln

    sizes, n = np.bincount(numbers), len(numbers)
    size = np.arange(1, int(sizes.max()) + 1)
    chance = gammaln(n + 1) - gammaln(size + 1) - gammaln(n - size + 1) + log_alike(size)
    bound = np.minimum.accumulate(np.exp(np.minimum(chance, 0.0)))
    return float(bound[-1]), np.flatnonzero(bound[sizes[numbers] - 1] <= alarm)


def _log_shared(size: NDArray[np.int64], below: int) -> NDArray[np.float64]:
    import numpy as np

    return np.asarray((1 - size) * np.log(below))


def _popcount(rows: NDArray[np.uint64]) -> NDArray[np.int64]:
    import numpy as np

    of_a_byte = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1, dtype=np.uint8)
    return np.asarray(of_a_byte[np.ascontiguousarray(rows).view(np.uint8)].sum(axis=1, dtype=np.int64))
