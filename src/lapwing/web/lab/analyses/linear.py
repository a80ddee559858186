"""Linear regression, by every method that `lapwing.models.LinearRegression` has."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from lapwing.errors import InvalidParameter
from lapwing.noise import Entropy
from lapwing.web.lab.analyses import forms, synthetic
from lapwing.web.lab.analyses.curated import CONFIDENCE
from lapwing.web.lab.analyses.models import MOST_COLUMNS, Model, Table, features, many
from lapwing.web.lab.analysis import Field
from lapwing.web.lab.result import Series, Shape, Value
from lapwing.web.lab.statement import StatedColumn, Statement

if TYPE_CHECKING:
    from lapwing.models import Account

METHODS = {
    "sufficient_statistics": "noise on sums of products (sufficient statistics)",
    "functional": "noise on the coefficients of the squared error (functional mechanism)",
    "output": "noise on the solution (output perturbation)",
}
FIRST = "sufficient_statistics"
PLACES = 21
"""Points of a drawn line."""


@dataclass(frozen=True, slots=True)
class Linear(Model):
    """A number from other numbers."""

    slug = "linear"
    title = "Linear regression"
    summary = "How a number depends on others: the straight line, or plane, that predicts it best."
    mechanism: ClassVar[str] = "noise on sums, on the loss or on the solution (lapwing.models.LinearRegression)"

    predicted: StatedColumn
    method: str = FIRST

    @classmethod
    def fields(cls, statement: Statement) -> tuple[Field, ...]:
        """What is predicted, from what, and how."""
        methods = tuple(METHODS.items())
        columns = forms.choices(features(statement))
        return (
            Field("target", "Predict", columns, columns[-1][0] if columns else ""),
            many(statement, "from"),
            Field("method", "by", methods, FIRST, titled=False),
        )

    @classmethod
    def of(cls, statement: Statement, form: Mapping[str, Any]) -> Self:
        """From a form."""
        target = forms.column(form, "target", features(statement), "bounds")
        columns = forms.columns(form, "columns", features(statement), "bounds", MOST_COLUMNS)
        if target in columns:
            why = "is the column to predict, and predicts itself perfectly"
            raise InvalidParameter("columns", target.name, why, "Choose other columns to predict it from.")
        return cls(columns, target, forms.choice(form, "method", tuple(METHODS)))

    @property
    def target(self) -> StatedColumn | None:
        """What is predicted."""
        return self.predicted

    def estimator(self, epsilon: float, account: Account | None = None, seed: Entropy | None = None) -> Any:
        """Of the library."""
        from lapwing.models import LinearRegression

        return LinearRegression(
            method=self.method,
            epsilon=epsilon,
            bounds=self.bounds,
            target_bounds=self.predicted.bounds,
            confidence=CONFIDENCE,
            account=account,
            random_state=seed,
        )

    def options(self, epsilon: float) -> Mapping[str, str]:
        """As Python."""
        return {
            "method": repr(self.method),
            "epsilon": repr(epsilon),
            "bounds": repr(self.bounds),
            "target_bounds": repr(self.predicted.bounds),
        }

    def printing(self) -> tuple[str, ...]:
        """Slopes with their intervals, where the line begins, and what noise hides."""
        slopes = "print(model.coef_, model.intercept_)"
        intervals = "print(model.coef_interval_)  # 95 % intervals of the slopes; nan where nothing can be said"
        hidden = "print(*model.notes_, sep='\\n')  # which slopes the noise may hide"
        return (slopes, intervals, hidden, "print(model.privacy_loss_)")

    def reference(self) -> Any:
        """Ordinary least squares."""
        from sklearn.linear_model import LinearRegression as Plain

        return Plain()

    def made_up(self, count: int, entropy: Entropy, share: float = 1.0) -> Table:
        """The target follows the columns by half."""
        X = synthetic.within(self.bounds, count, entropy, share)
        low, high = self.predicted.bounds or (0.0, 1.0)
        return Table(X, low + (high - low) * synthetic.leaning(X, self.bounds, entropy, share))

    def drawn(self) -> Shape:
        """A line for one column, bars for several."""
        return "curve" if len(self.columns) == 1 else "bars"

    @property
    def output(self) -> str:
        """The prediction, or what columns do to it."""
        name = self.predicted.name
        return f"predicted {name}" if len(self.columns) == 1 else f"effect on {name}"

    def learnt(self, model: Any) -> tuple[Series, ...]:
        """For one column the line; for several, what each does to the prediction along its bounds."""
        slopes, start = np.asarray(model.coef_, dtype=float), float(model.intercept_)
        if len(self.columns) == 1:
            places = np.linspace(*self.bounds[0], PLACES)
            values = tuple(Value(f"{x:g}", float(start + slopes[0] * x), x=float(x)) for x in places)
            return (Series(self.output, values),)
        ends = getattr(model, "coef_interval_", np.full((len(slopes), 2), np.nan))  # plain software has none
        values = tuple(
            _effect(column.name, float(slope) * width, (ends[i] * width).tolist())
            for i, (column, slope, width) in enumerate(zip(self.columns, slopes, _widths(self.bounds), strict=True))
        )
        note = f"how far {self.predicted.name} moves when the column goes from its lower to its upper bound"
        note += "; with a small budget, effects come out too small, because noise draws them towards 0"
        return (Series(self.output, values, note=note),)

    def written(self, model: Any) -> tuple[str, ...]:
        """The line as a formula, and which slopes the noise may hide."""
        slopes = np.asarray(model.coef_, dtype=float)
        terms = "".join(
            f" {'−' if slope < 0 else '+'} {abs(slope):.4g} · {column.name}"
            for slope, column in zip(slopes, self.columns, strict=True)
        )
        hidden = model.notes([column.name for column in self.columns]) if hasattr(model, "notes_") else ()
        return (f"{self.predicted.name} = {float(model.intercept_):.4g}{terms}", *hidden)


def _effect(name: str, value: float, ends: list[float]) -> Value:
    low, high = ends
    return Value(name, value) if math.isnan(low) else Value(name, value, low, high)


def _widths(bounds: list[tuple[float, float]]) -> list[float]:
    return [high - low for low, high in bounds]
