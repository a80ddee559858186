"""How values are written as text: forms that every engine reads by one rule, and those that the owner declares.

Each form is a pattern that a cell matches as a whole, without the spaces around it; a cell that matches none is NULL.
No form is read in two ways: if it could be (1,234 may be a thousand or one), it is read only if the owner says how.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from lapwing.curator.plan.expressions import Kind
from lapwing.errors import InvalidParameter

LONGEST = 100
"""Bytes of a cell that can be anything but text. Longer ones are NULL before a pattern is tried, at which some engines
would run out of memory."""
LONGEST_TEXT = 1 << 20
"""Bytes of text; longer text is NULL, so that no single cell fills the memory of an engine."""
LONGEST_CARRIED = 1 << 11
"""Bytes of text that is held on the way, in a join or another step that looks at several rows; longer text is NULL."""
LONGEST_KEY = 1 << 10
"""Bytes of text that is a secret key; longer text is NULL."""
LONGEST_UNIT = 200
"""Bytes of text that names a unit, which every row is held with; rows with longer ones are left out."""
LONGEST_DIFFERENT = 32
"""Bytes of text whose different values are counted; for longer text its MD5 stands, as so many digits."""

WHOLE = "[+-]?[0-9]{1,18}([.]0)?"
"""12, and 12.0 as programs write it for all cells where one of them is missing; 12.000 may be twelve thousand."""
BEFORE_POINT, AFTER_POINT = 40, 60
"""Digits of a number. Programs write up to 21 after the point, such as 0.00010000000000000202; with an exponent of two
digits, no double is too large or too small for any engine."""
_MANTISSA = f"[0-9]{{1,{BEFORE_POINT}}}([.][0-9]{{0,{AFTER_POINT}}})?|[.][0-9]{{1,{AFTER_POINT}}}"
_EXPONENT = "[eE][+-]?0?[0-9]{1,2}"
"""Older programs of Windows write 1.5e-007."""
_LARGE_EXPONENT = "[eE][+-]?([12][0-9]{2}|30[0-7])"
"""After one digit that is not 0: from 1e-307 to 9.99e307, which every engine reads. Doubles beyond are NULL."""
NUMBER = f"[+-]?(({_MANTISSA})({_EXPONENT})?|[1-9]([.][0-9]{{0,{AFTER_POINT}}})?{_LARGE_EXPONENT})"
DAY = (
    "([0-9]{4}-(0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|[0-9]{4}-(0[469]|11)-(0[1-9]|[12][0-9]|30)"
    "|[0-9]{4}-02-(0[1-9]|1[0-9]|2[0-8])"
    "|([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)-02-29)"
)
"""Exactly the days of the calendar: no engine can fail to read what matches."""
CLOCK = "[ T]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,9})?)?"
ZONE = " ?([zZ]|[+-](0[0-9]|1[0-5])(:?[0-5][0-9])?)"
LOCAL_MOMENT = f"{DAY}({CLOCK})?"
ZONED_MOMENT = f"{DAY}{CLOCK}{ZONE}"
MOMENT = f"{DAY}({CLOCK}({ZONE})?)?"

_SIGNS = ("[.]", "[ \u00a0\u202f]", "['\u2019]")
"""What may stand between groups of three digits where a comma is the decimal sign; one of them in one number."""
_GROUPED = "|".join(f"[0-9]{{1,3}}({sign}[0-9]{{3}}){{1,12}}" for sign in _SIGNS)
_AFTER_COMMA = f"(,[0-9]{{1,{AFTER_POINT}}})?"
COMMA_NUMBER = (
    f"[+-]?(([0-9]{{1,{BEFORE_POINT}}}|{_GROUPED}){_AFTER_COMMA}|[0-9]{{1,{BEFORE_POINT}}}{_AFTER_COMMA}{_EXPONENT}"
    f"|[1-9]{_AFTER_COMMA}{_LARGE_EXPONENT})"
)
COMMA_WHOLE = f"[+-]?([0-9]{{1,18}}|{_GROUPED.replace('{1,12}', '{1,5}')})(,0)?"
COMMA_DATE = "[0-9]{1,2}[.][0-9]{1,2}[.][0-9]{4}"
"""Numbers and a day as much of Europe writes them: 1.234,50, 1,5e-07 and 31.12.2026."""

TRUE = ("true", "True", "TRUE", "t", "T", "yes", "Yes", "YES", "y", "Y", "1")
FALSE = ("false", "False", "FALSE", "f", "F", "no", "No", "NO", "n", "N", "0")
THOUSANDS = (",", "'", " ", "_")
"""Between groups of three digits, where the owner says so and the decimal sign is a point."""


@dataclass(frozen=True, slots=True)
class Notation:
    """The owner's word on how a source writes what is not text."""

    decimal: str = "."
    thousands: str = ""
    true: tuple[str, ...] = TRUE
    false: tuple[str, ...] = FALSE
    missing: tuple[str, ...] = ()
    """Words that stand, in columns of text, for no value; the empty one for a cell of spaces."""

    def written(self) -> list[Any]:
        """As plain data: equal for notations that read every cell alike, in whatever order their words were named."""
        words = (sorted(set(some)) for some in (self.true, self.false, self.missing))
        return [self.decimal, self.thousands, *words]

    def pattern(self, kind: Kind) -> str:
        """What a whole or other number looks like here; only for a decimal point."""
        plain = WHOLE if kind == "integer" else NUMBER
        if not self.thousands:
            return plain
        most, rest = (5, "([.]0)?") if kind == "integer" else (12, f"([.][0-9]{{0,{AFTER_POINT}}})?")
        return f"{plain}|[+-]?[0-9]{{1,3}}({self.thousands}[0-9]{{3}}){{1,{most}}}{rest}"


PLAIN = Notation()


def notation(
    decimal: Any = ".", thousands: Any = None, true: Any = None, false: Any = None, missing: Any = None
) -> Notation:
    """The notation that these keywords of `lw.open` stand for."""
    if not isinstance(decimal, str) or decimal not in (".", ","):
        why, hint = "must be a point or a comma", "Write decimal=',' for numbers like 1.234,50."
        raise InvalidParameter("decimal", decimal, why, hint)
    if thousands is not None and decimal == ",":
        why = "beside a decimal comma, points, spaces and apostrophes between thousands are read anyway"
        raise InvalidParameter("thousands", thousands, why, "Leave it out.")
    if thousands is not None and not (isinstance(thousands, str) and thousands in THOUSANDS):
        why = "must be a comma, an apostrophe, a space or an underscore"
        raise InvalidParameter("thousands", thousands, why, "Write thousands=',' for numbers like 1,234.50.")
    yes, no = _words("true", true, TRUE), _words("false", false, FALSE)
    for word in yes:
        if word in no:
            why = f"{word!r} would mean both"
            raise InvalidParameter("true", true, why, "Say true= and false=, with different words.")
    return Notation(decimal, thousands or "", yes, no, _words("missing", missing, (), least=0))


def _words(name: str, given: Any, usual: tuple[str, ...], least: int = 1) -> tuple[str, ...]:
    if given is None:
        return usual
    is_list = isinstance(given, Iterable) and not isinstance(given, Mapping) and not hasattr(type(given), "columns")
    words = (given,) if isinstance(given, str) else tuple(given) if is_list else ()
    if not words or not all(isinstance(word, str) and word == word.strip(" ") and len(word) >= least for word in words):
        why = "must be a word, or a list of words, without spaces around them"
        raise InvalidParameter(name, given, why, f"Write {name}='{_EXAMPLES[name]}', for example.")
    if any(len(word.encode("utf-8", "replace")) > LONGEST or not word.isprintable() for word in words):
        raise InvalidParameter(
            name, given, "has a word that is too long, or not printable", "Write the words as they are in the file."
        )
    return words


_EXAMPLES = {"true": "Y", "false": "N", "missing": "NA"}


def meaning(text: str, kind: Kind, notation: Notation = PLAIN) -> Any:
    """What a text means where a kind is declared, as engines read it (`Dialect.from_text`); None if nothing."""
    if kind == "text" and not notation.missing:
        return text
    is_long, word = len(text.encode("utf-8", "replace")) > LONGEST, text.strip(" ")
    if kind == "text":
        return None if word in notation.missing and not is_long else text
    if is_long:
        return None
    text = word
    if kind == "boolean":
        return True if text in notation.true else False if text in notation.false else None
    if kind in ("number", "integer"):
        digits = _digits(text, kind, notation)
        return None if digits is None else float(digits) if kind == "number" else int(digits.partition(".")[0])
    try:
        return _day(text, notation) if kind == "date" else _moment(text)
    except (ValueError, OverflowError):  # no such day, or beyond the calendar once it is in UTC
        return None


def missing_key(column: str, key: str) -> InvalidParameter:
    """The error for a public key that no row can have."""
    why = f"{column} has no such value: missing= says that this word stands for none"
    return InvalidParameter("keys", key, why, "Leave the key out, or leave the word out of missing=.")


_COMMA = str.maketrans({",": ".", **dict.fromkeys(". '\u00a0\u202f\u2019", None)})


def _digits(text: str, kind: Kind, notation: Notation) -> str | None:
    if notation.decimal == ",":
        pattern = COMMA_NUMBER if kind == "number" else COMMA_WHOLE
        return text.translate(_COMMA) if re.fullmatch(pattern, text) else None
    plain = text.replace(notation.thousands, "") if notation.thousands else text
    return plain if re.fullmatch(notation.pattern(kind), text) else None


def _day(text: str, notation: Notation) -> dt.date | None:
    if notation.decimal == "," and re.fullmatch(COMMA_DATE, text) and not text.endswith("0000"):
        day, month, year = map(int, text.split("."))
        return dt.date(year, month, day)
    return dt.date.fromisoformat(text[:10]) if re.fullmatch(MOMENT, text) else None


def _moment(text: str) -> dt.datetime | None:
    if re.fullmatch(LOCAL_MOMENT, text):
        return dt.datetime.fromisoformat(text[:26])
    if not re.fullmatch(ZONED_MOMENT, text):
        return None
    bare = re.sub(f"{ZONE}$", "", text)
    zone = text[len(bare) :].replace(" ", "").replace(":", "")
    ahead = dt.timedelta(hours=int(zone[1:3] or 0), minutes=int(zone[3:] or 0))
    return dt.datetime.fromisoformat(bare[:26]) - (-ahead if zone[0] == "-" else ahead)
