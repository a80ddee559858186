"""Questions that a private estimator of `lapwing.models` answers.

    price → charge (durable) → one row of each unit → fit → a few numbers that say what was learnt

The estimator reads an array, so the charge comes before the file is read, here. Models are imported
when they are asked for, because scikit-learn takes its time. One summary of a fitted model serves the private one, the
exact one, and both sides of the simulation behind the preview.
"""

from __future__ import annotations

import hashlib
import warnings
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import InvalidParameter, NoiseWarning
from lapwing.noise import SYSTEM, Entropy
from lapwing.privacy import Loss
from lapwing.web.lab.analyses import forms, rows, synthetic
from lapwing.web.lab.analyses.curated import AFTER, CONFIDENCE, affordable, entered, same
from lapwing.web.lab.analysis import Analysis, Data, Field, Progress
from lapwing.web.lab.failures import on_record
from lapwing.web.lab.result import EPSILONS, Band, Preview, Result, Series, Shape, error_at
from lapwing.web.lab.statement import DATASET, StatedColumn, Statement

if TYPE_CHECKING:
    from lapwing.models import Account

# The page says what noise hides. The log of a server says nothing that follows from a table.
warnings.filterwarnings("ignore", category=NoiseWarning, module=r"lapwing\.web\.")
Floats = NDArray[np.float64]
MOST_ROWS = 1_000_000
"""Of more people than that, a random part is learnt from: by their stated number, so it tells nothing."""
MOST_COLUMNS = 20
WHY = (
    "Measured by fitting the same model to as many made-up rows within your bounds as you stated. "
    "The real error depends on the data."
)
NARROW, CROWDED = 0.25, "if the values spread over only a quarter of the range that you stated"
FULL = "if the values spread over the whole range"
"""Bounds are wider than the data more often than not, and then a model is farther off."""
TABLE = 1_000
"""Which made-up rows: noise has other numbers."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows to learn from: columns, and a target or none."""

    X: Floats
    y: Any = None


@dataclass(frozen=True, slots=True)
class Model(Analysis):
    """A model of some columns with bounds."""

    as_text: ClassVar[bool] = False
    """Whether the target is a name of a class."""

    columns: tuple[StatedColumn, ...]

    @property
    def bounds(self) -> list[tuple[float, float]]:
        """The stated bounds of the columns."""
        return [column.bounds or (0.0, 1.0) for column in self.columns]

    @property
    def asked(self) -> str:
        """What is predicted, and from what."""
        from_ = forms.joined([column.name for column in self.columns])
        return f"{self.target.name} from {from_}" if self.target else from_

    @property
    def target(self) -> StatedColumn | None:
        """The column that is predicted, if one is."""
        return None

    @property
    @abstractmethod
    def mechanism(self) -> str:
        """Where noise is added, in words, with the library's name of the estimator."""

    def taken(self, model: Any) -> str:
        """The same of a fitted model, if the fit itself chose among several."""
        return self.mechanism

    @abstractmethod
    def estimator(self, epsilon: float, account: Account | None = None, seed: Entropy | None = None) -> Any:
        """The private estimator; with a seed its noise is reproducible, for made-up rows."""

    @abstractmethod
    def reference(self) -> Any:
        """The same without privacy, by scikit-learn."""

    @abstractmethod
    def made_up(self, count: int, entropy: Entropy, share: float = 1.0) -> Table:
        """Rows within the bounds, or the lower share of them, that nobody has."""

    @abstractmethod
    def learnt(self, model: Any) -> tuple[Series, ...]:
        """A few numbers that say what was learnt."""

    def pictured(self, model: Any) -> tuple[Series, ...]:
        """What a picture shows, if not these numbers themselves."""
        return ()

    @abstractmethod
    def drawn(self) -> Shape:
        """How the summary is drawn."""

    @abstractmethod
    def written(self, model: Any) -> tuple[str, ...]:
        """What was learnt, in lines for people."""

    def off(self, private: Any, plain: Any, table: Table) -> Sequence[float]:
        """How far apart two models are: by their pictures."""
        shown, other = (self.pictured(model) or self.learnt(model) for model in (private, plain))
        pairs = zip(shown, other, strict=True)
        values = [(a.value, b.value) for first, other in pairs for a, b in zip(first.values, other.values, strict=True)]
        return [a - b for a, b in values if a is not None and b is not None]

    @property
    @abstractmethod
    def output(self) -> str:
        """What the error of the preview is the error of."""

    def rows_of_each(self, statement: Statement) -> int:
        """One, whatever other questions use."""
        return 1

    def preview(self, statement: Statement, epsilons: Sequence[float] = EPSILONS) -> Preview:
        """By simulation on rows that nobody has."""
        people = max(1, statement.people)
        word = statement.unit_word
        notes = [learns_from(statement)]
        if statement.people > MOST_ROWS:
            notes.append(f"the model learns from about {MOST_ROWS:,} {word}s, drawn at random")
        filled = {CROWDED: NARROW, FULL: 1.0}
        bands = []
        for how, share in filled.items():
            errors = _simulated(self, people, share)
            at_each = tuple(error_at(errors, epsilon) for epsilon in epsilons)
            bands.append(Band(f"{self.output}, {how}", at_each, why=WHY))
        return Preview(tuple(bands), CONFIDENCE, 0.0, (WHY.rstrip("."), *notes), self.mechanism)

    def release(self, data: Data, epsilon: float, progress: Progress) -> Result:
        """Charged first; then one row of each unit is read, clamped by the estimator, and learnt from."""
        loss = self.charge(data, epsilon)
        progress(0.1)
        rows.reachable(data)

        def look() -> Result:
            table = self.read(data, progress)
            progress(0.6)
            result = self.fitted(table, epsilon, loss)
            progress(1.0)
            return replace(result, notes=(*result.notes, learns_from(data.statement)))

        return on_record(data, look)

    def draws(self, data: Data, epsilon: float, times: int, progress: Progress) -> Iterator[Result]:
        """Fits again and again to the same rows, read once."""
        loss = self.charge(Data(data.path, data.statement, None), epsilon)
        table = self.read(data, progress)
        for turn in range(times):
            progress(turn / times)
            yield self.fitted(table, epsilon, loss)

    def fitted(self, table: Table, epsilon: float, loss: Loss) -> Result:
        """What a private fit to these rows says."""
        model = self.estimator(epsilon).fit(*_given(table))
        series, drawn, taken = self.learnt(model), self.pictured(model), self.taken(model)
        written = self.written(model)
        return Result(self.drawn(), series, self.x_label, loss, CONFIDENCE, written, drawn=drawn, mechanism=taken)

    def charge(self, data: Data, epsilon: float) -> Loss:
        """What a fit costs, paid if there is a ledger."""
        from lapwing.models import Account

        unit = data.statement.unit_word
        if data.ledger is None:
            stated: Loss = self.estimator(epsilon).quote(columns=len(self.columns)).loss
            return type(stated)(stated.epsilon, unit=unit)  # type: ignore[attr-defined,call-arg]
        entered(data.ledger, data.statement)
        account = Account(data.ledger, DATASET, unit=unit)
        loss: Loss = self.estimator(epsilon, account).quote(columns=len(self.columns)).loss
        affordable(data.ledger, data.statement, loss)
        account.charge(loss)
        return loss

    @property
    def x_label(self) -> str:
        """What stands below the picture."""
        return self.columns[0].name if len(self.columns) == 1 else ""

    def read(self, data: Data, progress: Progress, *, everything: bool = False) -> Table:
        """One row of each unit, chosen by a salted hash of that unit's own rows; or every row."""
        names = [column.name for column in (*self.columns, *([self.target] if self.target else []))]
        sql = one_each(data.statement, names, everything=everything, text=self.as_text)
        with rows.opened(data, progress) as source:
            arrays = source.arrays(sql)
        X = np.column_stack([_doubles(arrays[f"c{i}"]) for i in range(len(self.columns))])
        return Table(X, self.labels(arrays[f"c{len(self.columns)}"]) if self.target else None)

    def labels(self, values: Any) -> Any:
        """The target as the estimator wants it."""
        return _doubles(values)

    def exact(self, data: Data, progress: Progress) -> Result:
        """scikit-learn on every row as it is; and on the rows and bounds of the private fit."""
        everything = self.complete(self.read(data, progress, everything=True))
        progress(0.4)
        plain = self.plainly(everything)
        series = self.learnt(plain)
        progress(0.7)
        low, high = np.array(self.bounds).T
        table = self.complete(self.clamped(self.read(data, progress)))
        after = self.learnt(self.plainly(Table(np.clip(table.X, low, high), table.y)))
        progress(1.0)
        beside = tuple(
            Series(f"{series.name} {AFTER}", series.values, series.measured_in, series.note) for series in after
        )
        shown = series if same(series, beside) else (*series, *beside)
        drawn = self.pictured(plain)
        return Result(self.drawn(), shown, self.x_label, None, CONFIDENCE, self.written(plain), drawn=drawn)

    def plainly(self, table: Table) -> Any:
        """What scikit-learn learns; what it has to say about the rows meanwhile is not for a log."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return self.reference().fit(*_given(table))
            except ValueError:
                why = "there are too few complete rows, or they are all alike"
                hint = "State other columns, or ask for a count first."
                raise InvalidParameter(
                    "columns", ", ".join(column.name for column in self.columns), why, hint
                ) from None

    def complete(self, table: Table) -> Table:
        """Without the rows that plain software cannot learn from."""
        full = np.isfinite(table.X).all(axis=1)
        full &= self.usable(table.y) if table.y is not None else True
        return Table(table.X[full], None if table.y is None else table.y[full])

    def usable(self, y: Any) -> NDArray[np.bool_]:
        """Which targets can be learnt from."""
        return np.asarray(np.isfinite(y))

    def clamped(self, table: Table) -> Table:
        """With the target within its bounds, if it has some."""
        if self.target is None or self.target.bounds is None or table.y is None:
            return table
        return Table(table.X, np.clip(table.y, *self.target.bounds))

    def script(self, statement: Statement, epsilon: float) -> str:
        """One row of each unit from the same file, the price, the fit, and what was learnt."""
        model = self.estimator(epsilon)
        target = ", y" if self.target else ""
        columns = [column.name for column in self.columns]
        named = f"[*columns, {self.target.name!r}]" if self.target else "columns"
        named += f", text=[{self.target.name!r}]" if self.target and self.as_text else ""
        lines = [
            "import numpy as np",
            f"from lapwing.models import Account, {type(model).__name__}",
            "",
            f"account = Account(ledger, {DATASET!r}, unit={statement.unit_word!r})",
            f"model = {type(model).__name__}(",
            *(f"    {name}={value}," for name, value in self.options(epsilon).items()),
            "    account=account,",
            ")",
            f"print(model.quote(columns={len(self.columns)}))",
            "",
            f"# One row of each {statement.unit_word}; the fit pays before it looks at the rows.",
            f"columns = {columns!r}",
            f"rows = table.raw_rows({named})",
            "X = np.column_stack([rows[name] for name in columns])",
            *([f"y = rows[{self.target.name!r}]"] if self.target else []),
            f"model.fit(X{target})",
            *self.printing(),
        ]
        return "\n".join(lines)

    @abstractmethod
    def options(self, epsilon: float) -> Mapping[str, str]:
        """The options of the estimator, as Python."""

    @abstractmethod
    def printing(self) -> tuple[str, ...]:
        """The lines that print what was learnt."""


def one_each(statement: Statement, names: Sequence[str], *, everything: bool = False, text: bool = False) -> str:
    """The statement that reads columns as c0, c1, …: one row of each unit, or all rows; the last as `text`."""
    read = [f"{forms.quoted(name)} AS c{i}" for i, name in enumerate(names)]
    if text:
        read[-1] = f"{forms.label_of(names[-1])} AS c{len(names) - 1}"
    share = min(1.0, MOST_ROWS / max(1, statement.people))
    part = "" if share == 1 else f" USING SAMPLE {100 * share:.6f} PERCENT (bernoulli)"
    if everything or not statement.unit:
        return f"SELECT {', '.join(read)} FROM rows{part}"
    unit, salt = forms.quoted(statement.unit), hashlib.sha256(SYSTEM.bits(256).to_bytes(32, "big")).hexdigest()
    contents = ", ".join(forms.quoted(name) for name in names)
    order = f"hash('{salt}', {unit}, {contents}), {contents}"
    place = f"row_number() OVER (PARTITION BY {unit} ORDER BY {order}) AS place"
    kept = f"hash('{salt} unit', {unit}) % 1000000 < {round(share * 1_000_000)}" if share < 1 else "true"
    inner = f"SELECT {', '.join(read)}, {place} FROM rows WHERE {unit} IS NOT NULL AND {kept}"
    return f"SELECT {', '.join(f'c{i}' for i in range(len(names)))} FROM ({inner}) WHERE place = 1"


def features(statement: Statement, but: Sequence[str] = ()) -> tuple[StatedColumn, ...]:
    """The columns that models learn from."""
    return tuple(column for column in statement.bounded if column.name not in but and column.name != statement.unit)


def many(statement: Statement, label: str, target: str = "") -> Field:
    """A field for several columns with bounds. It begins with one that is not the target, and needs one."""
    columns = forms.choices(features(statement))
    begins = next((name for name, _ in columns if name != target), "")
    hint = "More columns mean more noise."
    return Field("columns", label, columns if begins else (), begins, kind="many", hint=hint)


def learns_from(statement: Statement) -> str:
    """Which rows a model learns from."""
    if statement.unit:
        return f"the model learns from one row of each {statement.unit_word}"
    return "each row is a different person"


def _doubles(values: Any) -> Floats:
    return np.asarray(np.ma.filled(values.astype(float), np.nan))


def _given(table: Table) -> tuple[Any, ...]:
    return (table.X,) if table.y is None else (table.X, table.y)


@lru_cache(maxsize=256)
def _simulated(model: Model, people: int, share: float) -> tuple[float, ...]:
    """The errors at every epsilon. A model is a value of public parameters, so it can be remembered by."""
    tables: dict[int, tuple[Table, Any]] = {}

    def off(count: int, epsilon: float, entropy: Entropy) -> Sequence[float]:
        if count not in tables:
            table = model.made_up(count, synthetic.source(TABLE), share)
            tables[count] = table, model.reference().fit(*_given(table))
        table, plain = tables[count]
        return model.off(model.estimator(epsilon, seed=entropy).fit(*_given(table)), plain, table)

    return synthetic.errors(people, off, CONFIDENCE)
