"""The error tree. Every error says what was wrong, why it matters, and what to write instead.

LapwingError
├─ InvalidParameter      .name .value .hint          a parameter that cannot be used
├─ InvalidCall           .callable .instead          a keyword that is missing, unknown or misspelt
├─ IncompatibleLosses    .left .right                guarantees about different relations, units or kinds
├─ UnsupportedConversion .source .target .instead    a conversion that no theorem supports
├─ BudgetExceeded        .requested .remaining       the remaining privacy budget is too small
├─ ChargeTooSmall        .dataset .requested .smallest  the question costs less than the owner allows
├─ TooManyQuestions      .dataset .analyst .limit    an analyst has reached the limit of questions
├─ DatasetClosed         .dataset .analyst           a question failed, and the owner has not reopened it yet
├─ LedgerDamaged         .path .where                the record of the spent budget was changed
├─ LedgerUnavailable     .path                       the charge could not be recorded, so nothing was read
├─ StreamDamaged         .path .where                the state of a stream was changed or replaced by an older copy
├─ MissingBounds         .column                     a column needs public bounds
├─ EngineUnreachable     .engine                     the database could not be reached; no row was read
├─ EngineFailed          .engine                     the database could not answer a question
├─ UnsupportedQuery      .sql_fragment .instead      a query that cannot be answered privately
└─ MissingExtra          .package .extra             an optional dependency that is not installed

NotPrivateWarning (a warning, not an error): a reproducible source of noise was used.
NoiseWarning (a warning): the noise hides part of a result, as the noisy result itself shows.
WeakPrivacyWarning (a warning): an epsilon so large that it gives almost no protection.

Messages are about *parameters* only. No error may contain a value of a record: of a frame, an array, a long list, bytes
or a text of several lines that was passed where a parameter belongs, only the type is shown, and no entry of such a
collection is (`withheld`). Wrong values in the data are handled by fixed rules, without an error (see
docs/sharp-edges.md).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import PurePath

__all__ = [
    "BudgetExceeded",
    "ChargeTooSmall",
    "DatasetClosed",
    "EngineFailed",
    "EngineUnreachable",
    "IncompatibleLosses",
    "InvalidCall",
    "InvalidParameter",
    "LapwingError",
    "LedgerDamaged",
    "LedgerUnavailable",
    "MissingBounds",
    "MissingExtra",
    "NoiseWarning",
    "NotPrivateWarning",
    "StreamDamaged",
    "TooManyQuestions",
    "UnsupportedConversion",
    "UnsupportedQuery",
    "WeakPrivacyWarning",
]


class LapwingError(Exception):
    """The base class of all errors of Lapwing: catch it to catch any of them.

    Raised only as one of its subclasses.

    >>> from lapwing.errors import LapwingError
    >>> from lapwing.mechanisms import Laplace
    >>> try:
    ...     Laplace(epsilon=-1, sensitivity=1)
    ... except LapwingError as error:
    ...     print(error)
    epsilon = -1: must be greater than 0. Write epsilon=1, for example.
    """


_NUMBERS = (bool, int, float, complex, Fraction, Decimal)
_SCALARS = (*_NUMBERS, dt.date, dt.time, dt.timedelta, PurePath, Enum, range, type, type(None), type(...))
_COLLECTIONS = (list, tuple, set, frozenset, dict)
_MOST_SHOWN, _LONGEST_SHOWN, _DEEPEST_SHOWN = 8, 200, 4  # entries, characters, collections within one another
_OF_PARAMETERS = (
    "lapwing.curator.aggregates",
    "lapwing.curator.plan.declarations",
    "lapwing.curator.plan.ladders",
    "lapwing.mechanisms.trees",
    "lapwing.privacy.admission",
    "lapwing.privacy.losses",
)
"""Where the classes are that hold nothing but parameters. Others of ours hold records, counts or answers."""
_OURS = tuple(f"{room}." for room in _OF_PARAMETERS)


def shown(value: object) -> str:
    """What was passed, if it can be a parameter. Of frames, arrays and long lists, which could be records, the type."""
    try:
        if isinstance(value, Fraction):
            return _fraction(value)
        text = repr(value) if can_be_shown(value) else ""
        fits = isinstance(value, (*_NUMBERS, PurePath)) or len(text) <= _LONGEST_SHOWN
    except ValueError:  # Python refuses to print integers of more than 4300 digits
        return f"a very long {type(value).__name__}"
    except Exception:  # of a type that cannot say what it is
        return f"<{type(value).__name__}>"
    return text if text and fits else f"<{type(value).__name__}>"


def can_be_shown(value: object) -> bool:
    """Whether it is one number, text, date or type, a few of them, or of a class of ours that holds only such."""
    try:
        return _is_parameter(value, _DEEPEST_SHOWN)
    except Exception:  # of a type of the user's own, whose message could be anything
        return False


def quoted(value: object, *, otherwise: object) -> str:
    """What was passed, to be written into a hint; an example instead of what may not be shown."""
    return repr(value if shown(value) == repr(value) else otherwise)


@contextmanager
def withheld(why: str, hint: str, **named: object) -> Iterator[None]:
    """Whatever is refused about one entry of a collection: kept back if the collection could be records.

    Then the collection is refused, by its type. A few entries were written by hand, and the error about one says more.
    """
    [(name, given)] = named.items()
    try:
        yield
    except (InvalidParameter, UnsupportedQuery):
        if can_be_shown(given) or _are_few_texts(given):
            raise
        raise InvalidParameter(name, given, why, hint) from None


def _are_few_texts(given: object) -> bool:
    """Also of several lines: what is written in SQL may be long."""
    if not isinstance(given, (list, tuple)) or len(given) > _MOST_SHOWN:
        return False
    return all(type(text) in (str, bytes) for text in given)


def _is_parameter(value: object, depth: int) -> bool:
    if type(value) in _COLLECTIONS:
        entries: list[object] = list(value)  # type: ignore[call-overload]
        entries += value.values() if isinstance(value, dict) else []
        few = depth > 0 and len(entries) <= _MOST_SHOWN
        return few and all(_is_parameter(entry, depth - 1) for entry in entries)
    if isinstance(value, str):
        return len(value.splitlines()) <= 1  # of more lines it is the text of a file
    if isinstance(value, _SCALARS) or f"{type(value).__module__}.".startswith(_OURS):
        return True
    item = getattr(value, "item", None)  # a numpy scalar, without importing numpy
    return callable(item) and getattr(value, "ndim", None) == 0 and isinstance(item(), (*_SCALARS, str))


def _fraction(value: Fraction) -> str:
    """As people write it: numbers are exact fractions once they were checked, whatever was passed."""
    decimal = repr(float(value)) if abs(value) < 10**15 else ""
    return decimal if value.denominator > 1 and decimal and Fraction(decimal) == value else str(value)


class InvalidParameter(LapwingError, ValueError):
    """A parameter has a value that cannot be used.

    Raised before any data is read, if a number is out of range, a name is unknown, or two parameters disagree.

    Attributes:
        name: The name of the parameter.
        value: What was passed.
        hint: What to write instead.

    >>> from lapwing.mechanisms import Laplace
    >>> try:
    ...     Laplace(epsilon=-1, sensitivity=1)
    ... except InvalidParameter as error:
    ...     print(error.name, error.value, error.hint)
    epsilon -1 Write epsilon=1, for example.
    """

    def __init__(self, name: str, value: object, why: str, hint: str) -> None:
        self.name, self.value, self.hint = name, value, hint
        super().__init__(f"{name} = {shown(value)}: {why}. {hint}")


class InvalidCall(LapwingError, TypeError):
    """The arguments of a call do not fit: one is missing, unknown or misspelt, or two exclude each other.

    Raised where Python would raise a `TypeError`, which it also is.

    Attributes:
        callable: The function or class that was called.
        instead: What to write instead.

    >>> from lapwing.mechanisms import Laplace
    >>> try:
    ...     Laplace(epsilon=1, sensitvity=1)
    ... except InvalidCall as error:
    ...     print(error.callable, error.instead, sep=": ")
    Laplace: Did you mean sensitivity? Write Laplace(epsilon=1, sensitivity=1), for example.
    """

    def __init__(self, callable: str, why: str, instead: str) -> None:
        self.callable, self.instead = callable, instead
        super().__init__(f"{callable}: {why}. {instead}")


class IncompatibleLosses(LapwingError, ValueError):
    """Two privacy losses cannot be added: they have another relation, another unit of protection, or no common kind.

    Raised when losses are added or composed, and when a charge does not fit the allowance of a data set.

    Attributes:
        left: The first loss; for a ledger, its allowance or what remains of it.
        right: The loss that does not fit it.

    >>> from lapwing.privacy import PureDP
    >>> try:
    ...     PureDP(1) + PureDP(1, unit="household")
    ... except IncompatibleLosses as error:
    ...     print(error.left.unit, "and", error.right.unit)
    person and household
    """

    def __init__(self, left: object, right: object, why: str) -> None:
        self.left, self.right = left, right
        super().__init__(f"cannot combine {left} with {right}: {why}")


class UnsupportedConversion(LapwingError, ValueError):
    """A guarantee cannot be converted to another kind, because no theorem supports it.

    Raised by the methods of losses that convert them, such as `to_approx`, `to_renyi`, `subsampled` and `for_group`.

    Attributes:
        source: The loss that was to be converted.
        target: What it was to become, in words.
        instead: What to do instead.

    >>> from lapwing.privacy import ZCDP
    >>> try:
    ...     ZCDP(0.5, delta=1e-6).for_group(2)
    ... except UnsupportedConversion as error:
    ...     print(error.target, error.instead, sep=": ")
    a group of 2: Use to_approx(delta).for_group(size) instead.
    """

    def __init__(self, source: object, target: object, why: str, instead: str) -> None:
        self.source, self.target, self.instead = source, target, instead
        super().__init__(f"cannot turn {source} into {target}: {why}. {instead}")


class BudgetExceeded(LapwingError):
    """The remaining privacy budget is too small. Nothing was charged, and nothing was released.

    Raised when a question costs more than the data set or the analyst has left.

    Attributes:
        requested: What the question costs: a loss, or words where no loss is counted.
        remaining: What is left to spend, in the same form.

    >>> import tempfile
    >>> from lapwing.privacy import Ledger, PureDP
    >>> ledger = Ledger(tempfile.mkdtemp() + "/ledger.db")
    >>> ledger.open("patients", PureDP(1))
    >>> try:
    ...     ledger.charge("patients", PureDP(2))
    ... except BudgetExceeded as error:
    ...     print(error.remaining)
    ε = 1 (add_remove, per person)
    """

    def __init__(self, requested: object, remaining: object) -> None:
        self.requested, self.remaining = requested, remaining
        spent = any(getattr(remaining, size, None) == 0 for size in ("epsilon", "rho"))
        instead = "The budget is spent" if spent else "Ask with a smaller epsilon or rho"
        super().__init__(f"requested {requested}, but {remaining} remains. {instead}. An allowance is never raised.")


class ChargeTooSmall(LapwingError):
    """A question costs less than the owner of the data set allows. Nothing was charged or read.

    Raised by a ledger whose rules set a smallest charge (`Rules(parts=…)`).

    Attributes:
        dataset: The name of the data set.
        requested: What the question costs.
        smallest: The smallest charge that is allowed.

    >>> import tempfile
    >>> from lapwing.privacy import Ledger, PureDP, Rules
    >>> ledger = Ledger(tempfile.mkdtemp() + "/ledger.db")
    >>> ledger.open("patients", PureDP(1), rules=Rules(parts=100))
    >>> try:
    ...     ledger.charge("patients", PureDP(0.001))
    ... except ChargeTooSmall as error:
    ...     print(error.smallest)
    ε = 0.01 (add_remove, per person)
    """

    def __init__(self, dataset: str, requested: object, smallest: object) -> None:
        self.dataset, self.requested, self.smallest = dataset, requested, smallest
        super().__init__(
            f"requested {requested}, but a question to {dataset!r} costs at least {smallest}. Attackers use very many "
            "questions that cost almost nothing. Spend more on each question, and combine questions into one query."
        )


class TooManyQuestions(LapwingError):
    """An analyst has asked as many questions as the owner of the data set allows. Nothing was charged or read.

    Raised by a ledger whose rules limit questions (`Rules(questions=…)`).

    Attributes:
        dataset: The name of the data set.
        analyst: Who asked; empty if the analyst gave no name.
        limit: How many questions an analyst may ask.

    >>> import tempfile
    >>> from lapwing.privacy import Ledger, PureDP, Rules
    >>> ledger = Ledger(tempfile.mkdtemp() + "/ledger.db")
    >>> ledger.open("patients", PureDP(1), rules=Rules(questions=1))
    >>> charge = ledger.charge("patients", PureDP(0.1), analyst="ada")
    >>> try:
    ...     ledger.charge("patients", PureDP(0.1), analyst="ada")
    ... except TooManyQuestions as error:
    ...     print(error.analyst, error.limit)
    ada 1
    """

    def __init__(self, dataset: str, analyst: str, limit: int) -> None:
        self.dataset, self.analyst, self.limit = dataset, analyst, limit
        who = repr(analyst) if analyst else "the analyst without a name"
        super().__init__(
            f"{who} has asked {limit} questions of {dataset!r}, which is the limit that its owner set. "
            "Ask for a stored answer with its key=, or ask the owner for a new data set name with its own allowance."
        )


class DatasetClosed(LapwingError):
    """The data set is closed, because a question failed while it read rows. Nothing was charged or read now.

    Raised for the analyst who asked, and for everybody after several failures, until the owner reopens the data set.
    Without a ledger, raised for everybody until the table is opened again. A failure may depend on a row, so an
    attacker could learn from repeated failures.

    Attributes:
        dataset: The name of the data set.
        analyst: For whom it is closed; empty for analysts without a name, None for everybody.

    >>> import tempfile
    >>> from lapwing.privacy import Ledger, PureDP
    >>> ledger = Ledger(tempfile.mkdtemp() + "/ledger.db")
    >>> ledger.open("patients", PureDP(1))
    >>> ledger.trip(["patients"], "out of memory", analyst="ada")  # what a failed question does
    >>> try:
    ...     ledger.charge("patients", PureDP(0.1), analyst="ada")
    ... except DatasetClosed as error:
    ...     print(error.dataset, error.analyst)
    patients ada
    """

    def __init__(self, dataset: str, analyst: str | None, *, ledger: bool = True) -> None:
        self.dataset, self.analyst = dataset, analyst
        whom = "" if analyst is None else f" for {analyst!r}" if analyst else " for analysts without a name"
        instead = (
            f"The owner of the data can see why with `lapwing ledger failures LEDGER`, and reopen it with "
            f"`lapwing ledger reopen LEDGER {dataset}`. Stored answers are still available with their key=."
            if ledger
            else "Find out why with the tools of the database, then open the table again with lw.open."
        )
        super().__init__(
            f"{dataset!r} is closed{whom}: a question failed while it read rows, and such a failure may depend on a "
            f"row. {instead}"
        )


class LedgerDamaged(LapwingError):
    """The ledger was changed, damaged or replaced by an older copy. Nothing may be charged to it.

    Raised when a ledger is opened or used and its entries, its tables or its anchor do not agree.

    Attributes:
        path: The file or database of the ledger.
        where: The part that is damaged.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from lapwing.privacy import Ledger
    >>> file = Path(tempfile.mkdtemp(), "ledger.db")
    >>> size = file.write_text("something else")
    >>> try:
    ...     Ledger(file)
    ... except LedgerDamaged as error:
    ...     print(error.where)
    the database file itself
    """

    def __init__(self, path: str, where: str) -> None:
        self.path, self.where = path, where
        super().__init__(
            f"{path} is damaged at {where}, so the spent budget is no longer known. "
            "Restore the newest copy, or close the data set. Do not start over with a fresh allowance."
        )


class LedgerUnavailable(LapwingError):
    """A charge could not be saved, so it was not granted and no data was read.

    Raised when the file or server of a ledger cannot be opened, read, written or locked.

    Attributes:
        path: The file or database of the ledger, or the file of its anchor.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from lapwing.privacy import Ledger
    >>> try:
    ...     Ledger(Path(tempfile.mkdtemp(), "no such folder", "ledger.db"))
    ... except LedgerUnavailable as error:
    ...     print(Path(error.path).name)
    ledger.db
    """

    def __init__(self, path: str, why: str) -> None:
        self.path = path
        super().__init__(
            f"{path} cannot be used: {why}. "
            "Nothing was shown. Check the folder, its permissions, the disk and the lock, then ask again."
        )


class StreamDamaged(LapwingError):
    """The state of a stream was changed, damaged or replaced by an older copy, so no step may be drawn from it.

    Raised when a stream is opened or used and its file or its anchor do not agree.

    Attributes:
        path: The file with the state of the stream.
        where: The part that is damaged.

    >>> import tempfile
    >>> from pathlib import Path
    >>> import lapwing as lw
    >>> file = Path(tempfile.mkdtemp(), "delays.stream")
    >>> size = file.write_text("something else")
    >>> file.chmod(0o600)  # a stream is a secret of its owner
    >>> try:
    ...     lw.open_numeric_stream(file)
    ... except StreamDamaged as error:
    ...     print(error.where)
    the database file itself
    """

    def __init__(self, path: str, where: str) -> None:
        self.path, self.where = path, where
        super().__init__(
            f"{path} is damaged at {where}. Published steps could be drawn again with other noise, so it cannot be "
            "used. Restore the newest copy with its anchor, or open a new stream, which costs again."
        )


class MissingBounds(LapwingError, ValueError):
    """A column is used in a way that needs public bounds, and it has none.

    Raised before any data is read, for example by sums and means, and by models. Bounds read from the data would leak.

    Attributes:
        column: The name of the column; for a model "X" or "y".

    >>> import lapwing as lw
    >>> from lapwing.datasets import clinic_csv
    >>> table = lw.open(clinic_csv(), unit="patient", types={"age": "integer"})
    >>> try:
    ...     table.agg(lw.mean("age")).quote(epsilon=1)
    ... except MissingBounds as error:
    ...     print(error.column)
    age
    """

    def __init__(self, column: str, parameter: str = "") -> None:
        self.column = column
        named, example = f"column {column!r}", f"bounds={{{column!r}: (low, high)}}"
        otherwise = ". If you do not know them, buy a private proposal: lw.bounds(table, 'column', epsilon=0.1)."
        if parameter:
            named, example, otherwise = column, f"{parameter}=(low, high)", "."
        super().__init__(
            f"{named} has no bounds, and reading them from the data would leak them: "
            f"pass {example} from public knowledge{otherwise}"
        )


class EngineUnreachable(LapwingError):
    """The database cannot be reached, or a table has changed since it was opened. No row was read.

    Raised before the first row is read. It depends on the tables and not on the question, and it closes nothing.

    Attributes:
        engine: The name of the database engine.

    >>> import tempfile
    >>> from pathlib import Path
    >>> import lapwing as lw
    >>> file = Path(tempfile.mkdtemp(), "patients.csv")
    >>> size = file.write_text("patient\\n1")
    >>> question = lw.open(file, unit="patient").agg(lw.count())
    >>> file.unlink()
    >>> try:
    ...     question.release(epsilon=1)
    ... except EngineUnreachable as error:
    ...     print(error.engine)
    DuckDB
    """

    def __init__(self, engine: str) -> None:
        self.engine = engine
        super().__init__(
            f"{engine} could not be reached, or a table has changed since it was opened. No row was read. "
            "Check the address, the rights and the name of the table, then open the table again. "
            "What was charged stays charged. Asking again with the same key= costs nothing more."
        )


class EngineFailed(LapwingError):
    """The database could not answer. Its message is not shown here, because it may quote a record.

    Raised when anything fails after the first row is read. The failure closes the data set for this analyst, and
    later questions raise `DatasetClosed`. The owner reads the message with `lapwing ledger failures`.

    Attributes:
        engine: The name of the database engine.

    >>> try:
    ...     raise EngineFailed("DuckDB")  # as a question does whose rows fill the memory
    ... except EngineFailed as error:
    ...     print(error.engine)
    DuckDB
    """

    def __init__(self, engine: str) -> None:
        self.engine = engine
        super().__init__(
            f"{engine} could not answer. The reason may depend on a row, so it is not shown here. You can ask again "
            "after the owner of the data has looked at it: `lapwing ledger failures` shows the reason. "
            "What was charged stays charged."
        )


class UnsupportedQuery(LapwingError, ValueError):
    """A query cannot be answered privately, or is outside the SQL that Lapwing understands.

    Raised before anything is charged or read.

    Attributes:
        sql_fragment: The part of the query that cannot be answered.
        instead: What to write instead.

    >>> import lapwing as lw
    >>> from lapwing.datasets import clinic_csv
    >>> table = lw.open(clinic_csv(), name="patients", unit="patient", bounds={"age": (0, 100)})
    >>> try:
    ...     table.sql("SELECT age FROM patients")
    ... except UnsupportedQuery as error:
    ...     print(error.sql_fragment, error.instead, sep=": ")
    age: Write AVG(age), or add it to GROUP BY.
    """

    def __init__(self, sql_fragment: str, why: str, instead: str) -> None:
        self.sql_fragment, self.instead = sql_fragment, instead
        super().__init__(f"{sql_fragment}: {why}. {instead}")


class MissingExtra(LapwingError, ImportError):
    """An optional dependency is not installed.

    Raised when a feature is used whose package is missing. It is an `ImportError` as well.

    Attributes:
        package: The package that is missing.
        extra: The extra of Lapwing that brings it, as in `pip install '.[extra]'`.

    >>> try:
    ...     raise MissingExtra("pandas", "pandas")  # as to_pandas() does where pandas is missing
    ... except MissingExtra as error:
    ...     print(error)
    this needs pandas, which is not installed: pip install pandas (our extra 'pandas')
    """

    def __init__(self, package: str, extra: str) -> None:
        self.package, self.extra = package, extra
        wheel = {"psycopg": "'psycopg[binary]'"}.get(package, package)
        if extra == "web":  # a wheel of its own, which brings all it needs
            package, wheel = "the web application", "'lapwing[web]'"
        super().__init__(f"this needs {package}, which is not installed: pip install {wheel} (our extra {extra!r})")


class NotPrivateWarning(UserWarning):
    """The result is not private: its noise is reproducible, or it was computed without noise.

    Issued when a reproducible source of noise is made (anybody who knows the seed can subtract the noise), by the
    `score` of models, which has no noise, and by methods that are here to be attacked.

    >>> import warnings
    >>> from lapwing.noise import Reproducible
    >>> with warnings.catch_warnings(record=True) as issued:
    ...     warnings.simplefilter("always")
    ...     entropy = Reproducible(b"a test")
    >>> issued[0].category.__name__
    'NotPrivateWarning'
    """


class NoiseWarning(UserWarning):
    """The noise hides part of a result, such as the slope of a column.

    Issued by models after a fit. The warning is computed from the noisy result alone, so it costs no privacy.

    >>> import warnings
    >>> from lapwing.models import LinearRegression
    >>> with warnings.catch_warnings(record=True) as issued:
    ...     warnings.simplefilter("always")
    ...     model = LinearRegression(epsilon=0.1, bounds=[(0, 1)] * 20, target_bounds=(0, 1))
    ...     model = model.fit([[0] * 20, [1] * 20], [0, 1])
    >>> any(warning.category is NoiseWarning for warning in issued)
    True
    """


class WeakPrivacyWarning(UserWarning):
    """An epsilon is so large that the guarantee gives almost no protection.

    Issued when an allowance is set or a question is asked with an epsilon above 20.

    >>> import warnings
    >>> import tempfile
    >>> from lapwing.privacy import Ledger, PureDP
    >>> ledger = Ledger(tempfile.mkdtemp() + "/ledger.db")
    >>> with warnings.catch_warnings(record=True) as issued:
    ...     warnings.simplefilter("always")
    ...     ledger.open("patients", PureDP(100))
    >>> issued[0].category.__name__
    'WeakPrivacyWarning'
    """
