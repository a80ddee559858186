"""Every exported estimator, made with whatever it must be told."""

from __future__ import annotations

import inspect
from typing import Any

from sklearn.base import BaseEstimator

import lapwing.models as models
from lapwing.models import GaussianNB, thresholds
from lapwing.models.estimator import PrivateEstimator

EXPORTED = [getattr(models, name) for name in models.__all__]
ESTIMATORS = [thing for thing in EXPORTED if inspect.isclass(thing) and issubclass(thing, PrivateEstimator)]
QUICK: dict[str, dict[str, Any]] = {
    "SGDClassifier": {"epochs": 2, "sampling": 0.2},
    "SGDRegressor": {"epochs": 2, "sampling": 0.2},
    "MLPClassifier": {"epochs": 2, "sampling": 0.2},
    "KMeans": {"n_clusters": 3},
    "PCA": {"n_components": 1},
    "SelectFeatures": {"k": 1},
    "OccamLearner": {"concepts": thresholds(1, [0.0, 1.0]), "classes": [0, 1]},
    "ParityLearner": {"classes": [0, 1]},
    "PrivateGridSearch": {
        "estimator": GaussianNB(bounds=(-10, 10), classes=[0, 1, 2], random_state=7),
        "param_grid": {"epsilon": [0.5, 1.0]},
    },
}


def made(kind: type, **more: Any) -> Any:
    """An estimator with everything it must be told."""
    known = inspect.signature(kind).parameters
    public = {"bounds": (-10, 10), "target_bounds": (-10, 10), "classes": [0, 1, 2], "random_state": 7}
    chosen = {**public, **QUICK.get(kind.__name__, {}), **more}
    return kind(**{name: value for name, value in chosen.items() if name in known})


def learnt(model: BaseEstimator) -> dict[str, Any]:
    """Everything that a fit leaves behind."""
    return {name: value for name, value in vars(model).items() if name.endswith("_") and not name.startswith("__")}
