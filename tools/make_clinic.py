"""Write the bundled synthetic data set. Nobody in it exists; the numbers come from a fixed seed.

python tools/make_clinic.py > src/lapwing/datasets/clinic.csv
"""

from __future__ import annotations

import csv
import sys

import numpy as np

REGIONS = {"North": 0.27, "South": 0.22, "East": 0.18, "West": 0.16, "Coast": 0.11, "Islands": 0.06}
PEOPLE = 3000


def main() -> None:
    """Three thousand patients of an imaginary clinic, one row each."""
    chance = np.random.default_rng(20260815)  # noqa: TID251 - synthetic people need no cryptographic noise
    region = chance.choice(list(REGIONS), PEOPLE, p=list(REGIONS.values()))
    age = np.clip(
        np.where(chance.random(PEOPLE) < 0.3, chance.normal(31, 10, PEOPLE), chance.normal(57, 16, PEOPLE)), 0, 99
    )
    smoker = chance.random(PEOPLE) < np.where(age < 18, 0.02, np.where(region == "Coast", 0.31, 0.19))
    visits = 1 + chance.poisson(0.6 + age / 40 + smoker)
    cost = np.round(chance.lognormal(3.6, 0.7, PEOPLE) * visits, 2)
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["patient", "region", "age", "smoker", "visits", "cost"])
    for row in range(PEOPLE):
        out.writerow([10001 + row, region[row], int(age[row]), int(smoker[row]), visits[row], f"{cost[row]:.2f}"])


if __name__ == "__main__":
    main()
