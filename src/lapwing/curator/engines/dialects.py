"""Where the engines differ: how each spells the few functions that must give identical integers on all of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from sqlglot import exp

from lapwing.curator.plan import text_forms
from lapwing.curator.plan.expressions import Kind
from lapwing.curator.plan.language import PLAIN_NUMBER
from lapwing.curator.plan.text_forms import PLAIN, Notation

SQL_TYPES: dict[Kind, str] = {
    "boolean": "BOOLEAN",
    "integer": "BIGINT",
    "number": "DOUBLE",
    "text": "TEXT",
    "date": "DATE",
    "timestamp": "TIMESTAMPNTZ",
}
_NO_NUMBERS: tuple[Kind, ...] = ("boolean", "date", "timestamp")
LARGEST_DOUBLE = "1.7976931348623157e+308"


@dataclass(frozen=True, slots=True)
class Dialect(ABC):
    """The spelling of one engine."""

    name: str
    counts_by_join: ClassVar[bool] = False
    """Whether a join with the few groups that are too large is faster than a window that counts (see `Sample`)."""

    @abstractmethod
    def text(self, column: exp.Expr, declared: str) -> exp.Expr:
        """Text that is compared byte by byte."""

    @abstractmethod
    def integer(self, column: exp.Expr, declared: str) -> exp.Expr:
        """A whole number of 64 bits, of a type of whole numbers; larger ones are NULL."""

    @abstractmethod
    def number(self, column: exp.Expr, declared: str) -> exp.Expr:
        """A double, perhaps infinite or NaN."""

    @abstractmethod
    def digits(self, column: exp.Expr, declared: str) -> exp.Expr | None:
        """The text of a decimal number, one for each value: exact, without zeros after its last decimal.

        None for types that hold no decimal numbers.
        """

    @abstractmethod
    def moment(self, column: exp.Expr, declared: str, kind: Kind) -> exp.Expr:
        """A date, or a timestamp without a zone, of the years 1 to 9999; others are NULL."""

    @abstractmethod
    def kind(self, declared: str) -> Kind | None:
        """What a type of the engine is to us; None for types that have no kind."""

    def is_text(self, declared: str) -> bool:
        """Whether a type of the engine is text."""
        return self.kind(declared) == "text"

    def is_nothing(self, declared: str) -> bool:
        """Whether a type of the engine has no value at all."""
        return False

    @abstractmethod
    def matches(self, text: exp.Expr, pattern: str) -> exp.Expr:
        """Whether the whole of a text matches a regular expression."""

    def like(self, text: exp.Expr, pattern: str) -> exp.Expr:
        """Whether a text matches a pattern of LIKE, in time about linear in the text, whatever the text is."""
        return exp.Like(this=text, expression=exp.Literal.string(pattern))

    @abstractmethod
    def text_code(self, text: exp.Expr) -> exp.Expr:
        """The first 3 bytes of MD5, little-endian, as a whole number."""

    @abstractmethod
    def moment_code(self, column: exp.Expr, kind: Kind) -> exp.Expr:
        """Days, or microseconds, since 1970."""

    @abstractmethod
    def wide_sum(self, value: exp.Expr) -> exp.Expr:
        """An exact sum of whole numbers of 64 bits."""

    def byte_order(self, text: exp.Expr) -> exp.Expr:
        """Text to be sorted by its bytes, whatever collation it would be sorted by."""
        return exp.Collate(this=text, expression=exp.to_identifier("C", quoted=True))

    def row_number(self) -> tuple[exp.Expr, exp.WindowSpec | None]:
        """A function, and its frame, that numbers rows in 64 bits."""
        return exp.Anonymous(this="ROW_NUMBER"), None

    def fenced(self, query: exp.Query) -> exp.Query:
        """A step that is computed once for each row, however often the next one mentions its columns."""
        return query

    def sql(self, query: exp.Expr) -> str:
        """The statement as text."""
        return query.sql(dialect=self.name)

    @abstractmethod
    def size(self, text: exp.Expr) -> exp.Expr:
        """How many bytes a text has; it must not cost more than that, however long it is."""

    @abstractmethod
    def trimmed(self, text: exp.Expr) -> exp.Expr:
        """A text without the spaces around it."""

    @abstractmethod
    def earlier(self, moment: exp.Expr, minutes: exp.Expr) -> exp.Expr:
        """A timestamp so many minutes before."""

    def read(
        self,
        column: exp.Expr,
        declared: str,
        kind: Kind,
        *,
        tested: bool = True,
        notation: Notation = PLAIN,
        longest: int = text_forms.LONGEST_TEXT,
    ) -> exp.Expr:
        """A column of the source as its canonical kind; what has no value in it is NULL.

        `declared` is the engine's own name of the type, `kind` what the owner says it means. A number that is not
        `tested` may be infinite or NaN. `notation` is how values are written where the source has text, and which words
        stand for no value in a column of text. Text of more than `longest` bytes is NULL.
        """
        value = self._read(column, declared, kind, tested, notation, longest)
        return self.present(value, notation.missing) if kind == "text" and notation.missing else value

    def _read(
        self, column: exp.Expr, declared: str, kind: Kind, tested: bool, notation: Notation, longest: int
    ) -> exp.Expr:
        if self.is_nothing(declared):
            return cast(exp.null(), SQL_TYPES[kind])
        native = self.kind(declared)
        if (native == "number" and kind != "number") or (native == "integer" and kind in _NO_NUMBERS):
            digits = self.digits(column, declared)
            if digits is not None:
                return self.from_digits(digits, kind, longest)
            return self.from_number(finite(self.number(column, declared)), declared, kind)
        if native == "boolean" and kind not in ("boolean", "text"):  # as the words true and false
            return cast(exp.null(), SQL_TYPES[kind])
        if native == "date" and kind == "timestamp":  # looked at as a day first: not every engine has room for all
            return attempt(self.moment(column, declared, native), SQL_TYPES[kind])
        if kind == "text" or native == "text":
            text = self.text(column, declared)
            if kind == "text":
                return self.short(text, longest)
            return when(self.size(text.copy()) <= whole(text_forms.LONGEST), self.from_text(text, kind, notation))
        if kind == "integer":
            return self.integer(column, declared)
        if kind == "number":
            number = self.number(column, declared)
            return finite(number) if tested else number
        return column if kind == "boolean" else self.moment(column, declared, kind)

    def present(self, text: exp.Expr, missing: Iterable[str]) -> exp.Expr:
        """A text, or NULL if it is one of these words; spaces around it do not count.

        A long text is not looked at: no engine needs another copy of it.
        """
        words = [exp.Literal.string(word) for word in missing]
        other = exp.not_(exp.Paren(this=self.trimmed(text.copy()).isin(*words)))
        is_short = self.size(text.copy()) <= whole(text_forms.LONGEST)
        return when(is_short, when(other, text.copy()), text)

    def short(self, text: exp.Expr, longest: int, read: exp.Expr | None = None) -> exp.Expr:
        """A text of at most so many bytes, or what is `read` from it, otherwise NULL."""
        return when(self.size(text.copy()) <= whole(longest), text if read is None else read)

    def different(self, text: exp.Expr) -> exp.Expr:
        """What stands for a text where different ones are counted: itself, or its MD5 where that is shorter."""
        is_short = self.size(text.copy()) <= whole(text_forms.LONGEST_DIFFERENT)
        return when(is_short, text, exp.func("MD5", text.copy()))

    def number_from(self, text: exp.Expr) -> exp.Expr:
        """A number written in plain decimal notation, otherwise NULL."""
        return when(self.matches(text, PLAIN_NUMBER), attempt(text, "DOUBLE"))

    def from_text(self, text: exp.Expr, kind: Kind, notation: Notation = PLAIN) -> exp.Expr:
        """A short text as its declared kind, otherwise NULL; spaces around it do not count."""
        text = self.trimmed(text.copy())
        if kind == "boolean":
            yes, no = ([exp.Literal.string(word) for word in some] for some in (notation.true, notation.false))
            return exp.Case().when(text.copy().isin(*yes), exp.true()).when(text.copy().isin(*no), exp.false())
        if kind in ("number", "integer"):
            digits = text.copy()
            if notation.thousands:
                digits = function("REPLACE", digits, exp.Literal.string(notation.thousands), exp.Literal.string(""))
            if kind == "integer":
                digits = function("SPLIT_PART", digits, exp.Literal.string("."), whole(1))
            return when(self.matches(text, notation.pattern(kind)), attempt(digits, SQL_TYPES[kind]))
        some_year = exp.NEQ(this=_left(text, 4), expression=exp.Literal.string("0000"))
        if kind == "date":  # of a moment, the day as it is written
            return when(exp.and_(self.matches(text, text_forms.MOMENT), some_year), attempt(_left(text, 10), "DATE"))
        bare = function(
            "REGEXP_REPLACE", text.copy(), exp.Literal.string(f"{text_forms.ZONE}$"), exp.Literal.string("")
        )
        shifted = self.earlier(_moment(bare), _offset(text, bare))
        return (
            exp.Case()
            .when(exp.and_(self.matches(text, text_forms.LOCAL_MOMENT), some_year), _moment(text))
            .when(exp.and_(self.matches(text, text_forms.ZONED_MOMENT), some_year.copy()), in_calendar(shifted, kind))
        )

    def from_number(self, number: exp.Expr, declared: str, kind: Kind) -> exp.Expr:
        """A finite double as another kind: what is no such value is NULL, and no number is a date or a moment.

        Doubles tell whole numbers apart only below 2^53. From there on one may stand for its neighbours, and the rows
        of several units would be those of one, so it is NULL.
        """
        if kind in ("date", "timestamp"):
            return cast(exp.null(), SQL_TYPES[kind])
        inside = exp.and_(number.copy() > double(-(2.0**53)), number.copy() < double(2.0**53))
        is_whole = exp.func("FLOOR", number.copy()).eq(number.copy())
        value = when(exp.and_(inside, is_whole), attempt(number, "BIGINT"))
        if kind == "text":  # 17 for 17.0, as where no cell is missing and a frame has whole numbers
            either = exp.Coalesce(this=self.text(value, declared), expressions=[self.text(number.copy(), declared)])
            return when(inside.copy(), either)
        if kind == "boolean":
            return exp.Case().when(value.copy().eq(whole(1)), exp.true()).when(value.copy().eq(whole(0)), exp.false())
        return value

    def from_digits(self, digits: exp.Expr, kind: Kind, longest: int) -> exp.Expr:
        """A decimal number as another kind, by all its digits: two that differ are never one unit."""
        if kind == "text":
            return self.short(digits, longest)
        if kind == "integer":
            return when(self.matches(digits, "-?[0-9]{1,18}"), attempt(digits, SQL_TYPES[kind]))
        if kind == "boolean":
            yes, no = (digits.copy().eq(exp.Literal.string(digit)) for digit in "10")
            return exp.Case().when(yes, exp.true()).when(no, exp.false())
        return cast(exp.null(), SQL_TYPES[kind])

    def code(self, column: exp.Expr, kind: Kind) -> exp.Expr:
        """A value as a whole number of 64 bits (text: of 24), to be hashed; different values may share one."""
        if kind == "integer":
            return column
        if kind == "boolean":
            return exp.Case().when(column, whole(1)).when(exp.not_(column.copy()), whole(0))
        if kind == "number":
            far = 2.0**40
            low, high = column.copy() < double(-far), column.copy() > double(far)
            inside = exp.Case().when(low, double(-far)).when(high, double(far)).else_(column.copy())
            return cast(exp.func("FLOOR", inside * double(2.0**20)), "BIGINT")
        return self.text_code(column) if kind == "text" else self.moment_code(column, kind)


def function(name: str, *arguments: exp.Expr) -> exp.Expr:
    """A function called by its own name."""
    return exp.Anonymous(this=name, expressions=list(arguments))


def _left(text: exp.Expr, length: int) -> exp.Expr:
    return exp.func("LEFT", text.copy(), whole(length))


def _length(text: exp.Expr) -> exp.Expr:
    return function("LENGTH", text.copy())


def _moment(text: exp.Expr) -> exp.Expr:
    """A moment without a zone, of a text that is one: from midnight, on the minute, or with at most 6 decimals."""
    day = exp.DPipe(this=text.copy(), expression=exp.Literal.string(" 00:00:00"))
    minute = exp.DPipe(this=text.copy(), expression=exp.Literal.string(":00"))
    full = exp.Case().when(_length(text).eq(10), day).when(_length(text).eq(16), minute).else_(_left(text, 26))
    return attempt(full, "TIMESTAMPNTZ")


def _offset(text: exp.Expr, bare: exp.Expr) -> exp.Expr:
    """How many minutes a text is ahead of UTC: what it has after the moment is Z, +HH, +HHMM or +HH:MM."""
    zone: exp.Expr = exp.func("SUBSTRING", text.copy(), _length(bare) + whole(1), whole(10))
    for sign in (" ", ":"):
        zone = function("REPLACE", zone, exp.Literal.string(sign), exp.Literal.string(""))
    hours, minutes = (cast(exp.func("SUBSTRING", zone.copy(), whole(at), whole(2)), "BIGINT") for at in (2, 4))
    size = hours * whole(60) + exp.Paren(this=when(_length(zone).eq(5), minutes, whole(0)))
    behind = exp.func("LEFT", zone.copy(), whole(1)).eq(exp.Literal.string("-"))
    return when(_length(zone) >= whole(3), when(behind, exp.Neg(this=exp.Paren(this=size)), size.copy()), whole(0))


@cache
def _type(name: str) -> exp.DataType:
    return exp.DataType.build(name)


def cast(value: exp.Expr, kind: str) -> exp.Cast:
    """A cast; sqlglot's own parses the name of the type every time."""
    return exp.Cast(this=value, to=_type(kind).copy())


def attempt(value: exp.Expr, kind: str) -> exp.TryCast:
    """A cast of what can be cast; PostgreSQL, which has no other, is never asked for one that fails."""
    return exp.TryCast(this=value.copy(), to=_type(kind).copy())


def when(condition: exp.Expr, value: exp.Expr, otherwise: exp.Expr | None = None) -> exp.Case:
    """CASE WHEN condition THEN value [ELSE otherwise] END."""
    case = exp.Case().when(condition, value)
    return case if otherwise is None else case.else_(otherwise)


def double(value: float) -> exp.Expr:
    """A double, exactly."""
    return cast(exp.Literal.string(repr(float(value))), "DOUBLE")


def whole(value: int) -> exp.Expr:
    """A whole number."""
    return exp.Literal.number(value) if value >= 0 else exp.Paren(this=exp.Neg(this=exp.Literal.number(-value)))


def _largest(sign: int) -> exp.Expr:
    return cast(exp.Literal.string(LARGEST_DOUBLE if sign > 0 else "-" + LARGEST_DOUBLE), "DOUBLE")


def finite(value: exp.Expr) -> exp.Expr:
    """A double that is neither infinite nor NaN (which every engine takes to be larger than all numbers), or NULL."""
    return when(exp.and_(value.copy() >= _largest(-1), value.copy() <= _largest(1)), value.copy())


def clamped_if_finite(value: exp.Expr, low: exp.Expr, high: exp.Expr) -> exp.Case:
    """A finite double clamped, others NULL: `finite` and a clamp with half of their comparisons."""
    inside = exp.and_(value.copy() >= low.copy(), value.copy() <= high.copy())
    below = exp.and_(value.copy() < low.copy(), value.copy() >= _largest(-1))
    above = exp.and_(value.copy() > high.copy(), value.copy() <= _largest(1))
    return exp.Case().when(inside, value.copy()).when(below, low).when(above, high)


def in_calendar(value: exp.Expr, kind: Kind) -> exp.Expr:
    """A date or timestamp of the years 1 to 9999, or NULL."""
    first, last = (
        ("0001-01-01", "9999-12-31") if kind == "date" else ("0001-01-01 00:00:00", "9999-12-31 23:59:59.999999")
    )
    low, high = (cast(exp.Literal.string(text), SQL_TYPES[kind]) for text in (first, last))
    return when(exp.and_(value.copy() >= low, value.copy() <= high), value.copy())


def frame(kind: str, *, whole_unit: bool = False) -> exp.WindowSpec:
    """The rows of a window from the first to this one (by RANGE with its peers), or to the last."""
    end = {"end": "UNBOUNDED", "end_side": "FOLLOWING"} if whole_unit else {"end": "CURRENT ROW"}
    return exp.WindowSpec(kind=kind, start="UNBOUNDED", start_side="PRECEDING", **end)


def without_zeros(text: exp.Expr) -> exp.Expr:
    """The text of a decimal number without the zeros after its last decimal."""
    for sign in "0.":
        text = exp.Trim(this=text, expression=exp.Literal.string(sign), position="TRAILING")
    return text


def decimal_places(declared: str) -> tuple[int, int]:
    """How many digits a DECIMAL has, and how many of them are decimals."""
    precision, _, scale = declared.partition("(")[2].removesuffix(")").partition(",")
    return int(precision), int(scale)


def md5_digits(text: exp.Expr) -> exp.Expr:
    """The hexadecimal digits of the first 3 bytes of MD5, the last byte first."""
    digits = exp.func("MD5", text.copy())
    pairs = [exp.func("SUBSTRING", digits.copy(), whole(place), whole(2)) for place in range(5, 0, -2)]
    joined: exp.Expr = pairs[0]
    for pair in pairs[1:]:
        joined = exp.DPipe(this=joined, expression=pair)
    return joined


def inline(rows: Sequence[Sequence[exp.Expr]], alias: str, columns: Sequence[str]) -> exp.Expr:
    """A table written into the statement."""
    return exp.values([tuple(row) for row in rows], alias=alias, columns=list(columns))
