"""The text that people agree to, and the two sentences in it that depend on epsilon.

>>> from lapwing.privacy import PureDP
>>> once, ever = (PureDP(epsilon, relation="replace") for epsilon in (1, 8))
>>> consent_to(once, ever).split(". ")[1]
'Somebody who was 50 % sure of your answer, and reads what one report says, can become at most 74 % sure of it'
>>> consent_to(once, ever).split(". ")[2]
'Somebody who knows which reports came from your device, and reads all of them, can become practically certain of it'
"""

from __future__ import annotations

import re

from lapwing.privacy import Loss, explain
from lapwing.privacy.notation import at_most

CONSENT = (
    "Your answer is randomised on this device before it is sent. {sure} Together the answers of many people still show "
    "about how many gave each answer. You can leave at any time. What was sent before cannot be taken back, because "
    "nobody knows that it came from you.\n"
)
_SURE = "Somebody who was 50 % sure of your answer, and reads what one report says, can become {} of it."
_EVER = " Somebody who knows which reports came from your device, and reads all of them, can become {} of it."
_CERTAIN = "practically certain"


def _pattern(sentence: str) -> str:
    """The sentence with any number in it, as somebody may have broken its lines."""
    return sentence.replace(".", r"\.").replace("{}", rf"(?:at most \d+ % sure|{_CERTAIN})").replace(" ", r"\s+")


_WRITTEN = re.compile(f"{_pattern(_SURE)}(?:{_pattern(_EVER)})?")
_EARLIER = re.compile(
    r"(?P<colon>:\s+)?What is sent is often not your answer, and nobody can tell(?: whether it is)?\.".replace(
        " ", r"\s+"
    ),
    re.IGNORECASE,
)
"""What drafts of earlier versions say in its place, whatever the epsilon."""


def belief(loss: Loss) -> str:
    """How sure somebody can become who was 50 % sure, in words: the bound is rounded up."""
    out_of_100 = int(explain(loss).data["out_of_100_after"])
    return _CERTAIN if out_of_100 >= 100 else f"{at_most(out_of_100)} sure"


def consent_to(loss: Loss, lifetime: Loss) -> str:
    """The text to agree to in a new collection, for what one report costs, and what all of a device cost."""
    return CONSENT.format(sure=_sentences(loss, lifetime))


def with_belief(consent: str, loss: Loss, lifetime: Loss) -> str:
    """A text to agree to in which what it says about one report, if anything, is true, as for all of a device."""
    true = _sentences(loss, lifetime)
    renewed = _EARLIER.sub(lambda said: f". {true}" if said["colon"] else true, consent)
    return _WRITTEN.sub(true, renewed)


def _sentences(loss: Loss, lifetime: Loss) -> str:
    """What one report tells, and what all of a device tell, if that is more."""
    once, ever = belief(loss), belief(lifetime)
    return _SURE.format(once) + ("" if ever == once else _EVER.format(ever))
