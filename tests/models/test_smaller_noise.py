"""A delta that does not help is not used: for the same guarantee, the noise with the smaller stated error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import together

from lapwing.errors import InvalidParameter, LapwingError
from lapwing.models import Account, DecisionTree, GaussianNB, QuantileTransformer, StandardScaler
from lapwing.privacy import ZCDP, ApproxDP, Ledger, PureDP

MAKERS: dict[str, Any] = {
    "scaler": lambda **more: StandardScaler(bounds=(0, 1), **more),
    "naive Bayes": lambda **more: GaussianNB(bounds=(0, 1), classes=[0, 1], **more),
    "quantiles": lambda **more: QuantileTransformer(bounds=(0, 1), **more),
    "random tree": lambda **more: DecisionTree(method="random", bounds=(0, 1), classes=[0, 1], **more),
}
ROWS = np.random.default_rng(3).random((200, 3))
CLASSES = (ROWS[:, 0] > 0.5).astype(int)


def error(make: Any, columns: int, **more: Any) -> float:
    return float(make(**more)._recipe(columns, None).error)


@pytest.mark.parametrize("name", MAKERS)
@together("epsilon", [0.01, 1, 5])
@together("delta", [1e-12, 1e-6, 0.1])
def test_a_delta_makes_no_stated_error_larger(name: str, epsilon: float, delta: float) -> None:
    make, used = MAKERS[name], set()
    for columns in (1, 2, 5, 20, 100):
        without, given = error(make, columns, epsilon=epsilon), error(make, columns, epsilon=epsilon, delta=delta)
        assert given <= without
        loss = make(epsilon=epsilon, delta=delta).quote(columns).loss
        assert loss == (PureDP(epsilon) if given == without else ApproxDP(epsilon, delta))
        used.add(type(loss))
    if delta == 1e-6 and epsilon == 1 and name != "random tree":
        assert used == {PureDP, ApproxDP}  # few columns and many


@pytest.mark.parametrize("name", MAKERS)
def test_a_fit_with_a_delta_that_is_not_used_is_the_fit_without(name: str) -> None:
    fits = [MAKERS[name](epsilon=1, random_state=5, **more).fit(ROWS, CLASSES) for more in ({}, {"delta": 1e-6})]
    learnt = [{key: value for key, value in vars(fit).items() if key.endswith("_")} for fit in fits]
    assert learnt[0].keys() == learnt[1].keys()
    for key, value in learnt[0].items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(value, learnt[1][key])
    assert fits[0].privacy_loss_ == fits[1].privacy_loss_ == PureDP(1)


def test_what_is_not_used_is_not_charged(tmp_path: Any) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.open("people", ApproxDP(3, 1e-5, unit="person"))
    account = Account(ledger, "people")
    StandardScaler(bounds=(0, 1), epsilon=1, delta=1e-6, account=account).fit(ROWS)
    left: Any = account.remaining()
    assert (left.epsilon, float(left.delta)) == (2, pytest.approx(1e-5, rel=1e-9))


@pytest.mark.parametrize("name", MAKERS)
def test_rho_stays_rho_and_a_wrong_delta_is_refused(name: str) -> None:
    assert MAKERS[name](epsilon=None, rho=0.5).quote(3).loss == ZCDP(0.5)
    with pytest.raises(InvalidParameter, match="delta"):
        MAKERS[name](epsilon=1, delta=2).quote(3)
    with pytest.raises(LapwingError, match="one way"):
        MAKERS[name](epsilon=1, delta=1e-6, rho=0.5).quote(3)
