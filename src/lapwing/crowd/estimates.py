"""What reports say: unbiased counts, two standard errors, and how much a liar can move them.

There are two questions, and each has its own error. About *these respondents* (the people who answered), only the coins
are random: `interval("respondents")`. About *a larger population* from which they were drawn at random, the sampling
adds to the error: `interval("sample")`. The attributes have earlier names: `population_standard_error` is about these
respondents, taken as the whole population, and `sample_standard_error` about the larger one.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal
from unicodedata import east_asian_width

from lapwing import checks
from lapwing.errors import InvalidParameter
from lapwing.privacy.notation import signed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

About = Literal["respondents", "sample"]
"""Whom an interval is about: these respondents, or a larger population of which they are a random sample."""
Question = Literal["respondents", "sample", "population"]
"""What callers may write; "population" is the older name of "respondents"."""
SHOWN = 20


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Estimates:
    """How many of n people gave each answer. Estimates may be negative: cutting them off would bias them.

    Privacy: computed from reports that are private already, so it costs nothing more.

    Attributes:
        labels: The answers.
        n: How many people reported.
        counts: The estimated number of people for each answer.
        population_standard_error: Of each count, about these respondents: only the coins are random.
        sample_standard_error: Of each count, about a larger population from which they were drawn at random.
        confidence: Probability that an interval contains the true number.
        remark: Whether the counts are unbiased, in words.

    Raises:
        InvalidParameter: If confidence is not above 0 and below 1.

    >>> from lapwing.crowd import UnaryEncoding
    >>> poll = UnaryEncoding.from_epsilon(epsilon=3, domain=["yes", "no"])
    >>> estimates = poll.estimate(poll.absorb(None, poll.randomize(["yes"] * 3000 + ["no"] * 7000)))
    >>> 2000 < estimates["yes"] < 4000
    True
    """

    labels: Sequence[Any]
    n: int
    counts: NDArray[np.float64]
    population_standard_error: NDArray[np.float64]
    sample_standard_error: NDArray[np.float64]
    gain_per_fake: float
    """How many people one report that does not follow the protocol can add to one count, or take away, at worst."""
    confidence: float = 0.95
    remark: str = "unbiased"

    def __post_init__(self) -> None:
        checks.probability(confidence=self.confidence)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self):,} answers from {self.n:,} reports: print it>"

    @property
    def shares(self) -> NDArray[np.float64]:
        """The estimated share of people for each answer."""
        return self.counts / max(self.n, 1)

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, label: Any) -> float:
        """The estimated count of one answer."""
        try:
            return float(self.counts[list(self.labels).index(label)])
        except ValueError:
            some = ", ".join(map(repr, self.labels[:5])) + (", …" if len(self) > 5 else "")
            raise InvalidParameter("answer", label, "is not one of these answers", f"Write one of: {some}.") from None

    def interval(
        self, about: Question = "sample", *, simultaneous: bool = False
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Ends of normal intervals for the counts.

        Args:
            about: "sample" if these respondents are a random sample of a larger population, and the intervals are about
                that one: as counts out of n. "respondents" for these respondents themselves: these intervals are
                narrower. ("population" is the older name of "respondents".)
            simultaneous: Whether the confidence is for all answers together (Bonferroni) instead of each by itself.

        Returns:
            The lower ends and the upper ends, in people.

        Raises:
            InvalidParameter: If about is neither "sample" nor "respondents".

        >>> from lapwing.crowd import UnaryEncoding
        >>> poll = UnaryEncoding.from_epsilon(epsilon=3, domain=["yes", "no"])
        >>> estimates = poll.estimate(poll.absorb(None, poll.randomize(["yes"] * 3000 + ["no"] * 7000)))
        >>> low, high = estimates.interval()
        >>> bool((low < estimates.counts).all() and (estimates.counts < high).all())
        True
        """
        subject = about_whom(about)
        failure = float(1 - checks.probability(confidence=self.confidence))
        z = -NormalDist().inv_cdf(failure / 2 / (max(len(self), 1) if simultaneous else 1))
        error = self.sample_standard_error if subject == "sample" else self.population_standard_error
        return self.counts - z * error, self.counts + z * error

    def moved_by(self, fakes: int) -> float:
        """How far so many dishonest reports together can move one share, at worst.

        Args:
            fakes: How many reports do not follow the protocol.

        Returns:
            The largest change of a share (0.01 is one percentage point).

        Raises:
            InvalidParameter: If fakes is not a whole number from 0 on.

        >>> from lapwing.crowd import UnaryEncoding
        >>> poll = UnaryEncoding.from_epsilon(epsilon=3, domain=["yes", "no"])
        >>> estimates = poll.estimate(poll.absorb(None, poll.randomize(["yes"] * 3000 + ["no"] * 7000)))
        >>> 0.01 < estimates.moved_by(fakes=100) < 0.05
        True
        """
        return checks.whole(minimum=0, fakes=fakes) * self.gain_per_fake / max(self.n, 1)

    def onto_simplex(self) -> Estimates:
        """The nearest counts that are not negative and add up to n: more plausible, no longer unbiased.

        Accuracy: the Euclidean projection never increases the distance from the truth as a whole, but small counts are
        cut to zero and large ones reduced; errors and intervals no longer apply to single counts.

        Returns:
            New estimates with these counts. Their remark says that they are biased.

        >>> from lapwing.crowd import UnaryEncoding
        >>> poll = UnaryEncoding.from_epsilon(epsilon=3, domain=["yes", "no"])
        >>> estimates = poll.estimate(poll.absorb(None, poll.randomize(["yes"] * 3000 + ["no"] * 7000)))
        >>> whole = estimates.onto_simplex()
        >>> bool(whole.counts.min() >= 0), round(float(whole.counts.sum()))
        (True, 10000)
        """
        import numpy as np

        falling = -np.sort(-self.counts)
        excess = (np.cumsum(falling) - self.n) / np.arange(1, len(falling) + 1)
        cut = excess[np.flatnonzero(falling >= excess)[-1]] if len(falling) else 0.0
        return replace(self, counts=np.maximum(self.counts - cut, 0.0), remark="projected onto the simplex: biased")

    def top(self, count: int) -> Estimates:
        """The answers with the largest counts, largest first.

        Args:
            count: How many answers to keep.

        Returns:
            The same estimates, of these answers only.

        Raises:
            InvalidParameter: If count is not a whole number from 1 on.

        >>> from lapwing.crowd import UnaryEncoding
        >>> poll = UnaryEncoding.from_epsilon(epsilon=3, domain=["yes", "no"])
        >>> estimates = poll.estimate(poll.absorb(None, poll.randomize(["yes"] * 3000 + ["no"] * 7000)))
        >>> estimates.top(1).labels
        ['no']
        """
        import numpy as np

        order = np.argsort(-self.counts, kind="stable")[: checks.whole(count=count)]
        return replace(
            self,
            labels=[self.labels[place] for place in order.tolist()],
            counts=self.counts[order],
            population_standard_error=self.population_standard_error[order],
            sample_standard_error=self.sample_standard_error[order],
        )

    def rows(self) -> list[dict[str, Any]]:
        """One dictionary for each answer: count, share, standard errors and the ends of the interval.

        Returns:
            A list of dictionaries, in the order of the labels.

        >>> from lapwing.crowd import UnaryEncoding
        >>> poll = UnaryEncoding.from_epsilon(epsilon=3, domain=["yes", "no"])
        >>> estimates = poll.estimate(poll.absorb(None, poll.randomize(["yes"] * 3000 + ["no"] * 7000)))
        >>> [row["answer"] for row in estimates.rows()]
        ['yes', 'no']
        """
        low, high = self.interval()
        columns = zip(
            self.labels,
            self.counts,
            self.shares,
            self.population_standard_error,
            self.sample_standard_error,
            low,
            high,
            strict=True,
        )
        names = ("answer", "count", "share", "population_standard_error", "sample_standard_error", "low", "high")
        return [dict(zip(names, (row[0], *map(float, row[1:])), strict=True)) for row in columns]

    def to_csv(self) -> str:
        """The table as CSV text.

        Returns:
            A header line, then a line for each answer.

        >>> from lapwing.crowd import UnaryEncoding
        >>> poll = UnaryEncoding.from_epsilon(epsilon=3, domain=["yes", "no"])
        >>> estimates = poll.estimate(poll.absorb(None, poll.randomize(["yes"] * 3000 + ["no"] * 7000)))
        >>> estimates.to_csv().splitlines()[0]
        'answer,count,share,population_standard_error,sample_standard_error,low,high'
        """
        out = io.StringIO()
        writer = csv.DictWriter(
            out, ["answer", "count", "share", "population_standard_error", "sample_standard_error", "low", "high"]
        )
        writer.writeheader()
        writer.writerows(self.rows())
        return out.getvalue()

    def __str__(self) -> str:
        shown = self.top(SHOWN) if len(self) > SHOWN else self
        names = aligned(["answer", *map(str, shown.labels)])
        lines = [f"{names[0]} {'people':>12} {'share':>8}   {100 * self.confidence:g} % interval, people"]
        for name, row in zip(names[1:], shown.rows(), strict=True):
            ends = f"{row['low']:z,.0f} to {row['high']:z,.0f}"
            numbers = signed(f"{row['count']:>z12,.0f} {100 * row['share']:>z6.2f} %   {ends}")
            lines.append(f"{name} {numbers}")
        if len(self) > SHOWN:
            lines.append(f"… and {len(self) - SHOWN:,} more")
        lines.append(
            f"{self.n:,} reports, {self.remark}; one fake report can add {self.gain_per_fake:,.1f} people to a count"
        )
        return "\n".join([*lines, *self._shown_intervals()])

    def _shown_intervals(self) -> tuple[str, ...]:
        """Whom the intervals are about that `interval()` gives if nobody says."""
        return (
            f"{100 * self.confidence:g} % intervals: for a larger population of which these {self.n:,} respondents are "
            f"a random sample (as counts out of {self.n:,}).",
            'For these respondents themselves: estimates.interval("respondents"), which is narrower.',
        )


def about_whom(about: Question) -> About:
    """Whom a caller asks about."""
    if about == "population":
        return "respondents"
    checks.one_of(("respondents", "sample"), about=about)
    return about


def aligned(names: list[str]) -> list[str]:
    """Filled up with spaces to one width on a screen, where emoji and ideographs take two columns."""
    widths = [sum(2 if east_asian_width(character) in "WF" else 1 for character in name) for name in names]
    return [name + " " * (max(widths) - width) for name, width in zip(names, widths, strict=True)]


def from_support(
    labels: Sequence[Any],
    support: NDArray[np.integer],
    n: int,
    *,
    if_true: Fraction,
    if_other: Fraction,
    confidence: float = 0.95,
) -> Estimates:
    """Estimates of a *pure* protocol: a report supports the true answer with one probability, others with another.

    Accuracy: (support − n·q)/(p − q) is unbiased. With c people behind an answer its variance is
    (c·p(1−p) + (n−c)·q(1−q))/(p−q)² over the coins; drawing the people adds n·f(1−f), f = c/n (Wang, Blocki, Li and Jha
    2017). The errors put the estimate, cut to 0 … n, in place of c. A fake report that supports an answer adds
    (1 − q)/(p − q) to it, one that does not takes q/(p − q) away.
    """
    import numpy as np

    p, q = float(if_true), float(if_other)
    spread = float(if_true - if_other)
    counts = (np.asarray(support, dtype=np.float64) - n * q) / spread
    inside = np.clip(counts, 0, n)
    coins = (inside * p * (1 - p) + (n - inside) * q * (1 - q)) / spread**2
    drawing = inside * (1 - inside / max(n, 1))
    return Estimates(labels, n, counts, np.sqrt(coins), np.sqrt(coins + drawing), max(1 - q, q) / spread, confidence)
