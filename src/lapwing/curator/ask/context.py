"""Where the tables of a question live, whom they are about, and who keeps count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from lapwing.errors import InvalidParameter, UnsupportedQuery

if TYPE_CHECKING:
    from lapwing.curator.ask.breaker import Fuse
    from lapwing.curator.engines.compile import Relation
    from lapwing.curator.engines.engine import Engine
    from lapwing.privacy import Ledger, Loss


@dataclass(frozen=True, eq=False)
class Context:
    """Where the tables of a plan live, whom they are about, and who keeps count."""

    engine: Engine
    relations: Mapping[str, Relation]
    unit: str
    """The unit of protection, in a word."""
    datasets: tuple[str, ...]
    ledger: Ledger | None = None
    analyst: str | None = None
    population: int | None = None
    """How many units there are at least, as far as the public knows."""
    max_units_per: Mapping[str, int] = field(default_factory=dict)
    """How many units a household has at most, or whatever else was promised something, as far as the public knows."""
    fuses: tuple[Fuse, ...] = ()
    """What a failure blows where no ledger remembers it."""

    @property
    def connection(self) -> Any:
        """The connection that was given to the engine, if any."""
        return getattr(self.engine, "given", None)

    def remaining(self, analyst: str | None = None) -> Loss | None:
        """The least that may still be spent on any of the data sets, by this analyst, for one unit."""
        book, found = self.ledger, []
        if book is None:
            return None
        for dataset in self.datasets:
            own = analyst is not None and analyst in book.analysts(dataset, self.unit)
            who = {"analyst": analyst} if own and analyst else {}
            found.append(book.remaining(dataset, self.unit, **who))
        least = found[0]
        for other in found[1:]:
            if type(other) is type(least) and other <= least:
                least = other
        return least

    def losses(self, loss: Loss) -> list[Loss]:
        """What a release costs everybody who was promised something: a unit, and a group of so many units.

        Privacy: a household of at most k units is k steps from a table to its neighbour, whatever the release is.
        """
        assert self.ledger is not None
        promised = dict.fromkeys(unit for dataset in self.datasets for unit in self.ledger.units(dataset))
        for unit in promised:
            if unit != self.unit and unit not in self.max_units_per:
                why = f"the ledger has an allowance per {unit}, and nobody said how often a {unit} is a {self.unit}"
                hint = f"Open the table with max_units_per={{{unit!r}: 4}} if 4 is the most by public knowledge."
                raise InvalidParameter("max_units_per", dict(self.max_units_per), why, hint)
        groups = {unit: size for unit, size in self.max_units_per.items() if unit in promised}
        return [loss, *(replace(loss.for_group(size), unit=unit) for unit, size in groups.items())]


def together(one: Context, other: Context) -> Context:
    """Two tables in one question: the same engine, the same unit, and every data set is charged."""
    if one.engine != other.engine:
        why, hint = "the two tables live in different databases", "Open both from the same engine."
        raise UnsupportedQuery("join", why, hint)
    if one.unit != other.unit:
        why = f"one table is about {one.unit}, the other about {other.unit}"
        raise UnsupportedQuery("join", why, "Open both with the same unit: allowance=lw.PureDP(3, unit='patient').")
    clash = [name for name, relation in other.relations.items() if one.relations.get(name, relation) is not relation]
    if clash:
        raise UnsupportedQuery(clash[0], "two tables have this name", "Open one of them with another name=.")
    if one.ledger is not None and other.ledger is not None and one.ledger != other.ledger:
        raise UnsupportedQuery(
            "join", "the two tables keep count in different ledgers", "Open both with the same ledger=."
        )
    if one.analyst and other.analyst and one.analyst != other.analyst:
        why = f"one table was opened by {one.analyst}, the other by {other.analyst}"
        raise UnsupportedQuery("join", why, "Open both with the same analyst=.")
    sizes = {**one.max_units_per, **other.max_units_per}
    return replace(
        one,
        relations={**one.relations, **other.relations},
        datasets=tuple(dict.fromkeys((*one.datasets, *other.datasets))),
        ledger=one.ledger or other.ledger,
        analyst=one.analyst or other.analyst,
        population=max(one.population or 0, other.population or 0) or None,
        max_units_per={unit: max(size, one.max_units_per.get(unit, 0)) for unit, size in sizes.items()},
        fuses=(*one.fuses, *(fuse for fuse in other.fuses if not any(fuse is known for known in one.fuses))),
    )
