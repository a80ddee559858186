"""Columns like those of libraries that the tests do without."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


class Column:
    """Like a column of pandas, polars or arrow: whole numbers become doubles in numpy once one is missing."""

    dtype = "Int64"

    def __init__(self, values: list[Any]) -> None:
        self.values = values

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array([math.nan if value is None else value for value in self.values])

    def to_list(self) -> list[Any]:
        return self.values
