"""The three measures of what generalising costs: by hand, and as pycanon computes two of them."""

from __future__ import annotations

import numpy as np
import pytest

from lapwing.anonymity.full_domain import FullDomain
from lapwing.anonymity.hierarchies import Digits, Ranges, Taxonomy
from lapwing.anonymity.losses import average_class_size, certainty_penalty, discernibility
from lapwing.anonymity.mondrian import Mondrian
from lapwing.datasets import adult

PEOPLE = {
    "age": [21, 24, 25, 38, 39, 61],
    "zip": ["02138", "02138", "02139", "02141", "02142", "90210"],
    "ill": ["flu", "flu", "cold", "flu", "cold", "cold"],
}


def test_losses_of_a_small_table_by_hand() -> None:
    way = FullDomain(k=2, quasi_identifiers={"age": Ranges((10, 20)), "zip": Digits(5)}, suppress=0.2)
    table = way.anonymise(PEOPLE)
    assert table.to_dict()["age"] == ["20–29", "20–29", "20–29", "30–39", "30–39"]
    assert table.to_dict()["zip"] == ["0213*", "0213*", "0213*", "0214*", "0214*"]
    assert table.suppressed.tolist() == [5]
    assert table.k == 2
    # every published cell: 9 of 40 years, and 2 of 5 postcodes; the suppressed row loses both its cells
    assert table.losses.certainty == pytest.approx((5 * (9 / 40 + 2 / 5) + 2) / 12)
    assert table.losses.discernibility == 3**2 + 2**2 + 6
    assert table.losses.class_size == 5 / 2 / 2


def test_losses_of_a_taxonomy_and_of_sets_by_hand() -> None:
    tree = Taxonomy({"infection": ["flu", "cold"], "injury": ["burn", "cut", "break"]})
    table = Mondrian(k=3, quasi_identifiers={"age": None, "ill": tree}).anonymise(PEOPLE)
    assert table.to_dict()["age"] == ["21–25"] * 3 + ["38–61"] * 3
    assert set(table.to_dict()["ill"]) == {"infection"}
    assert table.losses.certainty == pytest.approx((4 / 40 + 2 / 5 + 23 / 40 + 2 / 5) / 4)
    table = Mondrian(k=6, quasi_identifiers=["zip"]).anonymise(PEOPLE)
    assert table.losses.certainty == 1
    assert table.losses.class_size == 1


def test_nothing_lost_and_everything_lost() -> None:
    sizes = np.array([1, 1, 1])
    assert (certainty_penalty(np.zeros((3, 2)), sizes), discernibility(sizes)) == (0, 3)
    none = np.array([], np.intp)
    assert certainty_penalty(np.zeros((0, 2)), none, suppressed=3) == 1
    assert discernibility(none, suppressed=3) == 9
    assert average_class_size(none, k=2) == float("inf")


@pytest.mark.parametrize("share", [0, 0.1])
def test_pycanon_measures_the_same(share: float) -> None:
    pandas = pytest.importorskip("pandas")
    pycanon = pytest.importorskip("pycanon.metrics")
    people = {name: values[:400] for name, values in adult("test").items()}
    ways = {"age": Ranges((10, 20, 40)), "sex": None, "race": None}
    table = FullDomain(k=4, quasi_identifiers=ways, suppress=share).anonymise(people)
    raw, names = pandas.DataFrame(people), list(ways)
    found = table.to_pandas().reset_index(drop=True)
    assert bool(share) == bool(len(table.suppressed))
    assert pycanon.discernability_metric(raw, found, names) == table.losses.discernibility
    assert pycanon.average_ecsize(raw, found, names) == pytest.approx(table.losses.class_size * 4 / table.k)
