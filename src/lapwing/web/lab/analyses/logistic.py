"""Logistic regression: which of the stated classes a row belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import InvalidParameter
from lapwing.noise import Entropy
from lapwing.web.lab.analyses import forms, grouping, synthetic
from lapwing.web.lab.analyses.models import MOST_COLUMNS, Model, Table, features, many
from lapwing.web.lab.analysis import Field
from lapwing.web.lab.result import Series, Shape, Value
from lapwing.web.lab.statement import StatedColumn, Statement

if TYPE_CHECKING:
    from lapwing.models import Account
    from lapwing.models.logistic import Method

METHODS = {
    "auto": "the best for this number of rows",
    "objective": "noise on the objective",
    "means": "noise on sums by class",
    "functional": "noise on the loss to second order (functional mechanism)",
}
PLACES = 21
MOST_CLASSES = 20


@dataclass(frozen=True, slots=True)
class Logistic(Model):
    """A class from numbers."""

    slug = "logistic"
    title = "Logistic regression"
    summary = "How likely each of the stated classes is, given some numbers."
    as_text: ClassVar[bool] = True

    predicted: StatedColumn
    method: Method = "auto"

    @classmethod
    def fields(cls, statement: Statement) -> tuple[Field, ...]:
        """What is predicted, from what, and how."""
        methods, usable = tuple(METHODS.items()), grouping.usable(statement)
        learnt_from = {column.name for column in features(statement)}
        able = [column.name for column in usable if _can_be_predicted(column) and learnt_from - {column.name}]
        target = next(iter(able), usable[0].name if usable else "")
        return (
            Field("target", "Predict", forms.choices(usable), target),
            many(statement, "from", target),
            Field("method", "by", methods, "auto", titled=False),
        )

    @classmethod
    def of(cls, statement: Statement, form: Mapping[str, Any]) -> Self:
        """From a form."""
        target = forms.column(form, "target", grouping.usable(statement), "keys")
        if not _can_be_predicted(target):
            why = f"has {len(grouping.values(target))} keys; a model needs 2 to {MOST_CLASSES} classes"
            raise InvalidParameter("target", target.name, why, "Choose another column.")
        columns = forms.columns(form, "columns", features(statement), "bounds", MOST_COLUMNS)
        if target in columns:
            why = "is the column to predict, and predicts itself perfectly"
            raise InvalidParameter("columns", target.name, why, "Choose other columns to predict it from.")
        method: Any = forms.choice(form, "method", tuple(METHODS))
        return cls(columns, target, method)

    @property
    def target(self) -> StatedColumn | None:
        """What is predicted."""
        return self.predicted

    @property
    def mechanism(self) -> str:
        """The method that was chosen, or between which the fit will choose."""
        either = "noise on the objective or on sums by class, whichever suits the noisy number of rows"
        return f"{METHODS[self.method] if self.method != 'auto' else either} (lapwing.models.LogisticRegression)"

    def taken(self, model: Any) -> str:
        """The method of the fit."""
        return f"{METHODS[model.method_]} (lapwing.models.LogisticRegression)"

    @property
    def classes(self) -> list[str]:
        """The stated keys as DuckDB writes them."""
        return [
            str(value).lower() if isinstance(value, bool) else str(value) for value in grouping.values(self.predicted)
        ]

    def estimator(self, epsilon: float, account: Account | None = None, seed: Entropy | None = None) -> Any:
        """Of the library."""
        from lapwing.models import LogisticRegression

        return LogisticRegression(
            method=self.method,
            epsilon=epsilon,
            bounds=self.bounds,
            classes=self.classes,
            account=account,
            random_state=seed,
        )

    def options(self, epsilon: float) -> Mapping[str, str]:
        """As Python."""
        return {
            "method": repr(self.method),
            "epsilon": repr(epsilon),
            "bounds": repr(self.bounds),
            "classes": repr(self.classes),
        }

    def printing(self) -> tuple[str, ...]:
        """Weights, and a prediction at the middle of the bounds."""
        middle = [(low + high) / 2 for low, high in self.bounds]
        return (
            "print(model.coef_, model.intercept_)",
            f"print(dict(zip(model.classes_.tolist(), model.predict_proba([{middle!r}])[0].tolist())))",
            "print(model.privacy_loss_)",
        )

    def labels(self, values: Any) -> Any:
        """Text, and None where there is no label."""
        return values.filled(None) if isinstance(values, np.ma.MaskedArray) else values

    def usable(self, y: Any) -> NDArray[np.bool_]:
        """Labels that are classes."""
        return np.asarray(np.isin(np.asarray([str(label) for label in y], dtype=str), self.classes))

    def reference(self) -> Any:
        """Without a penalty worth speaking of, after scaling."""
        from sklearn.linear_model import LogisticRegression as Plain
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        return make_pipeline(StandardScaler(), Plain(C=1e4, max_iter=500))

    def made_up(self, count: int, entropy: Entropy, share: float = 1.0) -> Table:
        """Every class is as frequent as the others, and goes with the columns."""
        X = synthetic.within(self.bounds, count, entropy, share)
        leaning = synthetic.leaning(X, self.bounds, entropy, share)
        order = np.empty(count, dtype=int)
        order[np.argsort(leaning)] = np.arange(count) * len(self.classes) // count
        return Table(X, np.array(self.classes)[order])

    def drawn(self) -> Shape:
        """A curve for one column, bars for several."""
        return "curve" if len(self.columns) == 1 else "bars"

    @property
    def output(self) -> str:
        """Of the second of two classes, or of any of more."""
        what = "predicted probability of" if len(self.columns) == 1 else "effect on the predicted probability of"
        return f"{what} {self._called(self.classes[1]) if len(self.classes) == 2 else self.predicted.name}"

    def learnt(self, model: Any) -> tuple[Series, ...]:
        """How likely each class is along the one column; or what each column does to that along its bounds."""
        shown = self.classes[1:] if len(self.classes) == 2 else self.classes
        if len(self.columns) == 1:
            places = np.linspace(*self.bounds[0], PLACES)
            curves = self._probabilities(model, places[:, None])
            return tuple(
                Series(
                    f"probability of {self._called(name)}",
                    tuple(Value(f"{x:g}", float(p), x=float(x)) for x, p in zip(places, curves[name], strict=True)),
                )
                for name in shown
            )
        middle = np.array([(low + high) / 2 for low, high in self.bounds])
        ends = np.repeat(middle[None], 2 * len(self.columns), axis=0)
        for i, bounds in enumerate(self.bounds):
            ends[2 * i : 2 * i + 2, i] = bounds
        curves = self._probabilities(model, ends)
        note = "how far the probability moves from the lower to the upper bound of a column, the others in the middle"
        return tuple(
            Series(
                f"effect on the probability of {self._called(name)}",
                tuple(
                    Value(column.name, float(curves[name][2 * i + 1] - curves[name][2 * i]))
                    for i, column in enumerate(self.columns)
                ),
                note=note,
            )
            for name in shown
        )

    def _called(self, name: str) -> str:
        return f"{self.predicted.name} = {name}"

    def _probabilities(self, model: Any, X: Any) -> dict[str, Any]:
        """By class; a class that the model never saw has none."""
        by_class = dict(zip(map(str, model.classes_), model.predict_proba(X).T, strict=True))
        return {name: by_class.get(name, np.zeros(len(X))) for name in self.classes}

    def written(self, model: Any) -> tuple[str, ...]:
        """Nothing that the picture and the label do not say."""
        return ()


def _can_be_predicted(column: StatedColumn) -> bool:
    return 2 <= len(grouping.values(column)) <= MOST_CLASSES
