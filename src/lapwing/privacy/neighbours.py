"""The neighbouring relation and the unit of privacy: who is protected, and which tables are compared.

`add_remove`: two tables are neighbours when one has all rows of one unit that the other lacks. The number of units is
protected too. `replace`: one unit's rows are exchanged for another's, so the number of units is public.

A guarantee under add_remove gives one under replace, because a replacement is a removal and an addition. The other
direction is refused everywhere: publishing the exact number of units loses nothing under replace and everything under
add_remove.
"""

from __future__ import annotations

from typing import Literal, cast

from lapwing import checks
from lapwing.errors import InvalidParameter

Relation = Literal["add_remove", "replace"]
"""Which tables are neighbours: those with one unit more or less (add_remove), or with one unit replaced."""

RELATIONS: tuple[Relation, ...] = ("add_remove", "replace")


class Unsaid(str):
    """A word that nobody wrote: equal to the same word written down, and yet told apart from it."""

    __slots__ = ()


PERSON = Unsaid("person")
"""The unit of a loss if nobody says which. Where it matters that the owner has said it, the type tells."""


def as_relation(relation: object) -> Relation:
    """One of the two relations, or an error that lists them."""
    return cast(Relation, checks.one_of(RELATIONS, relation=relation))


def as_unit(unit: object) -> str:
    """The name of the unit of protection: any word that is not empty."""
    if not isinstance(unit, str) or not unit.strip():
        raise InvalidParameter("unit", unit, "must name who is protected", 'Write unit="person", for example.')
    return unit
