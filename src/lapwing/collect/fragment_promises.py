"""What each party of a collection in fragments can learn, alone and with others: rows for a quote.

    local         all fragments of an answer, towards whoever can link them: every party on the way together
    replacement   one answer for another, towards whoever sees what shufflers pass on
    removal       an answer for none
    exposures     if some shufflers work with the aggregator: what holds, by how many fragments went through them

Privacy: a fragment hides among the honest fragments of its batch at its shuffler (of its position, where bits are
sent). Nobody promises that the fragments of one answer come to different batches, so they are changed one after
another: m steps of (ε, δ′) make mε and δ′·(1 + e^ε + … + e^((m−1)ε)).
Proof: answer_fragments.md
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import comb

from lapwing.collect.answer_fragments import Fragments, PositionedBit
from lapwing.collect.collection import Collection
from lapwing.crowd.fragmentation import AttributeFragments, Removal
from lapwing.exact import exp_up
from lapwing.privacy import ApproxDP, PureDP
from lapwing.privacy.notation import written_up
from lapwing.privacy.shuffling import shuffled

HALF = Fraction(1, 2)
_ROUNDS = 6
_USELESS = 60
"""Beyond this exponent a chain of steps says nothing that the local loss does not say better."""
_ALMOST_ONE = Fraction(999_999, 1_000_000)


@dataclass(frozen=True, slots=True)
class Exposure:
    """With this probability so many fragments that tell of an answer pass shufflers that work with the aggregator."""

    fragments: int
    probability: Fraction
    epsilon: Fraction
    """What all fragments then cost at the δ of the collection."""


def telling(fragments: Fragments) -> int:
    """How many fragments have another law if one answer is replaced by another: all reports, or two bits."""
    return 2 if fragments.by == "attribute" else fragments.count


def hidden_among(collection: Collection) -> int:
    """How many fragments a fragment hides among, if all are honest: those of its batch, or of its crowd."""
    crowd = collection.crowd
    assert crowd is not None
    return collection.smallest_batch if crowd.source == "report" else crowd.threshold


@lru_cache(maxsize=256)
def stepwise(local: PureDP, n: int, steps: int, delta: Fraction, honest_share: Fraction = Fraction(1)) -> Fraction:
    """The ε of so many changes one after another in shuffled batches of n, at δ in all; never above steps·ε₀.

    The batches may be the same or not: both cases have at most this loss.
    """
    guess = Fraction(0)
    for turn in range(_ROUNDS):
        guess = local.epsilon if turn == _ROUNDS - 1 else guess
        if steps * guess > _USELESS:
            break
        part = delta / sum(exp_up(step * guess) for step in range(steps))
        epsilon = shuffled(local, n, part, honest_share=honest_share).epsilon
        if steps == 1 or epsilon <= guess:  # then part·Σ e^(step·epsilon) ≤ delta
            return steps * epsilon
        guess = epsilon * Fraction(21, 20)
    return steps * local.epsilon


def replacement(collection: Collection, *, answers: int = 1, honest_share: Fraction = Fraction(1)) -> ApproxDP:
    """One answer for another (or so many), towards whoever sees what the shufflers pass on."""
    fragments, crowd = collection.fragments, collection.crowd
    assert fragments is not None
    assert crowd is not None
    n, local = hidden_among(collection), answers * fragments.whole.privacy_loss().epsilon
    delta = min(answers * crowd.delta, _ALMOST_ONE)
    epsilons = [local, stepwise(fragments.message.privacy_loss(), n, answers * telling(fragments), delta, honest_share)]
    if isinstance(fragments.message, PositionedBit) and answers == 1:  # bits at two positions are independent
        epsilons.append(2 * _bit(fragments.message, n, delta / 2, honest_share).epsilon)
    return ApproxDP(min(epsilons), delta, relation="replace", unit=collection.protocol.unit)


def removal(collection: Collection, *, honest_share: Fraction = Fraction(1)) -> Removal:
    """An answer for none, towards the same. Several reports of "no answer" are as far from it as any others."""
    fragments, crowd = collection.fragments, collection.crowd
    assert fragments is not None
    assert crowd is not None
    if isinstance(fragments.message, PositionedBit):
        return _bit(fragments.message, hidden_among(collection), crowd.delta, honest_share)
    loss = replacement(collection, honest_share=honest_share)
    return Removal(loss.epsilon, loss.delta, loss.unit)


@lru_cache(maxsize=64)
def _bit(message: PositionedBit, n: int, delta: Fraction, honest_share: Fraction) -> Removal:
    """What one bit costs among n at its position: what an answer against none costs."""
    return AttributeFragments(message.base).removal(n, delta, honest_share=honest_share)


def exposures(collection: Collection, colluders: int) -> tuple[Exposure, ...]:
    """What holds if so many of the shufflers tell the aggregator which row is which: by how many fragments went there.

    Which shuffler a fragment goes through is uniform and independent of everything else, so their number is binomial.
    """
    fragments, crowd = collection.fragments, collection.crowd
    assert fragments is not None
    assert crowd is not None
    parts, share = telling(fragments), Fraction(colluders, len(collection.shufflers))
    local, n, most = fragments.message.privacy_loss(), hidden_among(collection), fragments.whole.privacy_loss().epsilon
    rows = []
    for seen in range(parts + 1):
        probability = comb(parts, seen) * share**seen * (1 - share) ** (parts - seen)
        rest = stepwise(local, n, parts - seen, crowd.delta) if seen < parts else Fraction(0)
        rows.append(Exposure(seen, probability, min(most, seen * local.epsilon + rest)))
    return tuple(rows)


def central_words(collection: Collection) -> str:
    """The guarantee of one answer, and of all answers of a device, in a cell of a table."""
    crowd, answers = collection.crowd, collection.policy().periods()
    assert crowd is not None
    once, ever = replacement(collection), replacement(collection, answers=answers)
    half = written_up(replacement(collection, honest_share=HALF).epsilon)
    everybody = (
        f"{hidden_among(collection):,} of a {'batch' if crowd.source == 'report' else 'crowd that are passed on'}"
    )
    return (
        f"{_written(once)} for one answer against another if all {everybody} are honest (ε = {half} if half are); "
        f"against no answer: ε = {written_up(removal(collection).epsilon)}; "
        f"{_written(ever)} for all {answers:,} answers"
    )


def _written(loss: ApproxDP) -> str:
    return f"ε = {written_up(loss.epsilon)}, δ = {written_up(loss.delta)}"


def name_of_one(collection: Collection) -> str:
    """How rows call one shuffler, whichever it is."""
    number = len(collection.shufflers)
    return "shuffler" if number == 1 else f"one of {number} shufflers"


def shuffler_rows(collection: Collection, local: str, nothing: str) -> list[tuple[str, str, str]]:
    """Party, what it learns and what holds: one shuffler, some of them with others, and all."""
    fragments, crowd = collection.fragments, collection.crowd
    assert fragments is not None
    assert crowd is not None
    number, each = len(collection.shufflers), written_up(fragments.message.privacy_loss().epsilon)
    alone = {
        "report": f"a crowd tells what a randomised fragment tells: ε = {each} for each that passes; {local}",
        "attribute": f"{nothing}; attributes are public",
        "position": f"{nothing}; positions are public",
    }[crowd.source]
    name = name_of_one(collection)
    sees = "the crowd of every sealed fragment that passes it, and how large crowds are; no sender, time or order"
    rows = [(name, sees, alone)]
    for colluders in sorted({1, number - 1} - {0}) if number > 1 else ():
        some = name if colluders == 1 else f"{colluders} of {number} shufflers"
        passed = "the fragments that pass there, unmixed; with the ingestor also who sent them"
        rows.append((f"{some} with aggregator", passed, _exposed(collection, colluders)))
    everybody = "shuffler" if number == 1 else "all shufflers"
    return [
        *rows,
        (f"{everybody} with aggregator", "every fragment, unmixed; with the ingestor also who sent it", local),
    ]


def _exposed(collection: Collection, colluders: int) -> str:
    """What holds if none, one or all of the fragments that tell of an answer go that way."""
    none, single, *_, every = exposures(collection, colluders)
    return (
        f"ε = {written_up(none.epsilon)} if none of the {every.fragments} fragments that tell of an answer passes "
        f"there, {written_up(single.epsilon)} if one does, {written_up(every.epsilon)} if all do "
        f"(probability {float(every.probability):.2g})"
    )


def why_several(collection: Collection) -> str:
    """One sentence about several shufflers."""
    number = len(collection.shufflers)
    if number < 2:
        return ""
    missed = 1 - exposures(collection, number - 1)[-1].probability
    return (
        f"There are {number} shufflers. An attacker who corrupts {number - 1} of them still misses a fragment that "
        f"tells of an answer with probability {float(missed):.2g}. "
    )
