"""Linear regression, by every method that `lapwing.models.LinearRegression` has."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

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
COEFFICIENT = "coefficient"
PLACES = 21
"""Points of a drawn line."""


@dataclass(frozen=True, slots=True)
class Linear(Model):
    """A number from other numbers."""

    slug = "linear"
    title = "Linear regression"
    summary = "How a number depends on others: the straight line, or plane, that predicts it best."
    predicted: StatedColumn
    method: str = FIRST

    @classmethod
    def fields(cls, statement: Statement) -> tuple[Field, ...]:
        """What is predicted, from what, and how."""
        methods = tuple(METHODS.items())
        columns = forms.choices(features(statement))
        target = columns[-1][0] if columns else ""
        return (
            Field("target", "Predict", columns, target),
            many(statement, "from", target),
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

    @property
    def mechanism(self) -> str:
        """The method that was chosen."""
        return f"{METHODS[self.method]} (lapwing.models.LinearRegression)"

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
        """Where the line begins, and a slope of each column with its interval, where the library knows one."""
        slopes = np.asarray(model.coef_, dtype=float)
        named = (f"slope of {column.name}" for column in self.columns)
        values = [_with_ends(*line) for line in zip(named, slopes.tolist(), _ends(model).tolist(), strict=True)]
        return (Series(COEFFICIENT, (Value("intercept", float(model.intercept_)), *values), note=self.equation(model)),)

    def pictured(self, model: Any) -> tuple[Series, ...]:
        """For one column the line; for several, what each does to the prediction along its bounds."""
        slopes, start = np.asarray(model.coef_, dtype=float), float(model.intercept_)
        if len(self.columns) == 1:
            places = np.linspace(*self.bounds[0], PLACES)
            values = tuple(Value(f"{x:g}", float(start + slopes[0] * x), x=float(x)) for x in places)
            return (Series(self.output, values),)
        widths = np.array([high - low for low, high in self.bounds])
        names = [column.name for column in self.columns]
        moved = zip(names, (slopes * widths).tolist(), (_ends(model) * widths[:, None]).tolist(), strict=True)
        note = f"how far {self.predicted.name} moves when the column goes from its lower to its upper bound"
        note += "; with a small budget, effects come out too small, because noise draws them towards 0"
        return (Series(self.output, tuple(_with_ends(*line) for line in moved), note=note),)

    def equation(self, model: Any) -> str:
        """The line as a formula, and which slopes the noise may hide."""
        slopes = np.asarray(model.coef_, dtype=float)
        terms = "".join(
            f" {'−' if slope < 0 else '+'} {abs(slope):.4g} · {column.name}"
            for slope, column in zip(slopes, self.columns, strict=True)
        )
        hidden = model.notes([column.name for column in self.columns]) if hasattr(model, "notes_") else ()
        formula = f"{self.predicted.name} = {float(model.intercept_):.4g}{terms}".replace("= -", "= −")
        return ". ".join((formula, *hidden)).rstrip(".")

    def written(self, model: Any) -> tuple[str, ...]:
        """What the errors of slopes are about."""
        if np.isnan(_ends(model)).all():
            return ()
        return (
            "the error of a slope covers the noise, and that these rows are a sample",
            "no error of the intercept is known",
        )


def _ends(model: Any) -> synthetic.Floats:
    """The interval of each slope; plain software has none."""
    return np.asarray(getattr(model, "coef_interval_", np.full((len(model.coef_), 2), np.nan)), dtype=float)


def _with_ends(name: str, value: float, ends: list[float]) -> Value:
    low, high = ends
    return Value(name, value) if math.isnan(low) else Value(name, value, low, high)
