"""The error tree. Every error says what was wrong, why it matters, and what to write instead.

LapwingError
├─ InvalidParameter      .name .value .hint          a public parameter that cannot be used
├─ InvalidCall           .callable .instead          a keyword that is missing, unknown or misspelt
├─ IncompatibleLosses    .left .right                guarantees about different relations, units or kinds
├─ UnsupportedConversion .source .target .instead    a conversion that would claim privacy nobody proved
├─ BudgetExceeded        .requested .remaining       the allowance does not cover the charge
├─ ChargeTooSmall        .dataset .requested .smallest  a question must cost more than that
├─ TooManyQuestions      .dataset .analyst .limit    an analyst has asked as often as the owner allows
├─ DatasetClosed         .dataset .analyst           questions failed, and the owner has not reopened it yet
├─ LedgerDamaged         .path .where                the record of what was spent was changed
├─ LedgerUnavailable     .path                       the charge could not be written down, so nothing was read
├─ StreamDamaged         .path .where                the state of a stream was changed, or an older copy put back
├─ MissingBounds         .column                     bounds must be public and were not given
├─ EngineUnreachable     .engine                     the database was not reached: no row was read
├─ EngineFailed          .engine                     the database was asked and could not answer
├─ UnsupportedQuery      .sql_fragment .instead      a query whose privacy cannot be argued
└─ MissingExtra          .package .extra             an optional dependency that is not installed

NotPrivateWarning (a warning, not an error): a reproducible source of noise was used.
NoiseWarning (a warning): the noise hides part of a result, as the noisy result itself shows.
WeakPrivacyWarning (a warning): an epsilon so large that it protects hardly anybody.

Messages are about *parameters* only. No error may carry a value of a record: what is wrong in data is treated
by a rule that does not depend on the data (see docs/sharp-edges.md).
"""

from __future__ import annotations


class LapwingError(Exception):
    """Everything Lapwing raises on purpose."""


def _shown(value: object) -> str:
    try:
        return repr(value)
    except ValueError:  # Python refuses to print integers of more than 4300 digits
        return f"a very long {type(value).__name__}"


class InvalidParameter(LapwingError, ValueError):
    """A public parameter that cannot be used."""

    def __init__(self, name: str, value: object, why: str, hint: str) -> None:
        self.name, self.value, self.hint = name, value, hint
        super().__init__(f"{name} = {_shown(value)}: {why}. {hint}")


class InvalidCall(LapwingError, TypeError):
    """A call whose arguments do not fit: something missing, unknown or misspelt."""

    def __init__(self, callable: str, why: str, instead: str) -> None:
        self.callable, self.instead = callable, instead
        super().__init__(f"{callable}: {why}. {instead}")


class IncompatibleLosses(LapwingError, ValueError):
    """Two guarantees that cannot be added: other relation, other unit of protection, or no common kind."""

    def __init__(self, left: object, right: object, why: str) -> None:
        self.left, self.right = left, right
        super().__init__(f"cannot combine {left} with {right}: {why}")


class UnsupportedConversion(LapwingError, ValueError):
    """A conversion between guarantees that does not follow from any theorem."""

    def __init__(self, source: object, target: object, why: str, instead: str) -> None:
        self.source, self.target, self.instead = source, target, instead
        super().__init__(f"cannot turn {source} into {target}: {why}. {instead}")


class BudgetExceeded(LapwingError):
    """The allowance does not cover the charge; nothing was released."""

    def __init__(self, requested: object, remaining: object) -> None:
        self.requested, self.remaining = requested, remaining
        super().__init__(
            f"requested {requested}, but {remaining} remains. "
            "Ask for less, or combine questions into one query: an allowance is never raised."
        )


class ChargeTooSmall(LapwingError):
    """The charge is below the smallest that the owner of the data set allows; nothing was charged or read."""

    def __init__(self, dataset: str, requested: object, smallest: object) -> None:
        self.dataset, self.requested, self.smallest = dataset, requested, smallest
        super().__init__(
            f"requested {requested}, but a question to {dataset!r} costs at least {smallest}. Very many questions that "
            "cost almost nothing are a way to attack a data set. Ask with more, and combine questions into one query."
        )


class TooManyQuestions(LapwingError):
    """An analyst has asked as many questions as the owner of the data set allows; nothing was charged or read."""

    def __init__(self, dataset: str, analyst: str, limit: int) -> None:
        self.dataset, self.analyst, self.limit = dataset, analyst, limit
        who = repr(analyst) if analyst else "the analyst without a name"
        super().__init__(
            f"{who} has asked {limit} questions of {dataset!r}, which is the limit that its owner set. "
            "Ask for a stored answer with its key=, or ask the owner for a new data set name with its own allowance."
        )


class DatasetClosed(LapwingError):
    """Questions failed while rows were read, which may tell about a row; nothing was charged or read this time."""

    def __init__(self, dataset: str, analyst: str | None, *, ledger: bool = True) -> None:
        self.dataset, self.analyst = dataset, analyst
        whom = "" if analyst is None else f" for {analyst!r}" if analyst else " for analysts without a name"
        instead = (
            f"Its owner reads why with `lapwing ledger failures LEDGER` and opens it again with `lapwing ledger reopen "
            f"LEDGER {dataset}`. Answers that are stored already can still be asked for with their key=."
            if ledger
            else "Find out why with the owner's own tools, then open the table again with lw.open."
        )
        super().__init__(
            f"{dataset!r} is closed{whom}: a question failed after it had begun to read rows, and whether it fails may "
            f"depend on a row. {instead}"
        )


class LedgerDamaged(LapwingError):
    """The record of what was spent was changed, torn or put back: nothing may be charged to it."""

    def __init__(self, path: str, where: str) -> None:
        self.path, self.where = path, where
        super().__init__(
            f"{path} is damaged at {where}: what was spent can no longer be told. "
            "Restore the newest copy, or close the data set; do not start over with a fresh allowance."
        )


class LedgerUnavailable(LapwingError):
    """The charge could not be written down durably, so it was not granted and no data may be read."""

    def __init__(self, path: str, why: str) -> None:
        self.path = path
        super().__init__(
            f"{path} cannot be used: {why}. "
            "Nothing was shown; see to the folder, its permissions, the disk or the lock and ask again."
        )


class StreamDamaged(LapwingError):
    """The state of a stream was changed, torn or put back: a step that was shown must not be drawn again."""

    def __init__(self, path: str, where: str) -> None:
        self.path, self.where = path, where
        super().__init__(
            f"{path} is damaged at {where}: steps that were shown could be drawn again, with other noise. "
            "Restore the newest copy with its anchor, or open a new stream, which costs again."
        )


class MissingBounds(LapwingError, ValueError):
    """A column was used without public bounds."""

    def __init__(self, column: str, parameter: str = "") -> None:
        self.column = column
        named, example = f"column {column!r}", f"bounds={{{column!r}: (low, high)}}"
        otherwise = ". If nobody knows them, pay for a private proposal: lw.bounds(table, 'column', epsilon=0.1)."
        if parameter:
            named, example, otherwise = column, f"{parameter}=(low, high)", "."
        super().__init__(
            f"{named} has no bounds, and reading them from the data would leak them: "
            f"pass {example} from public knowledge{otherwise}"
        )


class EngineUnreachable(LapwingError):
    """No statement that reads rows was sent: the database cannot be reached, or a table is not what it was."""

    def __init__(self, engine: str) -> None:
        self.engine = engine
        super().__init__(
            f"{engine} could not be reached, or a table is no longer there as it was opened. No row was read. "
            "Check the address, the rights and the name of the table, then open the table again. "
            "A release that was charged for stays charged; asked again with the same key= it costs nothing."
        )


class EngineFailed(LapwingError):
    """The database was asked and could not answer. Why is not said here: its message may quote a record."""

    def __init__(self, engine: str) -> None:
        self.engine = engine
        super().__init__(
            f"{engine} could not answer. Whether it can may depend on a row, so nothing more is said here, and you "
            "cannot ask again before the owner of the data has looked: `lapwing ledger failures` shows the owner why. "
            "A release that was charged for stays charged."
        )


class UnsupportedQuery(LapwingError, ValueError):
    """A query whose privacy cannot be argued."""

    def __init__(self, sql_fragment: str, why: str, instead: str) -> None:
        self.sql_fragment, self.instead = sql_fragment, instead
        super().__init__(f"{sql_fragment}: {why}. {instead}")


class MissingExtra(LapwingError, ImportError):
    """An optional dependency that is not installed."""

    def __init__(self, package: str, extra: str) -> None:
        self.package, self.extra = package, extra
        wheel = {"psycopg": "'psycopg[binary]'"}.get(package, package)
        if extra == "web":  # a wheel of its own, which brings all it needs
            package, wheel = "the web application", "'lapwing[web]'"
        super().__init__(f"this needs {package}, which is not installed: pip install {wheel} (our extra {extra!r})")


class NotPrivateWarning(UserWarning):
    """A reproducible source of noise was used: whoever knows the seed can subtract the noise."""


class NoiseWarning(UserWarning):
    """The noise hides part of a result, such as the slope of a column. Said from the noisy result alone."""


class WeakPrivacyWarning(UserWarning):
    """An epsilon so large that the guarantee says hardly anything."""
