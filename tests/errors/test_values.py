"""Errors show a value as people write it, whatever it became inside."""

from __future__ import annotations

from fractions import Fraction

import pytest

from lapwing.errors import InvalidParameter


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (Fraction(0), "0"),
        (Fraction(-1, 10), "-0.1"),
        (Fraction(1, 3), "1/3"),
        (Fraction(10**30), str(10**30)),
        (Fraction(1, 10**400), f"1/{10**400}"),
        (Fraction(10**5000), "a very long Fraction"),
        ("0.1", "'0.1'"),
    ],
    ids=["zero", "decimal", "fraction", "large", "small", "too long", "text"],
)
def test_numbers_are_shown_as_they_are_written(value: object, shown: str) -> None:
    assert (
        str(InvalidParameter("epsilon", value, "is too small", "Write 1."))
        == f"epsilon = {shown}: is too small. Write 1."
    )
