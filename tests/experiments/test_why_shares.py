"""Shares and labelled encryption answer the same programs, and the figure says what each of them cost."""

from __future__ import annotations

import sys
from collections import Counter
from itertools import product
from pathlib import Path

import pytest

from lapwing.datasets import adult
from lapwing.experiments import why_shares
from lapwing.experiments.experiment import Row, column, select
from lapwing.experiments.why_shares import ADULT_ROWS, INTAKE, OWNER, PROGRAMS, SERVERS, SHARES, UPLOAD, WAYS
from lapwing.pair import paillier
from lapwing.pair.labelled_programs import AGES, RACES, SEXES
from lapwing.pair.paillier import PaillierSecret

SIZES, SHORT_KEY = (3, 12), 256
LITTLE_NOISE, NO_NOISE = 60, 6_000
"""An epsilon so large that noise on a count is 0, but for a chance below 1e-9; joint noise has no smaller scale."""


def test_the_truth_is_counted_in_the_first_rows() -> None:
    people = adult("train")
    some = list(zip(*(people[name][:40] for name in ("age", "race", "sex")), strict=True))
    exact = why_shares.truth(40)
    assert exact["P1"] == [sum(age <= limit for age, _, _ in some) for limit in AGES]
    assert exact["P2"] == [sum(age == one for age, _, _ in some) for one in AGES]
    cells = Counter((race, sex) for _, race, sex in some)
    assert exact["P3"] == [cells[cell] for cell in product(RACES, SEXES)]


def test_shares_answer_all_three_programs_exactly_but_for_noise() -> None:
    rows = [row for row in why_shares.by_shares(SIZES, epsilon=LITTLE_NOISE) if row["step"] in PROGRAMS]
    assert {(row["step"], row["people"]) for row in rows} == set(product(PROGRAMS, SIZES))
    assert {row["error"] for row in rows} == {0}


@pytest.mark.parametrize("way", WAYS)
def test_encryption_answers_all_three_programs_exactly_but_for_noise(way: str) -> None:
    secret, told = PaillierSecret.generate(SHORT_KEY, unsafe=True), list[int]()
    rows = why_shares.by_encryption(way, secret, WAYS[way], SIZES, epsilon=NO_NOISE, uploaded=told.append)
    measured = [row for row in rows if row["step"] in PROGRAMS and row["measured"]]
    assert {(row["step"], row["people"]) for row in measured} == set(product(PROGRAMS, SIZES))
    assert {row["error"] for row in measured} == {0}
    assert told == list(range(1, max(SIZES) + 1))


def small() -> list[Row]:
    return why_shares.compute(sizes=SIZES, larger_sizes=(20,), repeats=1, key_bits=SHORT_KEY)


def test_each_party_pays_for_each_step_and_only_encryption_is_extrapolated() -> None:
    rows = small()
    for way in (*WAYS, SHARES):
        [owner] = select(rows, way=way, party=OWNER)
        assert (owner["step"], owner["people"], owner["measured"]) == (UPLOAD, 1, True)
        for step, party in product((INTAKE, *PROGRAMS), SERVERS):
            known = {row["people"]: row["measured"] for row in select(rows, way=way, step=step, party=party)}
            more = {20: True} if way == SHARES else {ADULT_ROWS: False}
            assert known == dict.fromkeys(SIZES, True) | more
    assert all(row["seconds"] >= 0 for row in rows)
    assert all((row["error"] is None) == (row["step"] not in PROGRAMS or not row["measured"]) for row in rows)


def test_a_line_through_two_samples_goes_on() -> None:
    assert why_shares.extrapolated([8, 2, 4], [9.0, 3.0, 5.0], 1_000) == 1_001
    assert why_shares.extrapolated([2, 8], [3.0, 2.0], 1_000) == 2, "a cost never falls with more rows"
    assert why_shares.extrapolated([5], [3.0], 1_000) == 3


def test_without_gmpy2_one_sentence_says_what_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gmpy2", None)
    paillier._gmp.cache_clear()
    try:
        picture, _, page = why_shares.WHY_SHARES.write(tmp_path, sizes=(2,), larger_sizes=(20,), repeats=1)
    finally:
        paillier._gmp.cache_clear()
    text = page.read_text(encoding="utf-8")
    assert (
        "left out of this run: it needs gmpy2, which is not installed (pip install gmpy2, our extra 'labhe')." in text
    )
    assert "By shares of 20 rows" in text
    assert set(column(_read(tmp_path / "why-shares.csv"), "way")) == {SHARES}
    assert picture.stat().st_size > 10_000


def _read(path: Path) -> list[Row]:
    import csv

    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
