"""The part of a collection's file that says what a crowd is, and when it is large enough."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from lapwing.collect.crowds import MOST_VALUES, Crowd, Source
from lapwing.collect.file_fields import Fields
from lapwing.collect.string_protocol import StringProtocol
from lapwing.crowd.protocol import Protocol
from lapwing.errors import LapwingError
from lapwing.mechanisms.dummies import DummyCrowds, DummyReports

AnyProtocol = Protocol | StringProtocol | None
"""None where the file names none that can be used."""
MOST_CROWD_DUMMIES, MOST_DUMMIES = 1000, 1_000_000
"""The largest crowd of dummies, and how many dummies a blinder makes for a batch on average."""
_KEYS = frozenset(["from", "values", "prefix", "threshold", "mean_drop", "sigma", "delta", "dummies"])


class CrowdFields(Fields):
    """What stands under `crowd`."""

    def crowd(self, protocol: AnyProtocol) -> Crowd | None:
        """The crowd of the document, unless there are problems."""
        item = self.map("crowd")
        self.surplus("crowd", item, _KEYS)
        source: Any = item.get("from")
        if source not in get_args(Source):
            self.problems.append(f"crowd.from: must be {' or '.join(get_args(Source))}")
            return None
        self._check_source(source)
        try:
            dummies = self._dummies(source, item, protocol)
            listed = () if dummies is None else _labels(protocol)
            return Crowd(
                source=source,
                values=self._values(item) if source == "attribute" else listed,
                dummies=dummies,
                prefix=self.whole("crowd.prefix", item["prefix"], largest=1000) if "prefix" in item else None,
                threshold=self.whole("crowd.threshold", item.get("threshold"), largest=10**6),
                mean_drop=self.whole("crowd.mean_drop", item.get("mean_drop"), largest=10**6),
                sigma=self.number("crowd.sigma", item.get("sigma")),
                delta=self.number("crowd.delta", item.get("delta")),
                unit=protocol.unit if protocol is not None else "person",
            )
        except LapwingError as error:
            self.problems.append(f"crowd: {error}")
            return None

    def _check_source(self, source: Source) -> None:
        if source == "answer" and self.document.get("transport") != "blinded":
            self.problems.append("crowd.from: one shuffler could read the crowd of an answer; use transport: blinded")
        if source == "answer" and self.document.get("accounting") != "lifetime":
            self.problems.append("crowd.from: answer needs accounting: lifetime, which counts what crowds tell, too")

    def _dummies(
        self, source: Source, item: Mapping[str, Any], protocol: AnyProtocol
    ) -> DummyReports | DummyCrowds | None:
        if "dummies" not in item or protocol is None:
            return None
        listed = item["dummies"] if isinstance(item["dummies"], Mapping) else {}
        self.surplus("crowd.dummies", listed, {"epsilon", "delta", "crowds_up_to"})
        if source != "answer":
            instead = "" if "fragments" in self.document else ", or write from: answer"
            self.problems.append(f"crowd.dummies: are for crowds of an answer; delete them{instead}")
        named: dict[str, Any] = {
            "epsilon": self.number("crowd.dummies.epsilon", listed.get("epsilon")),
            "delta": self.number("crowd.dummies.delta", listed.get("delta")),
            "relation": "replace",
            "unit": protocol.unit,
        }
        if _labels(protocol):
            if "crowds_up_to" in listed:
                why = "is for answers that nobody can list; this protocol lists them: delete it"
                self.problems.append(f"crowd.dummies.crowds_up_to: {why}")
            return DummyReports(**named)
        largest = self.whole("crowd.dummies.crowds_up_to", listed.get("crowds_up_to"), largest=MOST_CROWD_DUMMIES)
        dummies = DummyCrowds(largest=largest, **named)
        if dummies.reports > MOST_DUMMIES:
            why = f"asks for {dummies.reports:,} dummies in each batch, {MOST_DUMMIES:,} are the most"
            self.problems.append(f"crowd.dummies: {why}; write a smaller crowds_up_to, or a larger epsilon")
        return dummies

    def _values(self, item: Mapping[str, Any]) -> tuple[str, ...]:
        listed = item.get("values")
        plain = isinstance(listed, list) and all(isinstance(value, str) for value in listed)
        if not plain or not listed or len(set(listed)) < len(listed) or len(listed) > MOST_VALUES:
            self.problems.append(f"crowd.values: must be 1 to {MOST_VALUES:,} different texts, such as regions")
            return ()
        return tuple(listed)


def _labels(protocol: AnyProtocol) -> tuple[str, ...]:
    """The answers that a protocol knows; none if it has no list of them."""
    domain = getattr(protocol, "domain", None)
    return tuple(map(str, domain)) if isinstance(domain, list | tuple) else ()
