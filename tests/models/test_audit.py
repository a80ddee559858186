"""The auditor attacks every estimator from outside: whole fits, a table without and with one extreme row."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from estimators import ESTIMATORS, learnt, made
from sweeps import few

from lapwing.adversary import audit
from lapwing.errors import NotPrivateWarning
from lapwing.models import DecisionTree, GaussianNB, StandardScaler
from lapwing.noise import Entropy, Reproducible
from lapwing.privacy import ApproxDP

FALSE_ALARM = 1e-6
SAMPLES = {"SGDClassifier": 300, "SGDRegressor": 300, "MLPClassifier": 200, "PrivateGridSearch": 400}
EXTREME = np.array([[10.0, 10.0, 10.0]])
"""A row at a corner of the bounds: nobody has more leverage."""
OTHERS = np.array([[0.0, 0.0, 0.0], [1.0, -1.0, 0.0]])
PAIR = ((OTHERS, np.array([0, 1])), (np.vstack([OTHERS, EXTREME]), np.array([0, 1, 1])))


def seen(model: Any) -> list[float]:
    """What an attacker looks at: predictions for the extreme row, and the first numbers that were learnt."""
    found: list[float] = []
    for method in ("predict_proba", "decision_function", "predict", "transform"):
        if hasattr(model, method):
            found += np.asarray(getattr(model, method)(EXTREME), dtype=float).ravel()[:3].tolist()
            break
    for value in learnt(model).values():
        if isinstance(value, (float, np.ndarray)) and np.asarray(value).dtype.kind in "fi":
            found += np.asarray(value, dtype=float).ravel()[:3].tolist()
    return found[:9]


def fits(kind: type, **more: Any) -> Any:
    def release(data: Any, entropy: Entropy) -> list[float]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotPrivateWarning)
            return seen(made(kind, **more, random_state=entropy).fit(*data))

    return release


def attacked(kind: type, times: int = 1, samples: int = 500) -> Any:
    """An audit of fits that spend so many times the epsilon that is claimed."""
    loss = made(kind).quote(columns=3).loss
    delta = float(loss.delta) if isinstance(loss, ApproxDP) else None
    return audit(
        fits(kind, epsilon=times * made(kind).epsilon),
        PAIR,
        samples=SAMPLES.get(kind.__name__, samples),
        claimed=loss,
        delta=delta,
        confidence=1 - FALSE_ALARM,
        entropy=Reproducible(11),
    )


@pytest.mark.parametrize("kind", few(ESTIMATORS, lambda kind: kind is GaussianNB), ids=lambda kind: kind.__name__)
def test_the_auditor_does_not_beat_what_a_fit_states(kind: type) -> None:
    found = attacked(kind)
    assert not found.caught, found.explain()


@pytest.mark.parametrize("kind", few([GaussianNB, DecisionTree, StandardScaler]), ids=lambda kind: kind.__name__)
def test_the_same_attack_catches_a_fit_that_spends_thirty_times_as_much(kind: type) -> None:
    """Not every model shows it from so few fits; what each can show is in its own tests, and replays see the rest."""
    assert attacked(kind, times=30).caught
