"""k-means: cluster centres, so that most rows are near one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from lapwing.errors import InvalidParameter
from lapwing.noise import Entropy
from lapwing.web.lab.analyses import forms, synthetic
from lapwing.web.lab.analyses.models import MOST_COLUMNS, Model, Table, features, many
from lapwing.web.lab.analysis import Field
from lapwing.web.lab.result import Series, Shape, Value
from lapwing.web.lab.statement import Statement

if TYPE_CHECKING:
    from lapwing.models import Account

MOST = 20
DISTANCE = "distance from a row to its centre"
SEED = 1


@dataclass(frozen=True, slots=True)
class Clusters(Model):
    """Centres in the plane or in more dimensions."""

    slug = "kmeans"
    title = "k-means"
    summary = "A few centres such that every row is close to one of them."

    count: int = 3

    @classmethod
    def fields(cls, statement: Statement) -> tuple[Field, ...]:
        """Of which columns, and how many."""
        return (many(statement, "Clusters of"), Field("clusters", "How many", value="3", kind="number"))

    @classmethod
    def of(cls, statement: Statement, form: Mapping[str, Any]) -> Self:
        """From a form."""
        columns = forms.columns(form, "columns", features(statement), "bounds", MOST_COLUMNS)
        if len(columns) < 2:
            why = "is only one column"
            raise InvalidParameter(
                "columns", columns[0].name, why, "Choose two columns or more, or ask for a histogram."
            )
        return cls(columns, forms.whole(form, "clusters", 2, MOST, 3))

    @property
    def mechanism(self) -> str:
        """Two steps."""
        return "noise on a histogram, then on sums around each centre (lapwing.models.KMeans)"

    def estimator(self, epsilon: float, account: Account | None = None, seed: Entropy | None = None) -> Any:
        """Of the library."""
        from lapwing.models import KMeans

        return KMeans(self.count, epsilon=epsilon, bounds=self.bounds, account=account, random_state=seed)

    def options(self, epsilon: float) -> Mapping[str, str]:
        """As Python."""
        return {"n_clusters": repr(self.count), "epsilon": repr(epsilon), "bounds": repr(self.bounds)}

    def printing(self) -> tuple[str, ...]:
        """The centres."""
        return ("print(model.cluster_centers_)", "print(model.privacy_loss_)")

    def reference(self) -> Any:
        """Lloyd's algorithm, always from the same starts."""
        from sklearn.cluster import KMeans as Plain

        return Plain(self.count, n_init=5, random_state=SEED)

    def made_up(self, count: int, entropy: Entropy, share: float = 1.0) -> Table:
        """Rows in as many heaps as there are to be centres."""
        return Table(synthetic.gathered(self.bounds, count, self.count, entropy, share))

    def drawn(self) -> Shape:
        """Points for two columns, a table for more."""
        return "points" if len(self.columns) == 2 else "table"

    @property
    def x_label(self) -> str:
        """The first of two columns."""
        return self.columns[0].name if len(self.columns) == 2 else "centre"

    def learnt(self, model: Any) -> tuple[Series, ...]:
        """The centres, from left to right."""
        centres = self._centres(model)
        centres = centres[np.lexsort(centres.T[::-1])]
        first = 1 if len(self.columns) == 2 else 0
        return tuple(
            Series(
                f"centres: {column.name}",
                tuple(
                    Value(f"centre {k + 1}", float(centre[i]), x=float(centre[0]) if first else None)
                    for k, centre in enumerate(centres)
                ),
            )
            for i, column in enumerate(self.columns)
            if i >= first
        )

    @property
    def output(self) -> str:
        """Single centres may swap places; how far rows are from theirs is what can be compared."""
        return DISTANCE

    def off(self, private: Any, plain: Any, table: Table) -> Sequence[float]:
        """By how much rows are farther from the private centres, in the unit of the columns."""
        far, near = (self._distance(model, table) for model in (private, plain))
        return [max(0.0, far - near)]

    def _centres(self, model: Any) -> synthetic.Floats:
        """Within the bounds, where private ones may lie outside: rows are clamped to them anyway."""
        from lapwing.models import KMeans

        centres = np.asarray(model.cluster_centers_, dtype=float)
        return np.clip(centres, *np.array(self.bounds).T) if isinstance(model, KMeans) else centres

    def _distance(self, model: Any, table: Table) -> float:
        """The root of the mean squared distance from a row to the nearest centre."""
        apart = table.X[:, None, :] - self._centres(model)[None]
        return float(np.sqrt((apart**2).sum(axis=2).min(axis=1).mean()))

    def written(self, model: Any) -> tuple[str, ...]:
        """What cannot be said."""
        from lapwing.models import KMeans

        if isinstance(model, KMeans):
            return ("which row belongs to which centre is not released, because it would reveal each row",)
        return ()
