"""The fields of a document, read one by one. All problems are collected, so that one error lists all of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any


class Fields:
    """A document and what is wrong with it. A field with a problem is read as something harmless."""

    def __init__(self, document: Mapping[str, Any], problems: list[str]) -> None:
        self.document, self.problems = document, problems

    def map(self, name: str) -> Mapping[str, Any]:
        """A map of keys and values."""
        value = self.document.get(name)
        if isinstance(value, Mapping):
            return value
        self.problems.append(f"{name}: must be there, as a map of keys and values")
        return {}

    def surplus(self, name: str, value: Mapping[str, Any], known: frozenset[str] | set[str]) -> None:
        """A key that nobody reads would be promised and not kept."""
        where = f"{name}." if name else ""
        self.problems += [
            f"{where}{key}: is not known. Known are: {', '.join(sorted(known))}" for key in value if key not in known
        ]

    def whole(self, name: str, value: Any, *, minimum: int = 1, largest: int = 10**12) -> int:
        """A whole number."""
        if type(value) is not int or not minimum <= value <= largest:
            self.problems.append(f"{name}: must be a whole number, {minimum:,} to {largest:,}")
            return minimum
        return value

    def number(self, name: str, value: Any) -> Fraction:
        """A number above 0, exactly as it is written."""
        text = str(value) if isinstance(value, int | str) and not isinstance(value, bool) else ""
        if not re.fullmatch(r"\d{1,9}(\.\d{1,20})?|\d{1,20}/[1-9]\d{0,19}", text) or not Fraction(text):
            self.problems.append(f"{name}: must be a number above 0, such as 8 or 0.5")
            return Fraction(1)
        return Fraction(text)
