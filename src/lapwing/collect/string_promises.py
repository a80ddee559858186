"""What each party of a collection of strings can learn, alone and with others, and the text that people agree to.

A message has no local ε. What holds towards whoever sees what the shufflers pass on is the threshold's (ε, δ). Behind
it, where parties break their promise not to work together, is one thing more: fewer than t messages of a string do not
open unless somebody guesses it, and with `randomness: issuer` a guess is a question to the issuer.

Proof: string_protocol.md
"""

from __future__ import annotations

from lapwing.collect.collection import Collection
from lapwing.collect.crowds import Crowd
from lapwing.collect.shuffled_promises import Promise, central_words, words_about_sizes
from lapwing.collect.string_counts import count_interval
from lapwing.collect.string_protocol import StringProtocol

CONSENT = (
    "Your text is encrypted on this device so that it opens only together with the same text from {threshold} or more "
    "people. Two servers mix it with the reports of many others and drop it if too few people sent the same text: then "
    "nobody reads it. If many people sent the same text, everybody can read that text and about how many people "
    "sent it. Do not send anything that tells who you are. {guesses} You can leave at any time. What was sent before "
    "cannot be taken back, because nobody knows that it came from you.\n"
)
GUESSES = {
    "none": (
        "The people who run the server that takes your report could find out whether you sent a text that they can "
        "guess: they would mix your report with false reports only. The people who run the other servers could find "
        "it out, too, if they worked together. Somebody with many false devices could find out how many others sent a "
        "text."
    ),
    "issuer": (
        "The people who run the server that takes your report could find out whether you sent a text that they can "
        "guess: they would mix your report with false reports only. The people who run the other servers could find "
        "it out, too, if they worked together. For every text that they guess, they must ask the server that "
        "admits you, unless it works with them. Somebody with many false devices could find out how many others sent "
        "a text."
    ),
}


def string_consent(threshold: int, randomness: str) -> str:
    """The text to agree to in a new collection of strings."""
    return CONSENT.format(threshold=threshold, guesses=GUESSES[randomness])


def string_promises(collection: Collection, nothing: str) -> list[Promise]:
    """The rows of the parties between ingestor and analyzer, and of those who work together."""
    protocol = collection.protocol
    assert isinstance(protocol, StringProtocol)
    central, t = central_words(collection), protocol.threshold
    assert collection.crowd is not None
    exactly = ", exactly" if collection.crowd.dummies is None else ""
    open_to_all = f"exact numbers; strings of {t:,} devices or more open. Others stay closed {_unless(protocol)}"
    rows = [
        Promise("blinder", "sealed reports with crowds that it cannot read", nothing),
        Promise(
            "thresholder",
            f"how many have the same string{exactly}, under names for one batch; no sender, time or order",
            _about_sizes(collection),
        ),
        Promise(
            "thresholder with devices of its own",
            "for each token, how many sent one string that it can guess",
            f"none for strings that it tries out{_asking(protocol)}",
        ),
        Promise(
            "aggregator",
            "messages of strings that enough devices sent, which open; without sender, time or order",
            central,
        ),
        Promise(
            "aggregator with devices of its own",
            "which of its own messages were passed on, and so how many others were",
            "none for strings that it sends itself; for others that of the aggregator alone",
        ),
        Promise("blinder with aggregator", "no more than the aggregator alone", central),
        Promise("thresholder with aggregator", "all messages, by string", open_to_all),
        Promise(
            "blinder with thresholder",
            "how many sent a string, by trying it out",
            f"none for strings that can be guessed{_asking(protocol)}",
        ),
    ]
    if protocol.oblivious:
        rows += [
            Promise("issuer with aggregator", "no more than the aggregator alone: its strings are open", central),
            Promise(
                "issuer with thresholder and aggregator, or with both shufflers",
                "how many sent a string, by trying it out",
                "none for strings that can be guessed",
            ),
        ]
    return rows


def _about_sizes(collection: Collection) -> str:
    """What holds against who counts crowds of equal strings."""
    assert collection.crowd is not None
    if collection.crowd.dummies is not None:
        return words_about_sizes(collection)
    return "none for sizes of crowds. They show which crowd sent a published string; other strings stay hidden"


def string_collusion(protocol: StringProtocol) -> str:
    """What holds against all servers on the way at once, who know which report is whose."""
    closed = f"strings of fewer than {protocol.threshold:,} devices stay closed {_unless(protocol)}"
    return f"{closed}; nothing else is protected"


def _unless(protocol: StringProtocol) -> str:
    if protocol.oblivious:
        return "unless somebody guesses them; each guess takes a question to the issuer"
    return "unless somebody guesses them"


def _asking(protocol: StringProtocol) -> str:
    return "; each guess takes a question to the issuer" if protocol.oblivious else ""


def _accuracy(crowd: Crowd | None) -> str:
    """What the threshold does to counts."""
    assert crowd is not None
    low, high = count_interval(crowd, 1 << 40)
    return (
        f"Strings that fewer than about {crowd.mechanism.accuracy():,.0f} devices of a batch send are not shown; the "
        f"count of the others is off by about {(high - low) // 2:,} (95 % confidence)."
    )


def explained(collection: Collection) -> str:
    """What one string, and all of one device, tell about one person."""
    protocol = collection.protocol
    assert isinstance(protocol, StringProtocol)
    answers = collection.policy().periods()
    days = answers / collection.reports_per_day
    guess = (
        "With randomness: issuer, every guess of a string is a question to the issuer."
        if protocol.oblivious
        else "With randomness: none, anybody who has a message can try guesses: use it only for what nobody can guess."
    )
    return (
        f"Devices send strings. A message has no local epsilon: the threshold of the shufflers protects people, with "
        f"{central_words(collection)}. That holds towards everybody who sees what they pass on, as long as they follow "
        f"the protocol and do not work together: see the table. A device sends strings for {days:,.3g} "
        f"day{'' if days == 1 else 's'}; its later messages say nothing. {guess} {_accuracy(collection.crowd)}"
    )
