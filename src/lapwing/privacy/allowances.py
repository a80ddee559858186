"""What the ledger counts: allowances as rows of whole numbers, one for each data set, unit and analyst.

Amounts are whole multiples of 2^-50 (epsilon, rho) and 2^-62 (delta). Charges are rounded up and allowances down. An
allowance is enforced with a small tolerance, so that ten charges of 0.1 fit into 1 although the double 0.1 is more than
a tenth: a billionth of the allowance plus a thousand of these multiples, but never more than a hundredth of it. An
allowance of 0 is 0.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from math import ceil, floor
from typing import Any

from lapwing.calls import closest
from lapwing.errors import BudgetExceeded, IncompatibleLosses, InvalidParameter, withheld
from lapwing.privacy.journal import EVERYBODY, Database, Place
from lapwing.privacy.losses import ZCDP, ApproxDP, Loss, PureDP, as_loss
from lapwing.privacy.trust import Trust, implied

SIZE_UNIT, DELTA_UNIT = Fraction(1, 1 << 50), Fraction(1, 1 << 62)
LARGEST_SIZE, LARGEST_DELTA = 1 << 11, Fraction(1, 2)
LONGEST_NAME, MOST_BYTES = 256, 768
"""Of a name. PostgreSQL finds an allowance by three names, which may have 2704 bytes in all."""
_SPEND = """
UPDATE budget SET spent_size = spent_size + :cost, spent_delta = spent_delta + :delta_cost
WHERE (dataset, unit, analyst) = (:dataset, :unit, :analyst)
AND spent_size + :cost <= size + size / 100 AND spent_size + :cost <= size + size / 1000000000 + 1000
AND spent_delta + :delta_cost <= delta + delta / 100 AND spent_delta + :delta_cost <= delta + delta / 1000000000 + 1000
"""
_KINDS: dict[str, type[Loss]] = {"PureDP": PureDP, "ApproxDP": ApproxDP, "ZCDP": ZCDP}

Row = Mapping[str, Any]
Costs = dict[str, dict[str, tuple[int, int]]]
"""Size and delta, by data set and unit."""


def new_row(dataset: str, analyst: str, allowance: Loss) -> dict[str, Any]:
    """The allowance as a row; it names its kind, relation and unit for ever."""
    as_loss(allowance, "allowance")
    dataset, unit = stable_name("dataset", dataset), stable_name("unit", allowance.unit)
    if type(allowance).__name__ not in _KINDS:
        hint = "Write PureDP(3), ApproxDP(3, 1e-6) or ZCDP(0.5)."
        raise InvalidParameter(
            "allowance",
            str(allowance),
            "an allowance must be PureDP, ApproxDP or ZCDP, whose sums hold for adaptive questions",
            hint,
        )
    size, delta = _amounts(allowance, floor)
    if size > LARGEST_SIZE / SIZE_UNIT or delta > LARGEST_DELTA / DELTA_UNIT:
        why = f"more than {LARGEST_SIZE}, or a delta of more than {LARGEST_DELTA}, protects nobody"
        raise InvalidParameter("allowance", str(allowance), why, "Write PureDP(3) or ApproxDP(3, 1e-6).")
    kind = type(allowance).__name__
    frame = {"kind": kind, "relation": _promise(allowance), "unit": unit}
    return {"dataset": dataset, "analyst": somebody(analyst), **frame, "size": size, "delta": delta}


def is_known(database: Database, dataset: str) -> bool:
    """Whether a data set has an allowance, for any unit."""
    rows = database.execute("SELECT 1 AS one FROM budget WHERE dataset = :dataset LIMIT 1", {"dataset": dataset})
    return rows.fetchone() is not None


def not_raised(known: Row, row: Row, allowance: Loss) -> None:
    """Refuse an allowance that is larger than the one in the ledger: it would not be what the owner believes."""
    if row["size"] > known["size"] or row["delta"] > known["delta"]:
        there = loss_of(known, known["size"], known["delta"])
        why = f"the ledger has {there} for {known['dataset']!r}, and an allowance is never raised"
        hint = f"Write {in_code(there)} or a smaller one, or leave allowance= out."
        raise InvalidParameter("allowance", str(allowance), why, hint)


def row_at(database: Database, place: Place) -> dict[str, Any] | None:
    """The allowance of a data set, unit and analyst, if there is one."""
    dataset, unit, analyst = place
    row = database.execute(
        "SELECT * FROM budget WHERE dataset = :dataset AND unit = :unit AND analyst = :analyst",
        {"dataset": dataset, "unit": unit, "analyst": analyst},
    ).fetchone()
    return None if row is None else dict(row)


def rows_for(database: Database, dataset: str, analyst: str = EVERYBODY) -> dict[str, dict[str, Any]]:
    """The allowances of a data set by unit; an error if there is none."""
    known = {"dataset": stable_name("dataset", dataset), "analyst": somebody(analyst)}
    query = "SELECT * FROM budget WHERE dataset = :dataset AND analyst = :analyst ORDER BY unit"
    rows = {row["unit"]: dict(row) for row in database.execute(query, known)}
    if not rows:
        whose = "" if analyst == EVERYBODY else f", analyst={analyst!r}"
        hint = f"Open it first: ledger.open({dataset!r}, PureDP(1){whose})."
        meant = None if whose else _meant(database, dataset)
        hint = hint if meant is None else f"Did you mean {meant!r}?"
        name, value = ("analyst", analyst) if whose else ("dataset", dataset)
        raise InvalidParameter(name, value, "has no allowance in this ledger", hint)
    return rows


def _meant(database: Database, dataset: str) -> str | None:
    """The data set of this ledger whose name was probably misspelt."""
    return closest(dataset, [row["dataset"] for row in database.execute("SELECT DISTINCT dataset FROM budget")])


def the_row(database: Database, dataset: str, unit: str | None, analyst: str) -> dict[str, Any]:
    """The allowance for a unit, which need not be named where there is only one."""
    rows = rows_for(database, dataset, analyst)
    if unit is None and len(rows) == 1:
        [unit] = rows
    if unit not in rows:
        why = f"the data set has allowances per {' and per '.join(rows)}"
        raise InvalidParameter("unit", unit, why, f"Name one: unit={next(iter(rows))!r}.")
    return rows[unit]


def left(*rows: Row) -> Loss:
    """What allowances of one kind still cover, all of them."""
    amounts = (min(max(0, row[name] - row[f"spent_{name}"]) for row in rows) for name in ("size", "delta"))
    return loss_of(rows[0], *amounts)


def loss_of(row: Row, size: int, delta: int) -> Loss:
    """Amounts as a loss of the row's kind."""
    frame = {**_promised(row), "unit": row["unit"]}
    if row["kind"] == "PureDP":
        return PureDP(size * SIZE_UNIT, **frame)
    kind = ApproxDP if row["kind"] == "ApproxDP" else ZCDP
    return kind(size * SIZE_UNIT, delta * DELTA_UNIT, **frame)


def same_kind(row: Row, allowance: Loss) -> None:
    """An allowance keeps its kind, and an analyst's has the kind of the common one: both are charged the same cost."""
    _same_relation(row, allowance)
    if row["relation"] != _promise(allowance):
        why = "the data set was opened under another trust, which cannot change"
        raise IncompatibleLosses(loss_of(row, row["size"], row["delta"]), allowance, why)
    if row["kind"] != type(allowance).__name__:
        there = loss_of(row, row["size"], row["delta"])
        why = f"the allowance is counted in {row['kind']}, which cannot change"
        hint = f"Write {in_code(there)} or a smaller one, or leave allowance= out"
        raise IncompatibleLosses(there, allowance, f"{why}. {hint}")


def in_code(allowance: Loss) -> str:
    """An allowance of a ledger as one writes it in Python: it stands for exactly the same row.

    >>> in_code(ZCDP(0.1, unit="patient"))
    "lw.ZCDP(0.1, unit='patient')"
    """
    size, delta = _amounts(allowance, floor)
    numbers = [_number_in_code(size, SIZE_UNIT)]
    if delta or isinstance(allowance, ApproxDP):
        numbers.append(_number_in_code(delta, DELTA_UNIT))
    frame: dict[str, Any] = {} if allowance.relation == "add_remove" else {"relation": allowance.relation}
    frame |= {"unit": str(allowance.unit)} | ({} if allowance.trust is None else {"trust": allowance.trust})
    words = [*numbers, *(f"{name}={value!r}" for name, value in frame.items())]
    return f"lw.{type(allowance).__name__}({', '.join(words)})"


def _number_in_code(amount: int, unit: Fraction) -> str:
    """The shortest number that is rounded down to so many units."""
    near = float(amount * unit)
    texts = (f"{near:.12g}", repr(near))
    return next((text for text in texts if floor(Fraction(float(text)) / unit) == amount), repr(amount * unit))


def by_unit(loss: Loss | Iterable[Loss]) -> dict[str, Loss]:
    """The losses of one release, of which each unit has one."""
    given = [loss] if isinstance(loss, Loss) or not isinstance(loss, Iterable) else loss
    with withheld("has an entry that is no loss", "Write lw.PureDP(1).", loss=given):
        losses = [as_loss(part) for part in given]
    units = {stated.unit: stated for stated in losses}
    if not losses or len(units) < len(losses):
        why, hint = "a release has exactly one loss per unit", "Add them up: first + second."
        raise InvalidParameter(
            "loss", [str(stated) for stated in losses], why, hint if losses else "Write PureDP(0.1)."
        )
    return units


def costs_of(database: Database, datasets: Sequence[str], losses: Mapping[str, Loss]) -> Costs:
    """What a release costs every data set for each of its units, in the accountant that it was opened with.

    Privacy: a loss per patient bounds nothing for a household, which may have any number of them, nor one per household
    for a patient, who may leave alone. So each unit that was promised something needs a loss of its own.
    """
    rows = {dataset: rows_for(database, dataset) for dataset in datasets}
    for dataset, units in rows.items():
        for unit, row in units.items():
            if unit not in losses:
                given = next(iter(losses.values()))
                raise IncompatibleLosses(loss_of(row, row["size"], row["delta"]), given, _missing(dataset, unit, given))
    known = {unit for units in rows.values() for unit in units}
    for unit in losses.keys() - known:
        some = next(iter(rows[datasets[0]].values()))
        why = f"no data set named has an allowance per {unit}; open it before the first charge, or leave the loss out"
        raise IncompatibleLosses(loss_of(some, some["size"], some["delta"]), losses[unit], why)
    return {name: {unit: _cost(row, losses[unit]) for unit, row in units.items()} for name, units in rows.items()}


def spend(database: Database, costs: Costs, analyst: str, losses: Mapping[str, Loss]) -> None:
    """Add the costs to everybody's totals and to the analyst's, each only if its allowance covers it."""
    places = [(dataset, unit) for dataset, units in costs.items() for unit in units]
    for dataset, unit in places:
        size, delta = costs[dataset][unit]
        for who in dict.fromkeys((EVERYBODY, analyst)):
            row = row_at(database, (dataset, unit, who))
            if row is None:
                continue  # no allowance of its own: the common one bounds it
            cost = {"cost": size, "delta_cost": delta, "dataset": dataset, "unit": unit, "analyst": who}
            covered = size <= LARGEST_SIZE / SIZE_UNIT  # more would not fit the database's integers either
            if not covered or database.execute(_SPEND, cost).rowcount == 0:
                loss = losses[unit]
                requested = loss if type(loss).__name__ == row["kind"] else loss_of(row, size, delta)
                raise BudgetExceeded(requested, left(row))


def stable_name(what: str, value: object) -> str:
    """A name that is the same everywhere: in the database, in JSON and on a terminal."""
    fits = isinstance(value, str) and value.isprintable() and 0 < len(value) <= LONGEST_NAME
    if fits and len(str(value).encode()) <= MOST_BYTES:
        return str(value)
    shown = value[:40] if isinstance(value, str) else type(value)
    why = f"must be a stable name of 1 to {LONGEST_NAME} printable characters, in at most {MOST_BYTES} bytes"
    raise InvalidParameter(what, shown, why, "Write 'patients', for example; for something long, its digest.")


def somebody(analyst: str) -> str:
    """The name of an analyst, or of everybody together."""
    return EVERYBODY if isinstance(analyst, str) and analyst == EVERYBODY else stable_name("analyst", analyst)


def _amounts(loss: Loss, whole: Callable[[Fraction], int] = ceil) -> tuple[int, int]:
    """Epsilon or rho, and delta, in whole units: what is spent rounded up, what is allowed rounded down."""
    size = loss.rho if isinstance(loss, ZCDP) else loss.epsilon  # type: ignore[attr-defined]
    return whole(size / SIZE_UNIT), whole(getattr(loss, "delta", Fraction(0)) / DELTA_UNIT)


def _promise(loss: Loss) -> str:
    """The relation as it is stored, with the trust if there is one.

    Ledgers without a trust are as they always were. One that has it is refused by versions that know none: they would
    take it for a promise to everybody.
    """
    if loss.trust is None:
        return loss.relation
    return json.dumps({"relation": loss.relation, "trust": loss.trust.to_dict()}, sort_keys=True)


def _promised(row: Row) -> dict[str, Any]:
    """The relation and the trust of a row."""
    if not row["relation"].startswith("{"):
        return {"relation": row["relation"]}
    stored = json.loads(row["relation"])
    return {"relation": stored["relation"], "trust": Trust.from_dict(stored["trust"])}


def _same_relation(row: Row, loss: Loss) -> None:
    if _promised(row)["relation"] != loss.relation:
        why = "the data set was opened for another relation"
        raise IncompatibleLosses(loss_of(row, row["size"], row["delta"]), loss, why)


def _covered(row: Row, loss: Loss) -> None:
    """Refuse a loss that holds against fewer than the allowance promises."""
    _same_relation(row, loss)
    if not implied(loss.trust, _promised(row).get("trust")):
        why = f"of this loss, {loss.trust}, and the data set was promised more. Open it with an allowance of that trust"
        raise IncompatibleLosses(loss_of(row, row["size"], row["delta"]), loss, why)


def _cost(row: Row, loss: Loss) -> tuple[int, int]:
    _covered(row, loss)
    kind = row["kind"]
    if kind == "ZCDP":
        return _amounts(loss.to_zcdp())
    if isinstance(loss, PureDP) or (kind == "ApproxDP" and isinstance(loss, ApproxDP)):
        return _amounts(loss)
    why = f"the allowance is counted in {kind}. {_payable(kind, loss)}"
    raise IncompatibleLosses(loss_of(row, row["size"], row["delta"]), loss, why)


def _payable(kind: str, loss: Loss) -> str:
    """How to ask for what an allowance of this kind can pay, and which allowance would have paid the loss."""
    ask = "Write epsilon=0.5" if kind == "PureDP" else "Write epsilon=0.5, with or without delta=1e-6"
    if kind == "PureDP" and isinstance(loss, (ApproxDP, ZCDP)) and loss.delta:
        ask = "Write epsilon=0.5 without delta=. For secret keys, declare them: keys={'region': ['North', 'South']}"
    needs = {
        "ApproxDP": "A delta needs allowance=lw.ApproxDP(3, 1e-5)",
        "ZCDP": "A rho needs allowance=lw.ZCDP(0.5)",
    }.get(type(loss).__name__)
    return f"{ask}. {needs} when the data set is first opened; this cannot be changed later" if needs else ask


def _missing(dataset: str, unit: str, given: Loss) -> str:
    return (
        f"{dataset!r} has an allowance per {unit}, and a loss per {given.unit} bounds nothing for a {unit}. Pass a "
        f"list with the loss for every unit: [PureDP(0.1, unit={given.unit!r}), PureDP(0.5, unit={unit!r})]. "
        f"Where a {unit} is at most k times a {given.unit} by public knowledge, its loss is that of loss.for_group(k)"
    )
