"""Values of an answer as text: only digits that the noise leaves meaningful, and no control characters."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from typing import TYPE_CHECKING, Any

from lapwing.privacy.notation import visible as visible

if TYPE_CHECKING:
    from lapwing.curator.show.answer import Column, Span, Spans

NOTHING = "–"
NULL = "NULL"
_LONGEST, _FINEST = 15, 9  # digits before and after the point; beyond, powers of ten are written
_LOPSIDED = Decimal("0.1")
_EXACT = Context(prec=20_000)


@dataclass(frozen=True, slots=True)
class ShownValue:
    """A value with what is written beside it."""

    value: str
    noise: str = ""
    interval: str = ""

    @property
    def beside(self) -> str:
        """The noise as it is written after a value: "± 12", or "from 0 to 16" where it is lopsided."""
        return f"from {self.noise}" if " to " in self.noise else self.noise


def shown(column: Column) -> list[ShownValue]:
    """Every value of a column, to two digits of its noise; what is shown beside it is rounded outwards.

    A value at an end of its interval is rounded outwards like that end: "−400 from −400 to 2,700".
    A column has one form: "± 12" if that says enough for all its values, otherwise both ends for all of them.
    Whole numbers that add up to each other are shown in full: rounded one by one, they would not add up.

    Accuracy: an interval as shown contains the one in the data, also around the value as shown.
    """
    if not column.is_number:
        return [ShownValue(NOTHING if value is None else key(value)) for value in column.values]
    noise: Spans = column.noise or (None,) * len(column.values)
    interval: Spans = column.interval or (None,) * len(column.values)
    whole = column.type == "integer"
    even = all(_is_even(value, span) for value, span in zip(column.values, noise, strict=True))
    rows, full = zip(column.values, noise, interval, strict=True), _in_full(column)
    values = [_shown(value, span, wide, whole, even, full) for value, span, wide in rows]
    return _alike(values, noise) if even else values


def _alike(values: list[ShownValue], noise: Spans) -> list[ShownValue]:
    """Values with equal noise show it alike, the widest of them: each was rounded around its own value."""
    widest: dict[str, tuple[Decimal, str]] = {}
    halves = ["" if span is None else f"{span[1] - span[0]:.9g}" for span in noise]
    for value, half in zip(values, halves, strict=True):
        if value.noise.startswith("± "):
            size = Decimal(value.noise.removeprefix("± ").replace(",", "").replace("−", "-"))
            widest[half] = max(widest.get(half, (Decimal(0), "")), (size, value.noise))
    return [
        replace(value, noise=widest[half][1]) if value.noise.startswith("± ") else value
        for value, half in zip(values, halves, strict=True)
    ]


def half_widths(column: Column) -> list[str]:
    """The noise of every value as "± 12", to the farther end where it is lopsided; nothing where none is known."""
    spans: Spans = column.noise or (None,) * len(column.values)
    whole, full = column.type == "integer", _in_full(column)
    return [_half(value, span, whole, full) for value, span in zip(column.values, spans, strict=True)]


def at_most(error: float, whole: bool, bounds: Span | None = None) -> str:
    """How far a value may be off, before it is known: no less than what will stand beside it, whatever it is.

    A value is rounded to two digits of its noise, and its interval is written around the value as shown. If both lie
    within public bounds, they are no farther apart than these, rounded outwards.

    >>> at_most(16.8, whole=False), at_most(17.0, whole=True), at_most(106.0, whole=True), at_most(0.0, whole=True)
    ('± 18', '± 17', '± 120', '± 0')
    >>> at_most(5000.0, whole=False), at_most(5000.0, whole=False, bounds=(0, 5000))
    ('± 5,100', '± 5,000')
    """
    place = _place(0, (-error, error), whole)
    if place is None:
        return "± 0"
    unit = Decimal(1).scaleb(place)
    rounding = 0 if whole and place == 0 else unit / 2
    shown = _cut(_EXACT.add(_written(error), rounding), place, ROUND_CEILING)
    if bounds is not None:
        low, high = _cut(_written(bounds[0]), place, ROUND_FLOOR), _cut(_written(bounds[1]), place, ROUND_CEILING)
        shown = min(shown, _EXACT.subtract(high, low))
    return f"± {_fixed(shown, place)}"


def is_rounded(error: float, whole: bool) -> bool:
    """Whether a value with this error is rounded where it is shown.

    >>> is_rounded(12.0, whole=True), is_rounded(120.0, whole=True), is_rounded(12.0, whole=False)
    (False, True, True)
    """
    place = _place(0, (-error, error), whole)
    return place is not None and not (whole and place == 0)


def key(value: Any) -> str:
    """A key as one word: NULL without quotes, text in quotes where it could be mistaken for something else."""
    if value is None:
        return NULL
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return number(value).replace(",", "")  # a year is not 1,990
    if isinstance(value, dt.datetime):
        return value.isoformat(" ")
    text = visible(str(value))
    return f"'{text}'" if text in ("", NULL) or text != text.strip() else text


def number(value: float, rounding: str = ROUND_HALF_EVEN) -> str:
    """A number without noise: whole ones in full, others to six digits.

    >>> number(1234567.5), number(0.1 + 0.2), number(-3.0)
    ('1,234,568', '0.3', '−3')
    """
    exact = _written(value)
    place = min(0, exact.adjusted() - 5)
    if not value or exact == exact.to_integral_value():
        place = 0
    text = _fixed(_cut(exact, place, rounding), place)
    return text.rstrip("0").rstrip(".") if "." in text and "E" not in text else text


def within(value: float, noise: Span) -> str:
    """A number to two digits of its noise.

    >>> within(-0.860625, (-5.0, 0.0)), within(3276.49, (0.0, 4750.0)), within(0.0, (0.0, 0.0))
    ('−0.9', '3,300', '0')
    """
    place = _place(value, noise, whole=False)
    return number(value) if place is None else _fixed(_cut(_written(value), place, ROUND_HALF_EVEN), place)


def percent(confidence: float) -> str:
    """How sure an interval is.

    >>> percent(0.95), percent(0.975), percent(0.999999)
    ('95 %', '97.5 %', '99.9999 %')
    """
    return f"{100 * confidence:.6g} %"


def _in_full(column: Column) -> bool:
    """Whether its values are shown with all their digits."""
    return column.in_full and all(value is None or value == int(value) for value in column.values)


def _shown(value: Any, noise: Span | None, interval: Span | None, whole: bool, even: bool, full: bool) -> ShownValue:
    if value is None:
        return ShownValue(NOTHING)
    place = _place(value, noise, whole)
    if place is None:
        return ShownValue(number(value), _range(noise, None), _range(interval, None))
    last = min(place, 0) if full else place
    rounded = _cut(_written(value), last, ROUND_HALF_EVEN if even else _as_its_end(value, noise))
    beside = _around(rounded, noise, place) if noise and even else _range(noise, place)
    return ShownValue(_fixed(rounded, last), beside, _range(interval, place))


def _as_its_end(value: float, noise: Span | None) -> str:
    """How to round a value: if its interval begins or ends with it, like that end, so that both look the same."""
    if noise is None or value not in noise:
        return ROUND_HALF_EVEN
    return ROUND_FLOOR if value == noise[0] else ROUND_CEILING


def _place(value: float, noise: Span | None, whole: bool) -> int | None:
    """The power of ten of the last digit that the noise leaves meaningful: the second digit of its half-width."""
    if noise is None or not all(map(math.isfinite, noise)):
        return None
    half = max(_apart(end, _written(value)) for end in noise)
    if not half:
        return None
    place = half.adjusted() - 1
    return max(place, 0) if whole else place


def _half(value: Any, noise: Span | None, whole: bool, full: bool) -> str:
    place = None if value is None else _place(value, noise, whole)
    if noise is None or place is None:
        return ""
    return _around(_cut(_written(value), min(place, 0) if full else place, ROUND_HALF_EVEN), noise, place)


def _is_even(value: float | None, span: Span | None) -> bool:
    """Whether ± says as much as both ends do, or neither is shown."""
    if value is None or span is None or not all(map(math.isfinite, span)):
        return True
    if not span[0] <= value <= span[1]:
        return False
    left, right = (_apart(end, _written(value)) for end in span)
    return abs(left - right) <= _LOPSIDED * max(left, right)


def _apart(end: float, value: Decimal) -> Decimal:
    return _EXACT.subtract(_written(end), value).copy_abs()


def _around(rounded: Decimal, span: Span, place: int) -> str:
    half = max(_apart(end, rounded) for end in span)
    return f"± {_fixed(_cut(half, place, ROUND_CEILING), place)}"


def _range(span: Span | None, place: int | None) -> str:
    if span is None:
        return ""
    return f"{_end(span[0], place, ROUND_FLOOR)} to {_end(span[1], place, ROUND_CEILING)}"


def _end(end: float, place: int | None, rounding: str) -> str:
    if math.isinf(end):
        return "∞" if end > 0 else "−∞"
    return number(end, rounding) if place is None else _fixed(_cut(_written(end), place, rounding), place)


def _cut(value: Decimal, place: int, rounding: str) -> Decimal:
    return value.quantize(Decimal(1).scaleb(place), rounding, _EXACT)


def _written(value: float) -> Decimal:
    """The number as one would write it: 44.6 is not 44.6000000000000014."""
    return Decimal(value if isinstance(value, int) else repr(value))


def _fixed(value: Decimal, place: int) -> str:
    if place < -_FINEST or value.adjusted() >= _LONGEST:
        return str(value.normalize(_EXACT)).replace("-", "−")
    return f"{value if value else abs(value):,.{max(0, -place)}f}".replace("-", "−")
