"""What each party of a shuffled or blinded collection can learn, alone and with others: rows for a quote.

The guarantee towards whoever opens reports depends on what crowds are made of:

    report      amplification by shuffling; thresholds work on what is private already
    attribute   amplification among those with the same attribute, of whom at least `threshold` are passed on
    answer      the threshold's (ε, δ) about which crowd somebody is in, plus twice the local ε: a report that is passed
                on takes the place of another, in the crowd that it enters and in the one that it leaves
    string      the threshold's (ε, δ) alone (string_promises.py)

Proof: shuffler.md, blinding.md
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from lapwing.collect import fragment_promises
from lapwing.collect.collection import Collection
from lapwing.collect.string_protocol import StringProtocol
from lapwing.exact import exp_up
from lapwing.mechanisms.dummies import DummyCrowds, DummyReports
from lapwing.privacy import ApproxDP, PureDP
from lapwing.privacy.notation import written_up
from lapwing.privacy.shuffling import shuffled

HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class Promise:
    """What one party can learn, and what holds against it."""

    party: str
    learns: str
    guarantee: str


def central_loss(collection: Collection, *, honest_share: Fraction = Fraction(1)) -> ApproxDP:
    """What one report costs towards whoever sees what shufflers pass on, if at least this share is honest."""
    if collection.fragments is not None:
        return fragment_promises.replacement(collection, honest_share=honest_share)
    crowd = collection.crowd
    assert crowd is not None
    if isinstance(collection.protocol, StringProtocol):  # what a message says is a function of its crowd
        return crowd.mechanism.privacy_loss()
    local = collection.protocol.privacy_loss()
    if crowd.source == "answer":
        membership = crowd.mechanism.privacy_loss()
        epsilon = membership.epsilon + 2 * local.epsilon
        return ApproxDP(epsilon, membership.delta, relation="replace", unit=local.unit)
    n = collection.smallest_batch if crowd.source == "report" else crowd.threshold
    return shuffled(local, n, crowd.delta, honest_share=honest_share)


def central_words(collection: Collection) -> str:
    """The guarantee of one report, and of all reports of a device, in a cell of a table."""
    if collection.fragments is not None:
        return fragment_promises.central_words(collection)
    crowd = collection.crowd
    assert crowd is not None
    loss, reports = central_loss(collection), collection.policy().periods()
    once, ever = _written(loss), _written(_often(collection, loss, reports))
    if crowd.source == "answer":
        return (
            f"{once} for one report if all of its crowd are honest; {ever} for all {reports:,} reports of a device "
            "if no two are in one batch, otherwise none"
        )
    half = written_up(central_loss(collection, honest_share=HALF).epsilon)
    people = (
        f"{collection.smallest_batch:,} of a batch"
        if crowd.source == "report"
        else f"{crowd.threshold:,} of a crowd that are passed on"
    )
    honest = f"if all {people} are honest (ε = {half} if half are)"
    return f"{once} for one report {honest}, {ever} for all {reports:,} reports of a device"


def _often(collection: Collection, loss: ApproxDP, reports: int) -> ApproxDP | PureDP:
    """So many reports of one device. Of randomised reports several may be in one batch: one is changed after another.

    Where that is more than their local losses together, these are what holds.
    """
    assert collection.crowd is not None
    epsilon = reports * loss.epsilon
    if collection.crowd.source == "answer":
        delta = min(reports * loss.delta, Fraction(999_999, 1_000_000))
        return ApproxDP(epsilon, delta, relation=loss.relation, unit=loss.unit)
    local = PureDP(collection.lifetime, relation=loss.relation, unit=loss.unit)
    if epsilon >= local.epsilon:
        return local
    delta = loss.delta * sum(exp_up(place * loss.epsilon) for place in range(reports))
    if delta >= 1:
        return local
    return ApproxDP(epsilon, delta, relation=loss.relation, unit=loss.unit)


def _written(loss: ApproxDP | PureDP) -> str:
    delta = f", δ = {written_up(loss.delta)}" if isinstance(loss, ApproxDP) else ""
    return f"ε = {written_up(loss.epsilon)}{delta}"


def shuffled_promises(collection: Collection, local: str, nothing: str) -> list[Promise]:
    """The rows of the parties between ingestor and analyzer, and of those who work together."""
    if collection.fragments is not None:
        rows = [Promise(*row) for row in fragment_promises.shuffler_rows(collection, local, nothing)]
    elif collection.transport == "shuffled":
        rows = _one(collection, local, nothing)
    else:
        rows = _two(collection, local, nothing)
    central = central_words(collection)
    pieces = "reports" if collection.fragments is None else "fragments"
    kept = f"randomised {pieces} of crowds that are large enough, without sender, time or order"
    return [*rows, Promise("aggregator", kept, central)]


def _one(collection: Collection, local: str, nothing: str) -> list[Promise]:
    assert collection.crowd is not None
    of_report = collection.crowd.source == "report"
    sees = "the crowd of every sealed report, and how large crowds are; no sender, time or order"
    public = "attributes are public"
    alone = f"a crowd tells what a randomised report tells: {local}" if of_report else f"{nothing}; {public}"
    return [
        Promise("shuffler", sees, alone),
        Promise("shuffler with ingestor", "who is in which crowd", local if of_report else f"{local}; {public}"),
        Promise("shuffler with aggregator", "every randomised report, also of small crowds", local),
    ]


def _two(collection: Collection, local: str, nothing: str) -> list[Promise]:
    assert collection.crowd is not None
    source, central = collection.crowd.source, central_words(collection)
    sizes = {
        "report": central,
        "attribute": f"{nothing}; attributes are public",
        "answer": words_about_sizes(collection),
    }[source]
    guesses = {
        "report": f"{local}; it needs a token for each report that it tries out",
        "attribute": f"{nothing}; attributes are public",
        "answer": "none for answers that it tries out: it learns how many gave them. Each try takes a token",
    }[source]
    together = {
        "report": local,
        "attribute": "the attribute is revealed",
        "answer": "none: they can find out how many gave an answer that they guess, and, with the ingestor, who did",
    }[source]
    opened = {"report": local, "attribute": local, "answer": "none: the reports in a crowd show which answer it gave"}[
        source
    ]
    planted = Promise(
        "aggregator with devices of its own",
        "which of its own reports were passed on, and so how many others were",
        f"none about crowds in which it has devices; what a report says: {local}",
    )
    return [
        *([planted] if source == "answer" else []),
        Promise("blinder", "sealed reports with crowds that it cannot read", nothing),
        Promise("thresholder", "how large crowds are, under names for one batch; no sender, time or order", sizes),
        Promise(
            "thresholder with devices of its own", "for each token, the size of one crowd that it guesses", guesses
        ),
        Promise("thresholder with aggregator", "randomised reports with their crowds, also small ones", opened),
        _first_and_last(collection, central, local),
        Promise("blinder with thresholder", "the name of each crowd, by trying out names", together),
    ]


def _first_and_last(collection: Collection, central: str, local: str) -> Promise:
    """What the blinder and the aggregator learn together."""
    assert collection.crowd is not None
    who = "blinder with aggregator"
    if isinstance(collection.crowd.dummies, DummyReports):
        holds = f"none about crowds; what a report says: {local}"
        return Promise(who, "which dummies were passed on, and so how many reports", holds)
    return Promise(who, "no more than the aggregator alone", central if collection.crowd.source == "answer" else local)


def words_about_sizes(collection: Collection) -> str:
    """What holds against who counts crowds of answers."""
    assert collection.crowd is not None
    dummies, apart = collection.crowd.dummies, "as long as it cannot tell dummies from reports"
    if dummies is None:
        return "none: it sees exactly how many gave the same answer, and what is published may tell which answer it is"
    loss = _written(dummies.privacy_loss())
    if isinstance(dummies, DummyCrowds):
        small = f"{loss} about which of the crowds of {dummies.largest:,} or fewer somebody is in, {apart}"
        return f"{small}; none about larger crowds, which it counts exactly; all of this for one report"
    return f"{loss} for one report, about sizes of crowds, {apart}"


CONSENT = {
    "shuffled": (
        "Your report passes a server that mixes it with the reports of many others and drops it if too few others "
        "belong to the same group. "
    ),
    "blinded": (
        "Your report passes two servers that mix it with the reports of many others and drop it if too few others "
        "belong to the same group. Neither of them can read your report, and neither alone knows which group it is. "
    ),
}
_ONE_READS = {
    True: (
        "That server can find out your randomised report, and so learns no more about your answer than that report "
        "says. It does not learn who you are. "
    ),
    False: "That server cannot read your report. ",
}
"""What one shuffler can read, where crowds are made of reports, and otherwise."""
_EARLIER = ("That server can find out your randomised report, but neither your answer nor who you are. ",)
"""What drafts of earlier versions say."""
GROUPS = {
    "report": "Groups are made of the randomised reports, so they tell nothing more about you.",
    "attribute": "Groups are made of something public about you that you are asked for, such as your region.",
    "position": "Groups are made of the answer that a part is about. Every device sends a part for each answer.",
    "answer": (
        "Groups are made of your true answer. The people who run the server that takes your report could find it out, "
        "by mixing your report with false ones only. So could the people who run the two mixing servers, if they "
        "worked together. Somebody with many false devices could find out how many others gave an answer."
    ),
}
FRAGMENTS = (
    "Your report is sent in several parts, each at another time and through a mixing server that is chosen at random. "
    "Whoever wants to read all parts of one report side by side needs the help of every server that one of them "
    "passed. "
)


def consent_words(transport: str, source: str) -> str:
    """What people agree to in addition, where shufflers are on the way."""
    return CONSENT[transport] + (_ONE_READS[source == "report"] if transport == "shuffled" else "") + GROUPS[source]


def consent_with_words(consent: str, transport: str, source: str | None, by: str | None = None) -> str:
    """A text to agree to, with what this transport adds to it and nothing of what another would.

    Crowds of true answers tell more than reports do, so what is said of them comes first.
    """
    plain = consent
    for words in (*CONSENT.values(), *_ONE_READS.values(), *_EARLIER, *GROUPS.values(), FRAGMENTS):
        plain = plain.replace(words.strip(), "")
    if source is None or transport not in CONSENT:
        return consent if plain == consent else plain.strip() + "\n"
    parts = FRAGMENTS if by is not None else ""
    added, plain = parts + consent_words(transport, source), plain.strip()
    return f"{added}\n{plain}\n" if source == "answer" else f"{plain}\n{added}\n"
