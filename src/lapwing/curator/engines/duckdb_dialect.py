"""How DuckDB spells the functions that must give identical integers on every engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sqlglot import exp

from lapwing.curator.engines.cells import UNCHECKED_TEXT
from lapwing.curator.engines.dialects import (
    SQL_TYPES,
    Dialect,
    attempt,
    cast,
    decimal_places,
    function,
    in_calendar,
    when,
    whole,
    without_zeros,
)
from lapwing.curator.engines.duckdb_types import NOTHING, ZONED, kind_of
from lapwing.curator.plan import text_forms
from lapwing.curator.plan.expressions import Kind
from lapwing.curator.plan.text_forms import PLAIN, Notation


@dataclass(frozen=True, slots=True)
class DuckDB(Dialect):
    """DuckDB 2 and later."""

    name: str = "duckdb"
    counts_by_join: ClassVar[bool] = True

    def kind(self, declared: str) -> Kind | None:
        return kind_of(declared)

    def is_nothing(self, declared: str) -> bool:
        return declared == NOTHING

    def text(self, column: exp.Expr, declared: str) -> exp.Expr:
        plain = column if declared == "VARCHAR" else cast(column, "TEXT")
        if declared == UNCHECKED_TEXT:
            decoded = tried("decode", exp.Anonymous(this="encode", expressions=[column.copy()]))
            plain = self.short(column, text_forms.LONGEST_TEXT, decoded)  # looked at first: each step makes a copy
        elif declared == "BLOB":
            is_short = function("octet_length", column.copy()) <= whole(text_forms.LONGEST_TEXT)
            plain = when(is_short, plain)
        return exp.Collate(this=plain, expression=exp.Var(this="C"))  # a column may have a collation of its own

    def integer(self, column: exp.Expr, declared: str) -> exp.Expr:
        if declared == "BIGINT":
            return column
        if declared in _NARROW:  # else 100 - (-100) would be computed in, and leave, the 8 bits of a TINYINT
            return cast(column, "BIGINT")
        return attempt(column, "BIGINT")

    def number(self, column: exp.Expr, declared: str) -> exp.Expr:
        if declared.startswith("DECIMAL"):
            column = exp.Anonymous(this="TRY", expressions=[column])  # else the least of all is cast for its statistics
            return when(_has_digits(column, declared), cast(column, "DOUBLE"))
        return column if declared == "DOUBLE" else cast(column, "DOUBLE")

    def digits(self, column: exp.Expr, declared: str) -> exp.Expr | None:
        if not declared.startswith("DECIMAL"):
            return None
        precision, scale = decimal_places(declared)
        column = exp.Anonymous(this="TRY", expressions=[column])
        text: exp.Expr = cast(column.copy(), "TEXT")
        if precision == scale:  # written as .50
            text = function("REPLACE", text, exp.Literal.string("."), exp.Literal.string("0."))
        return when(_has_digits(column, declared), without_zeros(text) if scale else text)

    def moment(self, column: exp.Expr, declared: str, kind: Kind) -> exp.Expr:
        if declared in ZONED:
            column = tried("timezone", exp.Literal.string("UTC"), column)
        return in_calendar(attempt(column, SQL_TYPES[kind]), kind)

    def matches(self, text: exp.Expr, pattern: str) -> exp.Expr:
        return exp.Anonymous(this="regexp_full_match", expressions=[text.copy(), exp.Literal.string(pattern)])

    def size(self, text: exp.Expr) -> exp.Expr:
        return function("strlen", text)

    def trimmed(self, text: exp.Expr) -> exp.Expr:
        return function("trim", text, exp.Literal.string(" "))

    def earlier(self, moment: exp.Expr, minutes: exp.Expr) -> exp.Expr:
        return exp.Paren(this=exp.Sub(this=moment, expression=function("to_minutes", minutes)))

    def from_text(self, text: exp.Expr, kind: Kind, notation: Notation = PLAIN) -> exp.Expr:
        if notation.decimal == "," and kind in ("number", "integer", "date"):
            return self._from_comma(text, kind)
        if kind not in ("number", "integer"):
            return super(DuckDB, self).from_text(text, kind, notation)
        digits = text.copy()  # whose spaces, and whose .0, DuckDB's own cast leaves out at a quarter of the cost
        if notation.thousands:
            digits = function("REPLACE", digits, exp.Literal.string(notation.thousands), exp.Literal.string(""))
        return when(self.matches(text, f" *({notation.pattern(kind)}) *"), attempt(digits, SQL_TYPES[kind]))

    def _from_comma(self, text: exp.Expr, kind: Kind) -> exp.Expr:
        """Text with decimal commas; `lw.open` lets only DuckDB be asked for it."""
        plain_text, text = text, self.trimmed(text.copy())
        if kind == "date":
            year = exp.func("RIGHT", text.copy(), exp.Literal.number(4))
            some_year = exp.NEQ(this=year, expression=exp.Literal.string("0000"))
            arguments = [text.copy(), exp.Literal.string("%d.%m.%Y")]
            day = cast(exp.Anonymous(this="try_strptime", expressions=arguments), "DATE")
            return when(
                exp.and_(self.matches(text, text_forms.COMMA_DATE), some_year), day, self.from_text(plain_text, kind)
            )
        pattern, plain = (text_forms.COMMA_NUMBER, "DOUBLE") if kind == "number" else (text_forms.COMMA_WHOLE, "BIGINT")
        signs = [text.copy(), exp.Literal.string(",. '\u00a0\u202f\u2019"), exp.Literal.string(".")]  # others go
        return when(self.matches(text, pattern), attempt(exp.Anonymous(this="translate", expressions=signs), plain))

    def text_code(self, text: exp.Expr) -> exp.Expr:
        number = exp.Anonymous(this="md5_number", expressions=[text.copy()])  # four times as fast as any way by text
        return cast(exp.Paren(this=exp.BitwiseAnd(this=number, expression=whole((1 << 24) - 1))), "INT")

    def moment_code(self, column: exp.Expr, kind: Kind) -> exp.Expr:
        if kind == "timestamp":
            return exp.Anonymous(this="epoch_us", expressions=[column.copy()])
        return cast(
            exp.Paren(this=exp.Sub(this=column.copy(), expression=cast(exp.Literal.string("1970-01-01"), "DATE"))),
            "BIGINT",
        )

    def wide_sum(self, value: exp.Expr) -> exp.Expr:
        return exp.Sum(this=value)  # a HUGEINT


def tried(name: str, *arguments: exp.Expr) -> exp.Expr:
    """A function of DuckDB, NULL where it would fail."""
    return function("TRY", function(name, *arguments))


def _has_digits(column: exp.Expr, declared: str) -> exp.Expr:
    """Whether a DECIMAL has no more digits than its type, which frames and files do not see to."""
    precision, scale = decimal_places(declared)
    largest = f"{'9' * (precision - scale) or '0'}.{'9' * scale}"
    low, high = (cast(exp.Literal.string(sign + largest), declared) for sign in ("-", ""))
    return exp.and_(column.copy() >= low, column.copy() <= high)


_NARROW = ("TINYINT", "SMALLINT", "INTEGER", "UTINYINT", "USMALLINT", "UINTEGER")
