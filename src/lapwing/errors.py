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

Messages are about *parameters* only. No error may contain a value of a record. Wrong values in the data are handled by
fixed rules, without an error (see docs/sharp-edges.md).
"""

from __future__ import annotations


class LapwingError(Exception):
    """The base class of all errors of Lapwing."""


def _shown(value: object) -> str:
    try:
        return repr(value)
    except ValueError:  # Python refuses to print integers of more than 4300 digits
        return f"a very long {type(value).__name__}"


class InvalidParameter(LapwingError, ValueError):
    """A parameter that cannot be used."""

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
    """The remaining privacy budget is too small. Nothing was released."""

    def __init__(self, requested: object, remaining: object) -> None:
        self.requested, self.remaining = requested, remaining
        super().__init__(
            f"requested {requested}, but {remaining} remains. "
            "Ask with a smaller budget, or combine questions into one query. An allowance is never raised."
        )


class ChargeTooSmall(LapwingError):
    """The charge is below the smallest that the owner of the data set allows; nothing was charged or read."""

    def __init__(self, dataset: str, requested: object, smallest: object) -> None:
        self.dataset, self.requested, self.smallest = dataset, requested, smallest
        super().__init__(
            f"requested {requested}, but a question to {dataset!r} costs at least {smallest}. Attackers use very many "
            "questions that cost almost nothing. Spend more on each question, and combine questions into one query."
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
    """A question failed while it read rows, which may reveal something about a row. Nothing was charged or read now."""

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
    """The ledger was changed, damaged or replaced by an older copy. Nothing may be charged to it."""

    def __init__(self, path: str, where: str) -> None:
        self.path, self.where = path, where
        super().__init__(
            f"{path} is damaged at {where}, so the spent budget is no longer known. "
            "Restore the newest copy, or close the data set. Do not start over with a fresh allowance."
        )


class LedgerUnavailable(LapwingError):
    """The charge could not be saved on disk, so it was not granted and no data was read."""

    def __init__(self, path: str, why: str) -> None:
        self.path = path
        super().__init__(
            f"{path} cannot be used: {why}. "
            "Nothing was shown. Check the folder, its permissions, the disk and the lock, then ask again."
        )


class StreamDamaged(LapwingError):
    """The state of a stream was changed, damaged or replaced by an older copy, so no step may be drawn from it."""

    def __init__(self, path: str, where: str) -> None:
        self.path, self.where = path, where
        super().__init__(
            f"{path} is damaged at {where}. Published steps could be drawn again with other noise, so it cannot be "
            "used. Restore the newest copy with its anchor, or open a new stream, which costs again."
        )


class MissingBounds(LapwingError, ValueError):
    """A column was used without public bounds."""

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
    """The database cannot be reached, or a table has changed. No row was read."""

    def __init__(self, engine: str) -> None:
        self.engine = engine
        super().__init__(
            f"{engine} could not be reached, or a table has changed since it was opened. No row was read. "
            "Check the address, the rights and the name of the table, then open the table again. "
            "What was charged stays charged. Asking again with the same key= costs nothing more."
        )


class EngineFailed(LapwingError):
    """The database could not answer. Its message is not shown here, because it may quote a record."""

    def __init__(self, engine: str) -> None:
        self.engine = engine
        super().__init__(
            f"{engine} could not answer. The reason may depend on a row, so it is not shown here. You can ask again "
            "after the owner of the data has looked at it: `lapwing ledger failures` shows the reason. "
            "What was charged stays charged."
        )


class UnsupportedQuery(LapwingError, ValueError):
    """A query that cannot be answered privately."""

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
    """A reproducible source of noise was used. Anybody who knows the seed can subtract the noise."""


class NoiseWarning(UserWarning):
    """The noise hides part of a result, such as the slope of a column. The warning uses the noisy result alone."""


class WeakPrivacyWarning(UserWarning):
    """An epsilon so large that the guarantee gives almost no protection."""
