"""The differencing attack that breaks query restriction: SELECT SUM(isSmoker) FROM D, with A and without.

On exact answers the difference is A's secret. Against the curator it is a guess, however often it is repeated within
the allowance; and the ledger ends the repetition. (The two queries are those of the textbook example of a medical
database in which the presence of A is known; every query touches more than one record, as a restriction would demand.)
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import duckdb
import pytest
from chance import assert_seldom, assert_share

import lapwing as lw
from lapwing.curator.tables.table import PrivateTable
from lapwing.errors import BudgetExceeded

FALSE_ALARM = 1e-6
WITH_A = "SELECT SUM(isSmoker) AS smokers FROM d"
WITHOUT_A = "SELECT SUM(isSmoker) AS smokers FROM d WHERE name <> 'A'"
EPSILON = 0.25
"""Of each question."""
ROUNDS = 30


def database(a_smokes: bool) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(config={"threads": 1})
    connection.execute("CREATE TABLE d (name VARCHAR, isSmoker INTEGER)")
    people = [(chr(ord("A") + i), int(a_smokes) if i == 0 else i % 3 == 0) for i in range(26)]
    connection.executemany("INSERT INTO d VALUES (?, ?)", people)
    return connection


def opened(a_smokes: bool, **options: Any) -> PrivateTable:
    return lw.open(database(a_smokes), table="d", unit="name", bounds={"isSmoker": (0, 1)}, **options)


def guess(table: PrivateTable, epsilon: float = EPSILON) -> bool:
    """What the attacker concludes from two answers."""
    first, second = (table.sql(question, epsilon=epsilon).value for question in (WITH_A, WITHOUT_A))
    assert first is not None
    assert second is not None
    return float(first) - float(second) > 0.5


@pytest.mark.parametrize("a_smokes", [True, False])
def test_exact_answers_tell_the_secret(a_smokes: bool) -> None:
    first, second = (database(a_smokes).execute(text).fetchone() for text in (WITH_A, WITHOUT_A))
    assert first is not None
    assert second is not None
    assert first[0] - second[0] == a_smokes


def test_private_answers_leave_the_attacker_guessing() -> None:
    right = 0
    for a_smokes in (True, False):
        table = opened(a_smokes)
        right += sum(guess(table) == a_smokes for _ in range(ROUNDS))
    loss = 2 * EPSILON
    best = math.exp(loss) / (1 + math.exp(loss))  # no attacker who tosses a coin for the secret is right more often
    assert_seldom(right, 2 * ROUNDS, best)


def test_the_attack_would_succeed_if_anybody_paid_for_it() -> None:
    for a_smokes in (True, False):
        table = opened(a_smokes)
        assert_share(sum(guess(table, epsilon=60) == a_smokes for _ in range(8)), 8, 1 - 1e-9)


def test_the_ledger_ends_the_repetition(tmp_path: Path) -> None:
    table = opened(True, allowance=lw.PureDP(1.25), ledger=tmp_path / "ledger.db")
    for _ in range(2):
        guess(table)
    with pytest.raises(BudgetExceeded):
        guess(table)  # its first question is answered, its second is not
    assert float(table.remaining().epsilon) == 0  # type: ignore[union-attr]
    with pytest.raises(BudgetExceeded):
        table.sql(WITH_A, epsilon=1e-6)


def test_a_stored_answer_asked_for_again_is_no_second_sample(tmp_path: Path) -> None:
    table = opened(True, allowance=lw.PureDP(1), ledger=tmp_path / "ledger.db")
    answers = {table.sql(WITH_A, epsilon=0.5, key="monday").value for _ in range(20)}
    assert len(answers) == 1
    assert float(table.remaining().epsilon) == 0.5  # type: ignore[union-attr]
