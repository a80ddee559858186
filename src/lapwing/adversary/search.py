"""Searches for a counter-example to a claimed epsilon: two neighbours and an event. It needs only the function.

Many pairs of neighbours get few releases, the best third of them more, and so on (successive halving); the one that is
left gets an audit. What a pair seems to show is judged by the best event found on its outputs: the search of StatDP
(Ding et al., CCS 2018), whose score over all coordinates is the learned likelihood ratio of DP-Sniper (Bichsel et al.,
S&P 2021).

Proof that the bound is wrong with probability at most 1 − confidence: the pair is chosen from earlier releases, the
event from the first half of the audit's, and the number of the other half is fixed before they are made. Given all
that, the pair and the event are constants and the fresh releases are independent of how they were found, so
`auditor.py` applies to them, and an average over all ways to get there is no larger than the worst. There is one
final test of floats read as real numbers, with nine digits, and, if that refutes nothing, one more of all their bits;
the two share what the confidence leaves. Both read the output after it was made, which can only lower epsilon, so both
bound the epsilon of the function itself. Pre-conditions: releases are independent, and the pairs are neighbours.
"""

from __future__ import annotations

import contextlib
import io
import math
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from lapwing import checks
from lapwing.adversary.auditor import LIMITS, Audit, Pair, evidence, measure, release_of
from lapwing.adversary.domains import MOST_PAIRS, domain_of, given_pairs
from lapwing.adversary.events import CAUTION, best_events
from lapwing.adversary.intervals import quick_limits
from lapwing.adversary.observations import FAILED, LEAST, Release, observe
from lapwing.adversary.verdict import headline, shortened
from lapwing.calls import helpful
from lapwing.checks import Number
from lapwing.errors import InvalidParameter
from lapwing.exact import float_up
from lapwing.noise import SYSTEM, Entropy, Reproducible
from lapwing.privacy import Relation
from lapwing.privacy.neighbours import as_relation

EFFORT = 0.4
"""The releases of a round on each side, shared by its pairs, as a share of the samples of the audit."""
KEPT = 3
"""One in so many pairs reaches the next round; among so many the last round decides."""
FEWEST = 48
"""Releases of a pair on each side in a round, at least."""
LENIENT = 15
"""The error allowed when pairs are compared (times `CAUTION`): a wrong choice costs power, never soundness."""
INEXACT = (
    "As mathematics the function was not refuted. The lowest bits or the type of its numbers reveal the data (Mironov, "
    "CCS 2012). Round to a grid and add whole steps of noise, as lapwing does"
)
VOID = FAILED, "NoneType with a value missing"
"""How outputs are dressed that are none."""
ANALYSIS = 5e-5
"""Seconds, about, to analyse a release on each side."""

Domain = str | Iterable[Any] | Callable[[], Iterable[Any]]
Progress = Callable[[int, int], None]


class Trial(NamedTuple):
    """A pair that was tried: the epsilon it seemed to show when it was last looked at, and the releases it got.

    Attributes:
        pair: The two data sets that were compared.
        seemed: The epsilon that they seemed to show when they were last looked at.
        releases: How many releases each of them got.

    >>> from lapwing.adversary import find_violation
    >>> found = find_violation(lambda data, epsilon: sum(data), epsilon=1, samples=1000, seconds=None)
    >>> best = found.tried[0]
    >>> best.seemed > 1, best.releases > 0
    (True, True)
    """

    pair: Pair
    seemed: float
    releases: int


@dataclass(frozen=True, slots=True, repr=False)
class Search:
    """What a search for a counter-example found. `print` it to see it in words.

    Attributes:
        function: The name of the function that was searched.
        domain: What it was given, in words.

    >>> from lapwing.adversary import find_violation
    >>> found = find_violation(lambda data, epsilon: sum(data), epsilon=1, samples=1000, seconds=None)
    >>> found.audit.caught
    True
    """

    audit: Audit
    """The final test, on fresh releases."""
    tried: tuple[Trial, ...]
    """All pairs, the most telling first."""
    releases: int
    """All releases that were made, the audit's included."""
    hurried: bool
    """Whether there was less time than the search wanted."""
    bits: bool
    """Whether it took the lowest bits or the types of numbers to show this much, where mathematics showed less."""
    function: str
    domain: str

    @property
    def caught(self) -> bool:
        """Whether the claim is refuted."""
        return self.audit.caught

    @property
    def pair(self) -> Pair:
        """The neighbours that show the most."""
        return self.audit.pair

    def __repr__(self) -> str:
        return f"<Search of {self.function}: {self.audit.verdict}, {len(self.tried):,} pairs of neighbours: print it>"

    def __str__(self) -> str:
        pair = self.audit.pair
        said = [headline(self.audit, self.function), *evidence(self.audit)]
        if self.audit.epsilon_lower_bound > 0:
            said.append(f"The first data set: {shortened(pair.first)}. The second: {shortened(pair.second)}.")
        if self.caught and self.bits:
            said.append(f"{INEXACT}.")
        said.append(f"Searched {len(self.tried):,} pairs of neighbours, {self.releases:,} releases.")
        if self.hurried:
            said.append("There was no time for the whole search.")
        return " ".join(said)

    def explain(self) -> str:
        """The finding in words, with what it does and does not prove.

        Returns:
            A few sentences. `print` shows a shorter text.

        >>> from lapwing.adversary import find_violation
        >>> found = find_violation(lambda data, epsilon: sum(data), epsilon=1, samples=1000, seconds=None)
        >>> print(found.explain().partition(".")[0])
        <lambda> is not private with epsilon = 1
        """
        audit, claimed = self.audit, f"epsilon = {self.audit.claimed:g}"
        at = f" with delta = {audit.delta:g}" if audit.delta else ""
        effort = f"{len(self.tried)} pairs of neighbours, {self.releases:,} releases"
        if self.caught:
            effort += f". {INEXACT}" if self.bits else ""
            return (
                f"{self.function} is not private with {claimed}{at}. On {shortened(audit.pair.first)} and on its "
                f"neighbour {shortened(audit.pair.second)}: {audit.explain()} (Searched {effort}.)"
            )
        return f"No violation found up to {claimed}{at} in {effort}. The closest one: {audit.explain()}" + (
            " There was no time for the whole search." if self.hurried else ""
        )

    @property
    def data(self) -> dict[str, Any]:
        """The finding for other programs: only what JSON knows. Inputs that it does not know are written as text."""
        audit = self.audit
        return {
            "function": self.function,
            "domain": self.domain,
            "relation": audit.pair.relation,
            "caught": self.caught,
            "claimed": audit.claimed,
            "delta": audit.delta,
            "epsilon_lower_bound": audit.epsilon_lower_bound,
            "confidence": audit.confidence,
            "ceiling": audit.ceiling,
            "first": _plain(audit.pair.first),
            "second": _plain(audit.pair.second),
            "event": audit.event.description,
            "likelier_on": audit.direction,
            "hits": list(audit.hits),
            "trials": audit.trials,
            "missing": audit.missing,
            "pairs_tried": len(self.tried),
            "releases": self.releases,
            "hurried": self.hurried,
            "bits": self.bits,
        }


@helpful
def find_violation(
    function: Any,
    *,
    epsilon: Number,
    delta: Number = 0,
    relation: Relation | None = None,
    domain: Domain = "numbers 0..1",
    length: int = 10,
    samples: int = 20_000,
    seconds: Number | None = 60,
    confidence: Number = 0.999,
    bits: bool = True,
    seed: int | None = None,
    progress: Progress = lambda done, total: None,
) -> Search:
    """Search for two neighbours and an event that refute a function's claim to be private.

    First floats are read as real numbers. If that refutes nothing, their lowest bits are looked at too. What the
    function prints is not shown.

    Args:
        function: A function of the data. It may return anything, or raise. If it has parameters named epsilon, delta or
            entropy, it gets them.
        epsilon: The epsilon that it claims.
        delta: The delta that it claims.
        relation: "add_remove" or "replace". None takes the first that the domain allows.
        domain: What the data may be, in words ("numbers 0..1", "labels red,green"; see `domains.py`). Or pairs of your
            own, or a function that yields them.
        length: How many people a list has at most.
        samples: How many releases the final audit makes on each data set. The search before it makes about as many.
        seconds: About how long all may take; if releases are slow, there are fewer. None: as long as it takes.
        confidence: The probability that a refutation is right, at least.
        bits: Whether to look at the lowest bits and the types of numbers too.
        seed: A whole number repeats the search exactly, as far as the function takes its randomness from `random`, from
            the global generator of numpy, or from `entropy`, and if the search had time enough. None: fresh randomness.
        progress: A function of (releases done, releases planned), called on the way.

    Returns:
        The audit of the most telling pair, and all pairs that were tried.

    Raises:
        InvalidParameter: If the function fails on every input or returns nothing, or if the domain has no neighbours.

    >>> search = find_violation(lambda data: sum(data), epsilon=1, samples=2000, seed=1)
    >>> search.caught, search.pair.first, search.pair.second, str(search.audit.event)
    (True, [], [1.0], 'the output is 0')
    """
    claimed, at = float_up(checks.not_negative(epsilon=epsilon)), float_up(checks.share(delta=delta))
    count, level = checks.whole(samples=samples, minimum=100), float(checks.probability(confidence=confidence))
    limit = math.inf if seconds is None else float(checks.positive(seconds=seconds))
    longest = checks.whole(length=length)
    release = release_of(function, epsilon=epsilon, delta=delta)
    checks.true_or_false(bits=bits)
    with _seeded(seed) as entropy, contextlib.redirect_stdout(_Nowhere()):
        pairs, described = _pairs(domain, relation, longest, entropy)
        hunt = _Hunt(release, entropy, progress, time.monotonic() + limit, stages=1 + bits)
        searches: list[Search] = []
        while hunt.stage < hunt.stages and not (searches and searches[-1].caught):
            tried, audit = hunt.run(pairs, count, claimed, at, level)
            searches.append(Search(audit, tuple(tried), 0, False, hunt.stage > 1, _name(function), described))
            if not hunt.floats:
                break
    best = max(searches, key=lambda search: search.audit.epsilon_lower_bound)
    return replace(best, releases=hunt.releases, hurried=hunt.hurried)


class _Hunt:
    """A search on its way: its clock, and how many releases it has made of how many."""

    def __init__(self, release: Release, entropy: Entropy, progress: Progress, until: float, stages: int) -> None:
        self.release, self.entropy, self.progress, self.until = release, entropy, progress, until
        self.stage, self.stages = 0, stages
        self.releases, self.total = 0, 1
        self.hurried = self.floats = False

    def tick(self, releases: int) -> None:
        self.releases += releases
        self.progress(min(self.releases, self.total), self.total)

    def run(
        self, pairs: list[Pair], samples: int, claimed: float, delta: float, confidence: float
    ) -> tuple[list[Trial], Audit]:
        """Rank the pairs and test the best: the first time on floats without their lowest bits, then with them."""
        coarse, start = self.stage == 0, time.monotonic()
        until = start + (self.until - start) / (self.stages - self.stage)
        samples = self._plan(pairs, samples, until)
        tried = self._rank(pairs, samples, claimed, delta, (start + until) / 2, coarse)
        before = self.releases
        audit = measure(
            self.release,
            tried[0].pair,
            samples,
            confidence,
            delta,
            claimed,
            self.entropy,
            until=until,
            tick=self.tick,
            coarse=coarse,
            limits=LIMITS * self.stages,
            may_fail=True,
        )
        self.hurried = self.hurried or audit.missing > 0 or self.releases - before < 2 * samples
        self.stage += 1
        return tried, audit

    def _rank(
        self, pairs: list[Pair], samples: int, claimed: float, delta: float, until: float, coarse: bool
    ) -> list[Trial]:
        """The pairs in the order of what they seem to show."""
        order = {id(pair): place for place, pair in enumerate(pairs)}
        ranked, out, failed = [Trial(pair, -math.inf, 0) for pair in pairs], list[Trial](), True
        while True:
            size = max(int(EFFORT * samples / len(ranked)), FEWEST)
            for place, (pair, _, before) in enumerate(ranked):
                if time.monotonic() >= until and ranked[0].releases:
                    self.hurried = True
                    break
                both = pair.first, pair.second
                seen = observe(self.release, both, size, self.entropy, coarse=coarse, until=until, tick=self.tick)
                self.hurried = self.hurried or len(seen[0]) < size
                failed = failed and all(output.dress in VOID for side in seen for output in side)
                self.floats = self.floats or any(type(part) is float for side in seen for part in side[0].parts)
                seemed = max(candidate.shown for candidate in best_events(*seen, LENIENT, delta))
                ranked[place] = Trial(pair, seemed, before + 2 * len(seen[0]))
            steps = math.sqrt(size) / 4  # what differs by less than chance is equal, and the simpler pair comes first
            ranked.sort(key=lambda entry: (-round(max(entry.seemed, -9) * steps), order[id(entry.pair)]))
            if failed:
                _refuse_failure(self.release, ranked[0].pair, self.entropy)
            low, high = quick_limits(size, CAUTION * LENIENT, delta)
            most = low[size] - high[0]  # shown by outputs that never overlap
            if self.hurried or len(ranked) <= KEPT or claimed < most <= ranked[0].seemed:
                return ranked + out
            keep = max(-(-len(ranked) // KEPT), KEPT)
            ranked, out = ranked[:keep], ranked[keep:] + out

    def _plan(self, pairs: list[Pair], samples: int, until: float) -> int:
        """The samples that there is time for, after a look at how long a release takes."""
        rounds = 1 + max(0, math.ceil(math.log(len(pairs) / KEPT, KEPT)))
        releases = int(2 * samples * (1 + EFFORT * rounds))
        if until < math.inf:
            both = pairs[0].first, pairs[0].second
            for _ in range(2):  # the first time there may be something to load
                start = time.monotonic()
                observe(self.release, both, LEAST, self.entropy, until=until, tick=self.tick)
                each = (time.monotonic() - start) / LEAST + ANALYSIS
            share = 0.8 * max(until - time.monotonic(), 0) / (each * releases / 2)
            if share < 1:
                self.hurried, releases = True, int(releases * share)
                samples = max(2 * LEAST, int(samples * share))
        self.total = self.releases + max(1, releases) * (self.stages - self.stage)
        return samples


def _pairs(domain: Domain, relation: Relation | None, length: int, entropy: Entropy) -> tuple[list[Pair], str]:
    if not isinstance(domain, str):
        return given_pairs(domain, as_relation(relation or "add_remove")), "pairs of your own"
    inputs = domain_of(domain)
    about = as_relation(relation or inputs.relations[0])
    if about not in inputs.relations:
        why = "one person's value can only be replaced"
        raise InvalidParameter("relation", about, why, f"Write relation={inputs.relations[0]!r}, or leave it out.")
    if pairs := inputs.pairs(about, length, entropy):
        return pairs[:MOST_PAIRS], inputs.text
    raise InvalidParameter("domain", domain, f"has no neighbours under {about}", "Allow more people, or more values.")


@contextlib.contextmanager
def _seeded(seed: int | None) -> Iterator[Entropy]:
    """Entropy for the search, and with a seed also the global generators, which are put back as they were."""
    if seed is None:
        yield SYSTEM
        return
    import random  # noqa: TID251 – not for noise of ours: the function under test may draw from it

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        entropy = Reproducible(checks.whole(minimum=0, seed=seed))
    numpy = getattr(sys.modules.get("numpy"), "random", None)
    before = random.getstate(), numpy and numpy.get_state()
    random.seed(seed)
    if numpy:
        numpy.seed(seed % (1 << 32))
    try:
        yield entropy
    finally:
        random.setstate(before[0])
        if numpy:
            numpy.set_state(before[1])


class _Nowhere(io.TextIOBase):
    """Where the function under test prints to."""

    def write(self, text: str) -> int:
        return len(text)


def _refuse_failure(release: Release, pair: Pair, entropy: Entropy) -> None:
    """A function that fails on every input, or never returns anything, was more likely called wrongly than private."""
    alarm = observe(release, (pair.first, pair.second), 1, entropy)[1][0].alarm
    if not alarm:
        raise InvalidParameter("function", "<function>", "returns nothing", "End it with return: prints do not count.")
    hint = (
        f"It was called with {pair.second!r}. Describe other inputs with a domain; name further parameters epsilon, "
        "delta or entropy."
    )
    raise InvalidParameter("function", "<function>", f"every release {alarm}", hint)


def _name(function: Any) -> str:
    return getattr(function, "__name__", None) or type(function).__name__


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if value is None or isinstance(value, (bool, int, str)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return _plain(value.tolist()) if hasattr(value, "tolist") else str(value)
