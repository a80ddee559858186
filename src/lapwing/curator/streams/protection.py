"""What a stream protects: one event, everything of one unit, or what a unit does in some consecutive steps.

These are different promises, and none is sold as another: each has its own word in the loss, and a ledger that promises
something to a patient refuses a loss that is about less.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

from lapwing import checks
from lapwing.curator.plan.nodes import Plan, is_each_row
from lapwing.curator.show.words import EVENT_LEVEL
from lapwing.errors import InvalidParameter


@dataclass(frozen=True, slots=True)
class Event:
    """One row, in one step. Somebody with many rows is not protected as a person."""

    def unit(self, word: str, every: str) -> str:
        """The word of the loss."""
        return word

    def explain(self, word: str, every: str) -> str:
        """What is protected, in words."""
        return f"{EVENT_LEVEL}one {word} is protected. Somebody with several {word}s is not protected as a person"

    def written(self) -> dict[str, Any]:
        """As plain data."""
        return {"protects": "event"}


@dataclass(frozen=True, slots=True)
class ActiveSteps:
    """Everything of one unit, of which so many steps count, at least `separation` steps apart.

    In later steps its rows are left out. Which steps count is decided by that unit's rows alone: the first ones.
    """

    steps: int
    separation: int = 1

    def __post_init__(self) -> None:
        checks.whole(active_steps=self.steps)
        checks.whole(separation=self.separation)

    def unit(self, word: str, every: str) -> str:
        """The word of the loss: the whole unit, since what does not count is left out."""
        return word

    def explain(self, word: str, every: str) -> str:
        """What is protected, in words."""
        apart = "" if self.separation == 1 else f", at least {self.separation} {every}s apart"
        many = f"one {every}, the first" if self.steps == 1 else f"{self.steps:,} {every}s, the first {self.steps:,}"
        return (
            f"{word} level: all rows of one {word} are protected. Each {word} counts in at most {many} with rows{apart}"
        )

    def written(self) -> dict[str, Any]:
        """As plain data."""
        return {"protects": "unit", "active_steps": self.steps, "separation": self.separation}


Allocation = Literal["distribution", "absorption"]
"""How a budget is spread over consecutive steps: halves of what is left, or what earlier steps did not use."""


@dataclass(frozen=True, slots=True)
class ConsecutiveSteps:
    """What one unit does in any so many consecutive steps (w-event privacy), and no more than that."""

    steps: int
    allocation: Allocation = "distribution"

    def __post_init__(self) -> None:
        checks.whole(consecutive_steps=self.steps)
        checks.one_of(get_args(Allocation), allocation=self.allocation)

    def suffix(self, every: str) -> str:
        """What distinguishes its unit from a whole one, and seven days from seven hours."""
        return f" in any {self.steps} consecutive {every}s" if self.steps > 1 else f" in any single {every}"

    def base(self, word: str, every: str) -> str:
        """The whole unit, where an allowance names its part."""
        return word.removesuffix(self.suffix(every))

    def unit(self, word: str, every: str) -> str:
        """The word of the loss, which no allowance for a whole unit, or for other steps, accepts."""
        return self.base(word, every) + self.suffix(every)

    def explain(self, word: str, every: str) -> str:
        """What is protected, in words."""
        span = f"{self.steps:,} consecutive {every}s" if self.steps > 1 else f"one {every}"
        who = self.base(word, every)
        level = f"{self.steps:,}-{every} level"
        return f"{level} (w-event): what one {who} does in any {span} is protected, not what happens over a longer time"

    def written(self) -> dict[str, Any]:
        """As plain data; the usual allocation is not mentioned, as before there was another."""
        other = {} if self.allocation == "distribution" else {"allocation": self.allocation}
        return {"protects": "consecutive", "consecutive_steps": self.steps, **other}


Protection = Event | ActiveSteps | ConsecutiveSteps


def protection_of(
    plan: Plan,
    word: str,
    *,
    active_steps: int | None = None,
    separation: int | None = None,
    consecutive_steps: int | None = None,
    allocation: Allocation | None = None,
    once: bool = False,
) -> Protection:
    """What was asked for; a table about units has to be told how often one is active.

    `once` says that a unit changes nothing but in the step of its first appearance, so that nothing has to be told.
    """
    if active_steps is not None and consecutive_steps is not None:
        why = "cannot be combined with active_steps: they are two different promises"
        raise InvalidParameter("consecutive_steps", consecutive_steps, why, "Leave one of them out.")
    if separation is not None and active_steps is None:
        raise InvalidParameter("separation", separation, "is about active steps", "Write active_steps=7 as well.")
    if allocation is not None and consecutive_steps is None:
        why = "is about consecutive steps: how their budget is spread over them"
        raise InvalidParameter("allocation", allocation, why, "Write consecutive_steps=7 as well, or leave it out.")
    if consecutive_steps is not None:
        return ConsecutiveSteps(consecutive_steps, "distribution" if allocation is None else allocation)
    if is_each_row(plan):
        if active_steps is not None:
            why = "is about a unit with several rows, and in this table every row is a unit of its own"
            hint = "Leave it out, or open the table with unit='patient_id'."
            raise InvalidParameter("active_steps", active_steps, why, hint)
        return Event()
    if active_steps is None and once:
        return ActiveSteps(1)
    if active_steps is None:
        why = f"you must say in how many steps one {word} counts at most, because the noise depends on it"
        hint = (
            f"Write active_steps=30 to count the first 30; or consecutive_steps=7 to protect only what a {word} does "
            "in any 7 consecutive steps; or open the table with unit=lw.EACH_ROW to protect single events."
        )
        raise InvalidParameter("active_steps", None, why, hint)
    return ActiveSteps(active_steps, 1 if separation is None else separation)


def read(data: dict[str, Any]) -> Protection:
    """The protection that was written."""
    if data["protects"] == "event":
        return Event()
    if data["protects"] == "unit":
        return ActiveSteps(data["active_steps"], data["separation"])
    return ConsecutiveSteps(data["consecutive_steps"], data.get("allocation", "distribution"))
