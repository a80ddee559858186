"""The bundled data: complete, of the right types, within what is said to be public about it."""

from __future__ import annotations

import bz2
import hashlib
import subprocess
import sys

import pytest

from lapwing.datasets import ADULT_BOUNDS, adult, adult_file, clinic
from lapwing.datasets.census import COLUMNS
from lapwing.errors import InvalidParameter

KNOWN = {"train": (32_561, 7_841, 30_162), "test": (16_281, 3_846, 15_060), "all": (48_842, 11_687, 45_222)}


@pytest.mark.parametrize(("part", "known"), KNOWN.items())
def test_rows_incomes_and_complete_rows_are_as_many_as_the_authors_counted(part, known):
    people = adult(part)
    complete = sum(None not in row for row in zip(*people.values(), strict=True))
    assert (len(people["age"]), people["income"].count(">50K"), complete) == known
    assert set(people["income"]) == {">50K", "<=50K"}


def test_both_parts_are_the_first_then_the_second():
    first, second = adult("train"), adult("test")
    assert adult() == {name: first[name] + second[name] for name in first}


def test_values_have_the_type_of_their_column_and_none_means_unknown():
    people = adult()
    assert [*people] == [*COLUMNS]
    kinds = {name: set(map(type, values)) - {type(None)} for name, values in people.items()}
    numbers = {"fnlwgt", *ADULT_BOUNDS}
    assert kinds == {name: {int} if name in numbers else {str} for name in people}
    assert {name for name in people if None in people[name]} == {"workclass", "occupation", "native_country"}
    assert not any("?" in values or "" in values for values in people.values())


def test_every_number_lies_within_the_public_bounds():
    people = adult()
    for name, (low, high) in ADULT_BOUNDS.items():
        assert low <= min(people[name])
        assert max(people[name]) <= high


def test_the_first_and_the_last_person_are_those_of_the_published_files():
    people = adult()
    rows = list(zip(*people.values(), strict=True))
    assert rows[0][:5] == (39, "State-gov", 77516, "Bachelors", 13)
    assert rows[32_561][:5] == (25, "Private", 226802, "11th", 7)
    assert rows[-1][-2:] == ("United-States", ">50K")
    assert rows[-1][:3] == (35, "Self-emp-inc", 182148)


def test_another_part_is_refused():
    with pytest.raises(InvalidParameter, match="part"):
        adult("validation")  # type: ignore[arg-type]


def test_the_file_is_small_and_names_its_authors_and_licence_beside_it():
    assert adult_file().stat().st_size < 500_000
    notice = adult_file().with_name("adult.LICENSE.txt").read_text(encoding="utf-8")
    assert all(words in notice for words in ("Becker", "Kohavi", "10.24432/C5XW20", "CC BY 4.0"))


def test_importing_the_data_sets_needs_no_other_library():
    script = "import sys, lapwing.datasets; print(sorted({'numpy', 'pandas', 'sklearn'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


PUBLISHED = {
    "adult.data": "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    "adult.test": "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
}
"""SHA-256 of the files as the repository publishes them."""


def test_nothing_but_the_layout_differs_from_the_published_files(tmp_path):
    import make_adult

    with bz2.open(adult_file(), "rt", encoding="ascii") as text:
        bundled = text.read().splitlines()
    for part, name in make_adult.PARTS.items():
        remark, stop = ("|1x3 Cross validator\n", ".") if part == "test" else ("", "")
        people = zip(*adult(part).values(), strict=True)
        lines = [", ".join("?" if field is None else str(field) for field in person) + stop for person in people]
        (tmp_path / name).write_bytes((remark + "\n".join(lines) + "\n\n").encode("ascii"))
        assert hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() == PUBLISHED[name]
    assert make_adult.lines(tmp_path) == bundled


def test_the_clinic_is_as_it_was():
    people = clinic()
    assert len(people["age"]) == 3000
    assert min(people["age"]) >= 0
    assert max(people["age"]) <= 99
