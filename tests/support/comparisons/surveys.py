"""Numbers that people type into a survey, and the bytes that are sent."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from browser import Call

NUMBERS = ("7", "-7", "−7", "7.25", "7,25", " 7 ", "1e2", "1.50e1", ".5", "12.", "-0.001E-2", "0", "9" * 40)
NO_NUMBERS = ("", "x", "1e999", "NaN", "Infinity", ".", "-", "0x10", "1_0", "1 0", "1,000.5", "9" * 41)


def numbers() -> Iterator[Call]:
    """Numerator and denominator as text, since they may be too long for a number of the browser."""
    for text in NUMBERS:
        sign, digits, exponent = Decimal(text.strip().replace(",", ".").replace("−", "-")).as_tuple()
        whole = int("".join(map(str, digits))) * (-1) ** sign
        expected = [str(whole * 10 ** max(int(exponent), 0)), str(10 ** max(-int(exponent), 0))]
        yield "survey", "decimal", [text], expected
        yield "survey", "readable", [text], True
    for text in NO_NUMBERS:
        yield "survey", "decimal", [text], None
        yield "survey", "readable", [text], False


def reports() -> Iterator[Call]:
    for value in (0, 1, 15, 16, 255):
        yield "survey", "report", [{"head": "4c57"}, value], (b"LW" + bytes([value])).hex()
