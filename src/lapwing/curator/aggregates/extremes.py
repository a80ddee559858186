"""The least and the greatest value of one unit's rows, in a sub-query. Over all units they would reveal one person."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from lapwing.curator.aggregates.base import Aggregate, Bound, QueryFacts
from lapwing.curator.plan.expressions import KINDS, Expression
from lapwing.errors import UnsupportedQuery


@dataclass(frozen=True, kw_only=True, repr=False)
class _Extreme(Aggregate):
    """Refused, with the quantile to ask for."""

    takes = KINDS
    options = None
    word: ClassVar[str]
    share: ClassVar[str]

    def bind(self, shared: QueryFacts) -> Bound:
        raise self._refused(self.of[0])

    @classmethod
    def asked(cls, of: tuple[Expression, ...], name: str, **options: Any) -> Aggregate:
        raise cls._refused(of[0])

    @classmethod
    def _refused(cls, of: str | Expression) -> UnsupportedQuery:
        why = f"the {cls.word} value is the value of one unit"
        return UnsupportedQuery(f"{cls.kind.upper()}({of})", why, f"Write QUANTILE({of}, {cls.share}).")


@dataclass(frozen=True, kw_only=True, repr=False)
class Least(_Extreme):
    """MIN(x)."""

    kind = "min"
    called = "min_{}"
    says = "the least value"
    total = "min"
    nodes = ("Min",)
    word, share = "least", "0.01"


@dataclass(frozen=True, kw_only=True, repr=False)
class Greatest(_Extreme):
    """MAX(x)."""

    kind = "max"
    called = "max_{}"
    says = "the greatest value"
    total = "max"
    nodes = ("Max",)
    word, share = "greatest", "0.99"
