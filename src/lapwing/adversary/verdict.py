"""What a measured epsilon says about a claimed one."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Literal

from lapwing.errors import InvalidParameter
from lapwing.privacy.notation import written_down, written_up

_LONGEST = 400


class Refutation(ABC):
    """A finding that can refute a claim, and never proves one."""

    __slots__ = ()
    epsilon_lower_bound: float
    claimed: float | None
    confidence: float
    delta: float

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.verdict}, ε is at least {_shown(self)}: print it>"

    @property
    @abstractmethod
    def ceiling(self) -> float:
        """The most that an audit of this size could have shown."""

    @property
    def caught(self) -> bool:
        """Whether the claim is refuted; an error if there was no claim."""
        if self.claimed is None:
            why = "nothing was claimed that could be refuted"
            raise InvalidParameter("claimed", None, why, "Say what to compare with: audit with claimed=1, for example.")
        return self.epsilon_lower_bound > self.claimed

    @property
    def verdict(self) -> Literal["caught", "not caught", "no claim"]:
        """The outcome in two words."""
        if self.claimed is None:
            return "no claim"
        return "caught" if self.caught else "not caught"


def headline(finding: Refutation, subject: str = "") -> str:
    """The outcome in a sentence, with the bound rounded down. The subject is who claims it."""
    at, known = f" at δ = {finding.delta:g}" if finding.delta else "", f"ε is at least {_shown(finding)}"
    sure = f"(confidence {100 * finding.confidence:.10g} %)"
    if finding.claimed is None:
        return f"No claim to compare with: {known}{at} {sure}."
    claim = f"{f'{subject} claims' if subject else 'claimed'} ε = {_claim(finding.claimed)}{at}"
    if finding.caught:
        return f"Caught: {claim}, but {known} {sure}."
    return f"Not caught: {claim}, and this audit shows that {known} {sure}."


def caution(finding: Refutation, effort: str) -> list[str]:
    """What passing does not prove, in sentences; nothing if the claim is refuted."""
    if finding.claimed is None or finding.caught:
        return []
    if finding.ceiling <= 0:
        return ["That is not a proof.", f"There were too few {effort} to show anything."]
    if finding.claimed <= finding.ceiling:
        return ["That is not a proof."]
    most = written_up(finding.ceiling, 2)
    return ["That is not a proof.", f"With this many {effort}, no audit can show more than ε = {most}."]


def shortened(data: object) -> str:
    """A data set as text, cut off if it is long."""
    words = repr(data)
    return words if len(words) <= _LONGEST else f"{words[: _LONGEST - 1]}…"


def _claim(claimed: float) -> str:
    return written_up(claimed) if math.isfinite(claimed) else "∞"


def _shown(finding: Refutation) -> str:
    """The bound with three digits, or as many as tell it from a claim that it refutes."""
    texts = [written_down(finding.epsilon_lower_bound, digits) for digits in range(3, 13)]
    if finding.claimed is None or not finding.caught:
        return texts[0]
    return next((text for text in texts if float(text) > float(_claim(finding.claimed))), texts[-1])
