"""Local collection: everybody randomises their own answer, as if on their device, and only that is counted.

Privacy: a report is epsilon-private by itself, in the relation replace: whatever the answer was, the report is nearly
as likely. Here the rows are at hand already, so the table's own ledger is charged as well, in its relation add_remove.
For that the number of reports is the public number of people, never the number of rows: where there are fewer units,
blank answers take their place, where there are more, a random part reports. Adding a unit then replaces at most one
report, by the same epsilon.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, exp, sqrt
from statistics import NormalDist
from typing import Any, Self

from lapwing import crowd
from lapwing.crowd.protocol import ClosedProtocol, OpenProtocol, Protocol
from lapwing.noise import SYSTEM
from lapwing.privacy import Loss, PureDP
from lapwing.web.lab.analyses import forms, grouping, rows
from lapwing.web.lab.analyses.curated import CONFIDENCE, EACH, affordable
from lapwing.web.lab.analysis import Analysis, Data, Field, Progress
from lapwing.web.lab.failures import on_record
from lapwing.web.lab.result import EPSILONS, Band, Preview, Result, Series, Value
from lapwing.web.lab.statement import DATASET, StatedColumn, Statement

PROTOCOLS = {
    "response": "randomized response, which sends the truth with some probability and otherwise any answer",
    "rappor": "RAPPOR: one noisy bit for each answer (basic, one report)",
    "sketch": "count mean sketch: a noisy row of a hash table",
}
MOST_REPORTS = 1_000_000
FUNCTIONS, WIDTH = 64, 256


@dataclass(frozen=True, slots=True)
class Local(Analysis):
    """How many people would give each answer, if everybody randomised theirs."""

    slug = "local"
    title = "Local collection"
    summary = "Everybody randomises their own answer before it is sent; nobody has to be trusted with the truth."

    column: StatedColumn
    protocol: str = "response"

    @classmethod
    def fields(cls, statement: Statement) -> tuple[Field, ...]:
        """Which answers, and how they are randomised."""
        protocols = tuple(PROTOCOLS.items())
        return (
            forms.chosen("column", "Column with the answers", grouping.usable(statement)),
            Field("protocol", "Randomised by", protocols, "response", titled=False),
        )

    @classmethod
    def of(cls, statement: Statement, form: Mapping[str, Any]) -> Self:
        """From a form."""
        column = forms.column(form, "column", grouping.usable(statement), "keys")
        return cls(column, forms.choice(form, "protocol", tuple(PROTOCOLS)))

    @property
    def answers(self) -> list[str]:
        """The stated keys as DuckDB writes them."""
        return [str(value).lower() if isinstance(value, bool) else str(value) for value in grouping.values(self.column)]

    def of_size(self, epsilon: float, unit: str) -> ClosedProtocol | OpenProtocol:
        """The protocol whose reports cost at most epsilon."""
        if self.protocol == "rappor":
            return crowd.BasicOneTimeRappor(domain=self.answers, permanent_noise=permanent(epsilon), unit=unit)
        if self.protocol == "sketch":
            return crowd.CountMeanSketch(epsilon=epsilon, functions=FUNCTIONS, width=WIDTH, unit=unit)
        return crowd.CategoryResponse.from_epsilon(epsilon, domain=[*self.answers, self.blank], unit=unit)

    @property
    def blank(self) -> str:
        """What stands for no answer: none of the keys."""
        word = "no answer"
        while word in self.answers:
            word += "."
        return word

    def rows_of_each(self, statement: Statement) -> int:
        """One, whatever other questions use."""
        return 1

    def preview(self, statement: Statement, epsilons: Sequence[float] = EPSILONS) -> Preview:
        """From the protocol's own probabilities: the coins do not depend on the data, and hardly on the truth."""
        errors = tuple(self._error(epsilon, statement) for epsilon in epsilons)
        return Preview(
            (Band("number of people", errors),),
            CONFIDENCE,
            0.0,
            (
                EACH,
                "every report is private by itself, against everybody, including the collector",
                f"as many reports as you stated: {statement.people:,}; if there are fewer people, blank ones are added",
                "the error grows with the square root of the number of people; the error of “Count” does not grow",
            ),
            f"{PROTOCOLS[self.protocol]} (lapwing.crowd.{type(self.of_size(1.0, 'person')).__name__})",
        )

    def _error(self, epsilon: float, statement: Statement) -> float:
        """About twice the standard error of a count, as if all answers were equally frequent."""
        protocol = self.of_size(epsilon, statement.unit_word)
        reports, scale = _size(statement)
        error = (
            scale * NormalDist().inv_cdf((1 + CONFIDENCE) / 2) * sqrt(_variance(protocol, reports, len(self.answers)))
        )
        return float(f"{error:.4g}")

    def release(self, data: Data, epsilon: float, progress: Progress) -> Result:
        """Charged to the table's ledger, then everybody's answer is randomised in memory, and counted."""
        statement = data.statement
        protocol = self.of_size(epsilon, statement.unit_word)
        loss = self._charge(data, epsilon, protocol)
        progress(0.1)
        rows.reachable(data)

        def look() -> Result:
            values = self._read(data, progress)
            progress(0.5)
            result = self._collected(protocol, values, statement, loss)
            progress(1.0)
            return result

        return on_record(data, look)

    def draws(self, data: Data, epsilon: float, times: int, progress: Progress) -> Iterator[Result]:
        """Everybody answers again and again; the answers are read once."""
        protocol = self.of_size(epsilon, data.statement.unit_word)
        loss = self._charge(Data(data.path, data.statement, None), epsilon, protocol)
        values = self._read(data, progress)
        for turn in range(times):
            progress(turn / times)
            yield self._collected(protocol, values, data.statement, loss)

    def _collected(
        self, protocol: ClosedProtocol | OpenProtocol, values: list[str], statement: Statement, loss: Loss
    ) -> Result:
        """What the reports of these answers say."""
        estimates = self._estimated(protocol, values)
        _, scale = _size(statement)
        low, high = estimates.interval("respondents")
        places = {str(label): place for place, label in enumerate(estimates.labels)}
        shown = []
        for name in self.answers:
            i = places[name]
            ends = float(low[i]) * scale, float(high[i]) * scale
            shown.append(Value(name, float(estimates.counts[i]) * scale, *ends))
        notes = (
            f"each report costs {protocol.privacy_loss()}: that is each person's own guarantee, against everybody",
            "the rows are already in this table, so its budget is charged as well",
            "estimates may be negative; setting them to 0 would bias them",
        )
        return Result("bars", (Series("number of people", tuple(shown)),), self.column.name, loss, CONFIDENCE, notes)

    def _charge(self, data: Data, epsilon: float, protocol: Protocol) -> Loss:
        loss = PureDP(epsilon, unit=data.statement.unit_word)
        assert protocol.privacy_loss().epsilon <= loss.epsilon
        if data.ledger is not None:
            affordable(data.ledger, data.statement, loss)
            data.ledger.charge(DATASET, loss)
        return loss

    def _read(self, data: Data, progress: Progress) -> list[str]:
        """One answer of each unit, as many as the public number says; blank ones where there are fewer."""
        reports, _ = _size(data.statement)
        name, unit = forms.quoted(self.column.name), data.statement.unit
        salt = hashlib.sha256(SYSTEM.bits(256).to_bytes(32, "big")).hexdigest()
        answer = f"coalesce({forms.label_of(self.column.name)}, '{self.blank}')"
        if unit:
            whose = forms.quoted(unit)
            sql = (
                f"SELECT arg_min({answer}, hash('{salt}', {whose}, {name})) FROM rows WHERE {whose} IS NOT NULL "
                f"GROUP BY {whose} ORDER BY hash('{salt} unit', {whose}) LIMIT {reports}"
            )
        else:
            sql = f"SELECT {answer} FROM rows ORDER BY random() LIMIT {reports}"
        with rows.opened(data, progress) as source:
            values = [row[0] for row in source.all(sql)]
        return values + [self.blank] * (reports - len(values))

    def _estimated(self, protocol: ClosedProtocol | OpenProtocol, values: list[str]) -> Any:
        known = set(self.answers)
        answers = [value if value in known else self.blank for value in values]
        counts = protocol.absorb(None, protocol.randomize(answers))
        if isinstance(protocol, OpenProtocol):
            return protocol.estimate(counts, self.answers, confidence=CONFIDENCE)
        return protocol.estimate(counts, confidence=CONFIDENCE)

    def exact(self, data: Data, progress: Progress) -> Result:
        """How many units have each answer."""
        with rows.opened(data, progress) as source:
            unit = forms.quoted(data.statement.unit) if data.statement.unit else ""
            what = f"count(DISTINCT {unit})" if unit else "count(*)"
            counts = [float(row[0]) if row else 0.0 for row in grouping.by_value(source, self.column, what)]
        progress(1.0)
        values = tuple(Value(name, count) for name, count in zip(self.answers, counts, strict=True))
        return Result("bars", (Series("number of people", values),), self.column.name)

    def script(self, statement: Statement, epsilon: float) -> str:
        """The protocol, as devices, an aggregator and an analyst use it."""
        unit, reports, name = statement.unit_word, _size(statement)[0], self.column.name
        candidates = f", {self.answers!r}" if self.protocol == "sketch" else ""
        lines = (
            "from lapwing import crowd",
            "",
            f"protocol = {self._called(epsilon, unit)}",
            "print(protocol.privacy_loss())  # of one report, against everybody",
            f"loss = lw.PureDP({epsilon!r}, unit={unit!r})",
            f"lw.Ledger(ledger).charge({DATASET!r}, loss)  # the rows are here already, so this table pays as well",
            f"rows = table.raw_rows([{name!r}], text=[{name!r}], most={reports})",
            f"known, blank = {self.answers!r}, {self.blank!r}",
            f"answers = [answer if answer in known else blank for answer in rows[{name!r}]]",
            "# The number of reports is public, the number of rows is not. Blank answers fill the difference.",
            f"answers += [blank] * ({reports} - len(answers))",
            "reports = protocol.randomize(answers)  # each person for their own answer",
            f"print(protocol.estimate(protocol.absorb(None, reports){candidates}))",
        )
        return "\n".join(lines)

    def _called(self, epsilon: float, unit: str) -> str:
        if self.protocol == "rappor":
            options = f"domain={self.answers!r}, permanent_noise={permanent(epsilon)!r}"
            return f"crowd.BasicOneTimeRappor({options}, unit={unit!r})"
        if self.protocol == "sketch":
            return f"crowd.CountMeanSketch(epsilon={epsilon!r}, functions={FUNCTIONS}, width={WIDTH}, unit={unit!r})"
        domain = [*self.answers, self.blank]
        return f"crowd.CategoryResponse.from_epsilon({epsilon!r}, domain={domain!r}, unit={unit!r})"


def permanent(epsilon: float) -> float:
    """RAPPOR's noise f for one report: 2/(1 + e^(ε/2)), rounded up."""
    return min(1.0, ceil(2e6 / (1 + exp(epsilon / 2))) / 1e6)


def _size(statement: Statement) -> tuple[int, float]:
    """How many reports are made, and how many people each stands for."""
    people = max(1, statement.people)
    reports = min(people, MOST_REPORTS)
    return reports, people / reports


def _variance(protocol: Protocol, reports: int, answers: int) -> float:
    """Of one count over the coins, for answers that are all equally frequent.

    Source: `crowd.estimates.from_support` and `CountMeanSketch.estimate`, whose error also has colliding cells.
    """
    behind = reports / max(1, answers)
    if isinstance(protocol, crowd.CountMeanSketch):
        flip, width = float(protocol.flip), protocol.width
        coins = reports * flip * (1 - flip) / (1 - 2 * flip) ** 2
        others = reports - behind
        alike = (1 - 1 / protocol.functions) * others + behind * others / protocol.functions
        return (width / (width - 1)) ** 2 * (coins + (1 - 1 / width) / width * alike)
    if isinstance(protocol, crowd.CategoryResponse):
        true, other = float(protocol.keep), float(protocol.switch)
    else:
        assert isinstance(protocol, crowd.BasicOneTimeRappor)
        true, other = float(protocol.one_probability(True)), float(protocol.one_probability(False))
    return (behind * true * (1 - true) + (reports - behind) * other * (1 - other)) / (true - other) ** 2
