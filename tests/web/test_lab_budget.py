"""The budget of a table in the lab: whatever comes between, or fails, while it changes, nothing is given back."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import lapwing as lw
from lapwing.errors import LapwingError, LedgerUnavailable
from lapwing.privacy.journal import Database
from lapwing.privacy.store import FileStore
from lapwing.web.lab.bench import Bench
from lapwing.web.lab.jobs import Jobs
from lapwing.web.lab.statement import DATASET, StatedColumn, Statement
from lapwing.web.service.problems import Problem

STATED = Statement(name="rows", columns=(StatedColumn("who"), StatedColumn("age", "integer", (0, 100))), epsilon=1.0)
CHANGES = {
    "before anything is spent": (0, replace(STATED, epsilon=2.0)),
    "another unit before anything is spent": (0, replace(STATED, unit="who")),
    "a larger allowance": (0.25, replace(STATED, epsilon=3.0, teaching=True)),
    "a delta": (0.25, replace(STATED, epsilon=3.0, delta=2.0**-20, teaching=True)),
    "a smaller epsilon with a delta": (0.25, replace(STATED, epsilon=0.5, delta=2.0**-20, teaching=True)),
    "a smaller allowance": (0.25, replace(STATED, epsilon=0.5)),
}
MOST_STEPS = 40


@dataclass
class Table:
    """A bench, and what was really released from it."""

    bench: Bench
    old: list[lw.Ledger] = field(default_factory=list)
    """Ledgers that questions hold which were asked earlier."""
    released: Fraction = Fraction(0)

    def release(self, ledger: lw.Ledger, epsilon: float) -> None:
        """What a question does before it reads the data."""
        unit = ledger.units(DATASET)[0]
        try:
            ledger.charge(DATASET, lw.PureDP(epsilon, unit=unit))
        except LapwingError:
            return
        self.released += Fraction(epsilon)

    def check(self) -> None:
        """What the pages show counts everything, and can always be read."""
        spent, remaining = self.bench.spent, self.bench.remaining
        assert spent.epsilon >= self.released  # type: ignore[attr-defined]
        most = max(Fraction(one.epsilon) for one in (STATED, self.bench.stated))
        assert remaining.epsilon <= most - self.released  # type: ignore[attr-defined]


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(Bench("id", "owner", tmp_path, "rows.csv", Jobs(1), 60))


def stated(table: Table, spent: float) -> Table:
    table.bench.state(STATED)
    if spent:
        table.release(table.bench.ledger, spent)
    table.old.append(table.bench.ledger)
    return table


@contextmanager
def interrupted(before: Callable[[int], None], after: Callable[[int], None]) -> Iterator[list[int]]:
    """Call something before and after each writing transaction of any ledger, with the number of that step."""
    original, steps, inside = FileStore.transaction, [0], [False]

    @contextmanager
    def transaction(store: FileStore, *, write: bool = True, fresh: bool = False) -> Iterator[Database]:
        if not write or inside[0]:
            with original(store, write=write, fresh=fresh) as database:
                yield database
            return
        steps[0] += 1
        number = steps[0]
        for call, then in ((before, False), (after, True)):
            if then:
                with original(store, write=write, fresh=fresh) as database:
                    yield database
            inside[0] = True
            try:
                call(number)
            finally:
                inside[0] = False

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FileStore, "transaction", transaction)
        yield steps


def nothing(number: int) -> None:
    pass


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("step", range(1, 7))
def test_a_release_between_two_steps_of_a_change_is_never_forgotten(
    table: Table, change: str, moment: str, step: int
) -> None:
    spent, after = CHANGES[change]
    stated(table, spent)

    def meanwhile(number: int) -> None:
        if number == step:
            table.release(table.old[0], 0.125)
            table.release(table.bench.ledger, 0.125)
        table.check()

    hooks: dict[str, Any] = {"before": nothing, "after": nothing, moment: meanwhile}
    try:
        with interrupted(**hooks):
            table.bench.state(after)
    except Problem as refused:
        assert refused.status_code == 409  # noqa: PT017 - not every change is allowed once something was spent
    table.check()
    table.release(table.old[0], 0.5)
    table.release(table.bench.ledger, 0.125)
    table.check()


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("how", ["once", "from then on"])
def test_a_write_that_fails_at_any_step_leaves_no_fuller_budget(
    tmp_path: Path, change: str, moment: str, how: str
) -> None:
    spent, after = CHANGES[change]
    for step in range(1, MOST_STEPS):
        folder = tmp_path / str(step)
        folder.mkdir()
        table = stated(Table(Bench("id", "owner", folder, "rows.csv", Jobs(1), 60)), spent)

        def fail(number: int, step: int = step) -> None:
            if number == step or (number > step and how != "once"):
                raise LedgerUnavailable("ledger.db", "database or disk is full")

        hooks: dict[str, Any] = {"before": nothing, "after": nothing, moment: fail}
        with interrupted(**hooks) as steps:
            try:
                table.bench.state(after)
            except LedgerUnavailable:
                assert table.bench.stated == STATED
        table.check()
        table.release(table.old[0], 0.0625)
        table.release(table.bench.ledger, 0.0625)
        table.check()
        if steps[0] < step:
            break
        table.bench.state(STATED if not spent else replace(STATED, teaching=True))  # the disk has room again
        table.check()
        assert table.bench.remaining.epsilon > 0  # type: ignore[attr-defined]
    else:
        raise AssertionError("it never ended")


@pytest.mark.parametrize("moment", ["before", "after"])
def test_starting_over_that_fails_leaves_what_was_spent(tmp_path: Path, moment: str) -> None:
    for step in range(1, 5):
        folder = tmp_path / str(step)
        folder.mkdir()
        table = stated(Table(Bench("id", "owner", folder, "rows.csv", Jobs(1), 60)), 0.25)

        def fail(number: int, step: int = step) -> None:
            if number == step:
                raise LedgerUnavailable("ledger.db", "database or disk is full")

        hooks: dict[str, Any] = {"before": nothing, "after": nothing, moment: fail}
        with interrupted(**hooks) as steps:
            try:
                table.bench.start_over()
            except LedgerUnavailable:
                table.check()
                continue
        assert steps[0] < step
        assert table.bench.remaining == STATED.allowance
        assert table.bench.earlier == ["ε = 0.25 (add_remove, per row)"]


def test_threads_that_release_and_read_during_changes_find_a_budget_that_counts_them(table: Table) -> None:
    stated(table, 0)
    bench, ended, lock, wrong = table.bench, threading.Event(), threading.Lock(), []
    table.bench.state(replace(STATED, epsilon=1.0, teaching=True))

    def release() -> None:
        for _ in range(12):
            try:
                bench.data().ledger.charge(DATASET, lw.PureDP(0.015625, unit="row"))  # type: ignore[union-attr]
            except LapwingError:
                continue  # its ledger was closed before it was charged
            with lock:
                table.released += Fraction(0.015625)

    def read() -> None:
        while not ended.is_set():
            try:
                bench.spent, bench.remaining, bench.any_spent, bench.data()
            except Exception as error:
                wrong.append(error)

    threads = [threading.Thread(target=one) for one in (release, release)]
    reader = threading.Thread(target=read)
    for one in (*threads, reader):
        one.start()
    for turn in range(1, 9):
        bench.state(replace(STATED, epsilon=1.0 + turn, teaching=True))
    for one in threads:
        one.join()
    ended.set()
    reader.join()
    assert not wrong
    assert bench.spent.epsilon == table.released  # type: ignore[attr-defined]
