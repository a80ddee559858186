"""What a measured epsilon says about a claimed one."""

from __future__ import annotations

from typing import Literal

from lapwing.errors import InvalidParameter


class Refutation:
    """A finding that can refute a claim, and never proves one."""

    __slots__ = ()
    epsilon_lower_bound: float
    claimed: float | None

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
