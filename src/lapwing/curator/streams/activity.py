"""Who counts in a step: units that were active in few enough earlier steps, far enough apart; and who appears first.

Privacy: whether the rows of a unit count in a step depends on that unit's own rows, in this step and before, and on
nobody else. Units over the limit are left out without a word. Proof: streams.md, points 2 and 3
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from lapwing.curator.plan.statistics import Statistic
from lapwing.curator.streams.protection import ActiveSteps, Protection
from lapwing.curator.streams.reading import StepRows
from lapwing.privacy.journal import Database


def vectors(
    database: Database,
    step: int,
    rows: StepRows,
    statistics: Sequence[Statistic],
    *,
    groups: int,
    appearing: Sequence[bool],
    protection: Protection,
    most_groups: int,
) -> list[list[int]]:
    """What each counter is fed in a step: for each statistic one exact integer for each group."""
    sums = [[0] * groups for _ in statistics]
    adding = [place for place, appears in enumerate(appearing) if not appears]
    for group, numbers in rows.totals.items():
        for place in adding:
            sums[place][group] += numbers[place]
    firsts = [place for place, statistic in enumerate(statistics) if appearing[place] and statistic.kind == "units"]
    for unit, parts in rows.by_unit.items():
        if adding and _counts(database, unit, step, protection):
            for group, numbers in parts.items():
                for place in adding:
                    sums[place][group] += numbers[place]
        for place in firsts:
            for group in _new_groups(database, place, unit, sorted(parts), most_groups):
                sums[place][group] += 1
    for place, group, value in rows.values:
        sums[place][group] += _is_new(database, place, value, group)
    return sums


def _counts(database: Database, unit: str, step: int, protection: Protection) -> bool:
    """Whether a unit that has rows in this step counts in it; if so, that is written down."""
    if not isinstance(protection, ActiveSteps):
        return True
    known = database.execute("SELECT steps, last FROM activity WHERE unit = :unit", {"unit": unit}).fetchone()
    if known is None:
        database.execute("INSERT INTO activity VALUES (:unit, 1, :step)", {"unit": unit, "step": step})
        return True
    if known["steps"] >= protection.steps or step - known["last"] < protection.separation:
        return False
    row = {"unit": unit, "step": step}
    database.execute("UPDATE activity SET steps = steps + 1, last = :step WHERE unit = :unit", row)
    return True


def _new_groups(database: Database, place: int, unit: str, groups: Sequence[int], most: int) -> list[int]:
    """The groups in which a unit appears for the first time, as long as it has appeared in few enough."""
    place_of_unit = {"place": place, "value": unit}
    sections = database.execute("SELECT section FROM appeared WHERE place = :place AND value = :value", place_of_unit)
    known = {row["section"] for row in sections}
    new = [group for group in groups if group not in known]
    if len(known) + len(new) > most:  # a fair choice of its own, as within a step
        new.sort(key=lambda group: sha256(f"{unit} {group}".encode()).digest())
        new = new[: max(0, most - len(known))]
    for group in new:
        database.execute("INSERT INTO appeared VALUES (:place, :value, :section)", {**place_of_unit, "section": group})
    return new


def _is_new(database: Database, place: int, value: str, group: int) -> int:
    """1 for a value that was never in the group before."""
    row = {"place": place, "value": value, "section": group}
    return database.execute("INSERT OR IGNORE INTO appeared VALUES (:place, :value, :section)", row).rowcount
