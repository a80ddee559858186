"""Texts of the page where somebody takes part: the question, and what their browser will send."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from lapwing.collect.shuffled_promises import consent_words
from lapwing.crowd import BinaryResponse, CategoryResponse, StochasticRounding, UnaryEncoding

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lapwing.collect.collection import Collection

YES_NO = ("Yes", "No")
MOST_ANSWERS = 200
"""Radio buttons on one page."""
MOST_GROUPS = 1000
"""Lines of a list on one page."""


@dataclass(frozen=True, slots=True)
class Question:
    """How an answer is given on a page."""

    answers: tuple[str, ...]
    """What to choose from; empty for a number."""
    sent: str
    """What happens to an answer before it is sent, in a sentence or two."""
    yes_no: bool = False
    low: str = ""
    high: str = ""
    groups: tuple[str, ...] = ()
    """To which of these somebody says that they belong, where crowds are made of something public."""


@dataclass(frozen=True, slots=True)
class Travel:
    """What the way of a report adds to what is sent, in sentences."""

    layers: str
    """How often it is sealed, and for whom."""
    group: str = ""
    """What goes along, so that shufflers can tell crowds apart."""
    unless: str = ""
    """When the chances do not hide an answer, to be read after "as far as these chances hide it"."""
    consent: str = ""
    """What people agree to in addition, if the signed text does not say it."""


def question_of(collection: Collection) -> Question | None:
    """What a page asks; None where a browser cannot answer, and another client is needed."""
    question = _question(collection)
    if question is None or collection.crowd is None or collection.crowd.source != "attribute":
        return question
    groups = collection.crowd.values
    return replace(question, groups=groups) if len(groups) <= MOST_GROUPS else None


def _question(collection: Collection) -> Question | None:
    protocol: Any = collection.protocol
    if collection.fragments is not None:  # browsers send whole reports
        return None
    written, limits = collection.document.get("protocol"), collection.document.get("limits")
    if not isinstance(written, dict) or "fingerprint" not in written:  # browsers do not compute odds from an epsilon
        return None
    if not isinstance(limits, dict) or "answers" not in limits:
        return None
    if isinstance(protocol, BinaryResponse):
        return Question(YES_NO, _yes_or_no(protocol), yes_no=True)
    if isinstance(protocol, StochasticRounding):
        low, high = (_plain(bound) for bound in protocol.bounds)
        return Question((), _rounded(protocol, low, high), low=low, high=high)
    if not isinstance(protocol, UnaryEncoding | CategoryResponse):
        return None
    answers = _labels(protocol.domain)
    if len(answers) > MOST_ANSWERS:
        return None
    return Question(answers, _one_of(protocol) if isinstance(protocol, CategoryResponse) else _marks(protocol, answers))


def _yes_or_no(protocol: BinaryResponse) -> str:
    yes, no = _percent(protocol.yes_if_yes), _percent(protocol.yes_if_no)
    return (
        f"If your answer is yes, your browser sends “yes” with a chance of {yes}. If your answer is no, it still sends "
        f"“yes” with a chance of {no}."
    )


def _rounded(protocol: StochasticRounding, low: str, high: str) -> str:
    return (
        f"Your browser rounds your number at random to {low} or to {high}, the nearer one more often. It swaps the "
        f"two with a chance of {_percent(protocol.flip)}. It sends one of these two, never your number."
    )


def _one_of(protocol: CategoryResponse) -> str:
    kept = _percent(protocol.keep)
    return f"Your browser sends your answer with a chance of {kept}, and otherwise one of the others, drawn at random."


def _marks(protocol: UnaryEncoding, answers: Sequence[str]) -> str:
    true, other = _percent(protocol.one_if_true), _percent(protocol.one_if_other)
    return (
        f"Your browser sends a mark or no mark for each of the {len(answers)} answers. Yours is marked with a chance "
        f"of {true}, each of the others with a chance of {other}."
    )


def travel_of(collection: Collection) -> Travel:
    """What the transport of a collection adds."""
    crowd = collection.crowd
    if crowd is None:
        return Travel("The result is sealed for the server that counts.")
    words = consent_words(collection.transport, crowd.source)
    missing = "" if " ".join(words.split()) in " ".join(collection.consent.split()) else words
    unless = ", and as long as those who run the two mixing servers do not work together"
    return Travel(
        _LAYERS[collection.transport],
        _GROUPS[crowd.source],
        unless if crowd.source == "answer" else "",
        missing,
    )


_LAYERS = {
    "shuffled": (
        "The result is sealed twice: the inner layer is for the server that counts, the outer layer for the shuffler. "
        "The shuffler mixes it with many others, and cannot read it."
    ),
    "blinded": (
        "The result is sealed three times: the inner layer is for the server that counts, the middle layer for the "
        "thresholder, the outer layer for the blinder. Both mix it with many others, and cannot read it."
    ),
}
_GROUPS = {
    "report": "Reports that are alike form a group. A group that is too small is not passed on.",
    "attribute": (
        "The group that you choose is sent along. It is not randomised, so treat it as public. A group that is too "
        "small is not passed on."
    ),
    "position": "Marks for one answer form a group. A group that is too small is not passed on.",
    "answer": (
        "A name for your true answer is sent along, encrypted so that neither of the two servers can read it alone. An "
        "answer that too few people gave is not passed on."
    ),
}


def servers_of(collection: Collection) -> list[str]:
    """The origins that a browser speaks to: where tokens come from, and where reports go."""
    names = [*(["issuer"] if collection.tokens else []), "relay" if "relay" in collection.servers else "ingestor"]
    parts = [urlsplit(collection.servers[name].address) for name in names]
    return list(dict.fromkeys(f"{part.scheme}://{part.netloc}" for part in parts))


def _labels(domain: int | Sequence[Any]) -> tuple[str, ...]:
    return tuple(map(str, range(domain) if isinstance(domain, int) else domain))


def _plain(value: Any) -> str:
    exact = Fraction(value)
    return str(exact.numerator) if exact.denominator == 1 else f"{float(exact):.6g}"


def _percent(probability: Any) -> str:
    return f"{100 * float(Fraction(probability)):.3g} %"
