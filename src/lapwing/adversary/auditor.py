"""Measures epsilon from outside: releases many times on two neighbouring data sets, and tries to tell them apart.

The first half of the outputs is for searching an event, the second, fresh half for testing it: Clopper–Pearson limits
on both probabilities, in both directions, at a confidence shared out by Bonferroni. The result is a lower bound on the
true epsilon, wrong with probability at most 1 − confidence whatever one release does and however the event was found.

Pre-condition: releases are independent; a mechanism that remembers earlier ones is audited for something else. Proof:
given the first half the event is fixed, and the fresh hits are binomial; each of the four limits fails with probability
(1 − confidence)/4 at most, and if none fails both directions bound epsilon, so the larger bound does. The number of
fresh releases is fixed before the first of them. If time runs out all the same, those that are missing count against
the finding, as if the event had happened on the one data set and not on the other: however long a release takes, and
whatever that depends on, the limits stay valid.
"""

from __future__ import annotations

import inspect
import math
import time
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from lapwing import checks
from lapwing.adversary.events import Event, Outputs, best_events
from lapwing.adversary.intervals import ceiling, epsilon_shown
from lapwing.adversary.observations import FAILED, Release, Tick, observe, without_bits
from lapwing.adversary.verdict import Refutation, caution, headline, shortened
from lapwing.calls import also_called
from lapwing.errors import InvalidParameter
from lapwing.exact import float_up
from lapwing.noise import SYSTEM, Entropy
from lapwing.privacy import ApproxDP, Loss, PureDP, Relation
from lapwing.privacy.neighbours import as_relation

if TYPE_CHECKING:
    from lapwing.checks import Number

Direction = Literal["first", "second"]
LIMITS = 4
"""Two directions, in each a lower and an upper limit."""
DEFAULT_DELTA = 1e-6
"""Where the loss is a curve and nobody says at which delta to read it."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two neighbouring data sets, and how they are neighbours.

    Args:
        first: One data set, as the mechanism takes it.
        second: Its neighbour.
        relation: "add_remove" if one has a unit more, "replace" if one unit has other values.
        note: What the pair is like, in words, for reports. It replaces the data when the pair is printed.

    >>> print(Pair([1, 2], [1, 2, 3]))
    [1, 2] and [1, 2, 3]
    """

    first: Any
    second: Any
    relation: Relation = "add_remove"
    note: str = ""

    def __post_init__(self) -> None:
        as_relation(self.relation)

    def __str__(self) -> str:
        return self.note or f"{shortened(self.first)} and {shortened(self.second)}"


@dataclass(frozen=True, slots=True, repr=False)
class Audit(Refutation):
    """What an audit found. It can refute a claim, but never prove one. `print` it to see it in words.

    Attributes:
        confidence: The probability that the lower bound is right, at least.
        delta: The δ at which epsilon was measured.
        pair: The two data sets.

    >>> found = audit(len, ([1], [1, 2]), samples=1000, claimed=1)
    >>> found.caught, found.epsilon_lower_bound > 1
    (True, True)
    """

    epsilon_lower_bound: float
    """The true epsilon is at least this, with the stated confidence."""
    event: Event
    """The event that shows it."""
    direction: Direction
    """The data set that makes the event more likely."""
    hits: tuple[int, int]
    """How often the event happened among the fresh outputs of the first and of the second data set."""
    trials: int
    """The fresh outputs of each data set."""
    confidence: float
    delta: float
    claimed: float | None
    """The epsilon that the mechanism claims at this delta and for this pair."""
    pair: Pair
    missing: int = 0
    """Fresh outputs for which there was no time; they are counted against the finding."""
    limits: int = LIMITS
    """How many probabilities were bounded. Each bound is wrong with probability (1 − confidence) / limits at most."""

    @property
    def ceiling(self) -> float:
        """The most that an audit of this size could have shown at this confidence: from 0 to less than ln(samples)."""
        return ceiling(self.trials, (1 - self.confidence) / self.limits, self.delta)

    def __str__(self) -> str:
        return " ".join([headline(self), *evidence(self)])

    def explain(self) -> str:
        """The finding in words, with what it does not prove.

        Returns:
            A few sentences. `print` shows a shorter text.

        >>> print(audit(len, ([1], [1, 2]), samples=1000, claimed=1).explain().partition(" on its")[0])
        The event “the output is 1” happened in 500 of 500 releases on the first data set and in 0 of 500
        """
        often, seldom = self.hits if self.direction == "first" else self.hits[::-1]
        at = f" at delta = {self.delta:g}" if self.delta else ""
        text = (
            f"The event “{self.event}” happened in {often} of {self.trials} releases on the {self.direction} data set "
            f"and in {seldom} of {self.trials} on its neighbour. With {self.confidence:.10g} confidence, epsilon is at "
            f"least {self.epsilon_lower_bound:.3f}{at}."
        )
        if self.missing:
            text += f" There was no time for {self.missing} of the releases; they count against the finding."
        if self.claimed is None:
            return f"{text} The mechanism states no claim to compare with. {self._limits()}"
        if self.caught:
            return f"{text} The claim of {self.claimed:.3f} is false."
        return f"{text} That does not contradict the claim of {self.claimed:.3f}. {self._limits()}"

    def _limits(self) -> str:
        text = "An audit can refute a claim but never prove it: another pair or event may show more."
        if not self.ceiling:
            return f"{text} There were too few samples to show anything."
        most = f"{self.ceiling:.1f} (always less than ln of their number)"
        text += f" With this many samples, no audit can show more than {most}"
        if self.claimed is not None and self.claimed > self.ceiling:
            return f"{text}: passing at epsilon = {self.claimed:.3g} proves little."
        return f"{text}."


def evidence(finding: Audit) -> list[str]:
    """The event and how often it happened, and what that does not prove, in sentences. It names no data."""
    said = []
    if finding.epsilon_lower_bound > 0:
        first, second = (f"{hits:,} of {finding.trials:,}" for hits in finding.hits)
        said.append(f"The event: {finding.event}.")
        said.append(f"It happened in {first} runs with the first data set, and in {second} with the second.")
    if finding.missing:
        said.append(f"There was no time for {finding.missing:,} of the runs; they count against the finding.")
    return said + caution(finding, "runs")


@also_called(epsilon="claimed")
def audit(
    mechanism: Any,
    pair: Pair | tuple[Any, Any],
    *,
    samples: int = 20_000,
    confidence: Number = 0.999,
    delta: Number | None = None,
    relation: Relation | None = None,
    claimed: Loss | Number | None = None,
    seconds: Number | None = None,
    entropy: Entropy = SYSTEM,
    progress: bool = False,
) -> Audit:
    """Measure a lower bound on the epsilon that a mechanism really has, from many releases on each of two neighbours.

    Args:
        mechanism: An object with `release(data, entropy)`, or a function of the data or of (data, entropy). Its
            releases must be independent of one another.
        pair: Two neighbouring data sets: a tuple, or a `Pair`. Choose them so that they are easy to tell apart.
        samples: How many releases to make on each of the two. More of them show larger epsilons, but
            always less than ln(samples).
        confidence: The probability that the bound is right, at least.
        delta: The δ at which epsilon is measured. None takes that of the claim, or 0 for pure privacy; 1e-6 if the
            claim is a curve.
        relation: How a tuple of data sets are neighbours: "add_remove" or "replace". None takes the mechanism's own, or
            add_remove. A claim for add_remove is converted for a pair under replace.
        claimed: The claim to test: a loss, or a number for pure privacy (for (number, delta) with a delta). None takes
            the `privacy_loss()` of the mechanism, if it has one.
        seconds: About how long the audit may take; if releases are slow, there are fewer. None: as long as it takes.
        entropy: Where the random bits come from, for mechanisms that take them as an argument.
        progress: Whether to show a progress bar.

    Returns:
        The lower bound, the event that shows it, and whether the claim is refuted.

    Raises:
        InvalidParameter: If the mechanism cannot release anything, or fails at every release in the same way.

    >>> audit(lambda data: len(data), ([1, 2], [1, 2, 3]), samples=2000, claimed=1).caught
    True
    """
    count = checks.whole(samples=samples, minimum=8)
    level = float(checks.probability(confidence=confidence))
    release = release_of(mechanism)
    neighbours = _as_pair(pair, mechanism, relation)
    loss = _claim(mechanism, claimed, delta, neighbours.relation)
    at = _delta(loss, delta)
    until = math.inf if seconds is None else time.monotonic() + float(checks.positive(seconds=seconds))
    with ExitStack() as stack:
        tick = _progress_bar(stack, 2 * count) if progress else lambda releases: None
        stated = None if loss is None else loss.epsilon_at(at)
        return measure(release, neighbours, count, level, at, stated, entropy, until=until, tick=tick)


def measure(
    release: Release,
    pair: Pair,
    samples: int,
    confidence: float,
    delta: float,
    claimed: float | None,
    entropy: Entropy,
    *,
    until: float = math.inf,
    tick: Tick = lambda releases: None,
    coarse: bool = False,
    limits: int = LIMITS,
    may_fail: bool = False,
) -> Audit:
    """Search an event on one half of the releases, then test it on the other; parameters are checked already."""
    start, both, alpha = time.monotonic(), (pair.first, pair.second), (1 - confidence) / limits
    half_time = (start + until) / 2
    first, second = observe(release, both, samples // 2, entropy, coarse=coarse, until=half_time, tick=tick)
    events = best_events(first, second, alpha, delta)
    trials = _affordable(samples - samples // 2, until, (time.monotonic() - start) / len(first))
    fresh = observe(release, both, trials, entropy, coarse=coarse, until=until, tick=tick)
    if not may_fail:
        _refuse_mere_failure([*first, *fresh[0]], [*second, *fresh[1]])
    missing = trials - len(fresh[0])
    results: list[tuple[float, Event, Direction, tuple[int, int]]] = []
    directions: tuple[Direction, Direction] = ("first", "second")
    for direction, (event, _) in zip(directions, events, strict=True):
        hits = _count(event, fresh[0]), _count(event, fresh[1])
        often, seldom = hits if direction == "first" else hits[::-1]
        results.append((epsilon_shown(often, seldom + missing, trials, alpha, delta), event, direction, hits))
    shown, event, direction, hits = max(results, key=lambda entry: entry[0])
    if coarse:
        event = _coarse(event)
    return Audit(max(shown, 0.0), event, direction, hits, trials, confidence, delta, claimed, pair, missing, limits)


def _coarse(event: Event) -> Event:
    """The same event of outputs that are read without their lowest bits."""
    return Event(event.description, lambda seen: event.happened(without_bits(seen)))


def _affordable(samples: int, until: float, each: float) -> int:
    """How many fresh releases to plan when one on each side took so long so far, with time to spare."""
    left = until - time.monotonic()
    return samples if each * samples <= 0.8 * left else max(1, int(0.8 * left / each))


def _as_pair(pair: Pair | tuple[Any, Any], mechanism: Any, relation: Relation | None) -> Pair:
    if isinstance(pair, Pair):
        return pair
    if not isinstance(pair, tuple) or len(pair) != 2:
        raise InvalidParameter("pair", type(pair).__name__, "is not two data sets", "Write pair=(first, second).")
    stated: Relation = getattr(mechanism, "relation", "add_remove")
    return Pair(*pair, relation=relation or stated)


def _claim(mechanism: Any, claimed: Loss | Number | None, delta: Number | None, relation: Relation) -> Loss | None:
    """What is claimed for this kind of pair."""
    loss: Loss
    if isinstance(claimed, Loss):
        loss = claimed
    elif claimed is not None:
        loss = PureDP(claimed, relation=relation) if not delta else ApproxDP(claimed, delta, relation=relation)
    elif hasattr(mechanism, "privacy_loss"):
        loss = mechanism.privacy_loss()
    else:
        return None
    # From replace to add_remove this refuses: the claim says nothing about such a pair.
    return loss.to_replace() if relation == "replace" else loss.to_add_remove()


def _delta(loss: Loss | None, delta: Number | None) -> float:
    """The delta at which epsilon is measured: the one asked for, or the one the claim names."""
    if delta is not None:
        return float_up(checks.share(delta=delta))
    if loss is None or isinstance(loss, PureDP):
        return 0.0
    return float_up(loss.delta) if isinstance(loss, ApproxDP) else DEFAULT_DELTA


def release_of(mechanism: Any, **offered: Any) -> Release:
    """The mechanism as a function of data and entropy; what is offered besides is given to parameters of that name."""
    function = getattr(mechanism, "release", mechanism)
    if not callable(function) or isinstance(mechanism, type):
        name = mechanism.__name__ if isinstance(mechanism, type) else f"<{type(mechanism).__name__}>"
        hint = "Pass an instance, such as Laplace(epsilon=1, sensitivity=1), or a function."
        raise InvalidParameter("mechanism", name, "cannot release anything", hint)
    try:
        wanted = set(inspect.signature(function).parameters)
    except ValueError:  # some built-in functions do not tell
        wanted = set()
    more = {name: value for name, value in offered.items() if name in wanted}
    if "entropy" in wanted:
        return lambda data, entropy: function(data, entropy=entropy, **more)
    if more:
        return lambda data, entropy: function(data, **more)
    return lambda data, entropy: function(data)


def _refuse_mere_failure(first: Outputs, second: Outputs) -> None:
    """A function that fails every time in the same way tells nothing: more likely it was called wrongly."""
    alarms = {seen.alarm for seen in (*first, *second)}
    if len(alarms) == 1 and all(seen.dress == FAILED for seen in (*first, *second)):
        hint = "Pass a function of the data, or of (data, entropy)."
        raise InvalidParameter("mechanism", "<function>", f"every release {alarms.pop()}", hint)


def _count(event: Event, outputs: Outputs) -> int:
    return sum(map(event.happened, outputs))


def _progress_bar(stack: ExitStack, total: int) -> Tick:
    from rich.progress import Progress

    bar = stack.enter_context(Progress())
    task = bar.add_task("auditing", total=total)
    return lambda releases: bar.advance(task, releases)
