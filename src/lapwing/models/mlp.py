"""A small network trained by private gradient descent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lapwing.models.account import Account
from lapwing.models.sgd import DescentClassifier


class MLPClassifier(DescentClassifier):
    """A small neural network with ReLU units, trained by noisy gradient descent (DP-SGD).

    Privacy: (epsilon, delta), add_remove, one row. How many rows there are is not used.
    Accuracy: noise hides small gradients of many weights, so few units often do better than many.
    Proof: training.md

    Args:
        hidden: The number of units of each hidden layer, or a single number for one layer.

    >>> print(MLPClassifier(epsilon=2, bounds=(0, 1), classes=[0, 1]).quote(columns=2).loss)
    ε = 2, δ = 1e-06 (add_remove, per person)
    """

    def __init__(
        self,
        *,
        epsilon: Any = 1.0,
        delta: Any = 1e-6,
        hidden: Any = (32,),
        epochs: Any = 20,
        sampling: Any = 0.1,
        clip: Any = 1.0,
        learning_rate: Any = 0.03,
        bounds: Any = None,
        classes: Any = None,
        progress: Any = False,
        account: Account | None = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.hidden = hidden
        self.epochs = epochs
        self.sampling = sampling
        self.clip = clip
        self.learning_rate = learning_rate
        self.bounds = bounds
        self.classes = classes
        self.progress = progress
        self.account = account
        self.random_state = random_state

    def _hidden(self) -> Sequence[int]:
        return (self.hidden,) if np.ndim(self.hidden) == 0 else tuple(self.hidden)
