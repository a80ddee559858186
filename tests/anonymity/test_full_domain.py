"""Full-domain generalisation: the answer is the best of all nodes, found without looking at all of them."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction
from typing import Any

import pytest
from cases import together
from hypothesis import given, settings
from hypothesis import strategies as some

from lapwing.anonymity import full_domain
from lapwing.anonymity.adult import ADULT_HIERARCHIES
from lapwing.anonymity.closeness import Closeness
from lapwing.anonymity.criteria import DistinctDiversity, EntropyDiversity, LargestShare
from lapwing.anonymity.full_domain import FullDomain
from lapwing.anonymity.hierarchies import Digits, Flat, Numbers, Ranges, Taxonomy
from lapwing.anonymity.measures import k_anonymity, t_closeness
from lapwing.datasets import adult
from lapwing.errors import InvalidParameter

WAYS = {
    "age": Ranges((5, 20)),
    "zip": Digits(3),
    "work": Taxonomy({"employed": ["Private", {"public": ["Federal", "State"]}], "not employed": ["Never"]}),
}
rows = some.fixed_dictionaries(
    {
        "age": some.one_of(some.none(), some.integers(0, 39)),
        "zip": some.sampled_from(["021", "022", "031", "110", "111"]),
        "work": some.sampled_from(["Private", "Federal", "State", "Never", None]),
        "ill": some.sampled_from(["flu", "cold"]),
    }
)
tables = some.lists(rows, min_size=6, max_size=40)


def kinds_of(table: list[dict[str, Any]], name: str) -> list[Any]:
    values = {row[name] for row in table}
    return sorted(values - {None}) + [None] * (None in values)


def every_node(table: list[dict[str, Any]], k: int, share: float, distinct: int = 1) -> dict[tuple[int, ...], tuple]:
    """By brute force, row by row: certainty, discernibility and class size of each node that suppresses few enough."""
    kinds = {name: kinds_of(table, name) for name in WAYS}
    ladders = {name: way.ladder(kinds[name]) for name, way in WAYS.items()}
    places = {name: {kind: ladders[name].place[i] for i, kind in enumerate(kinds[name])} for name in WAYS}
    found = {}
    for node in itertools.product(*(range(ladder.height + 1) for ladder in ladders.values())):
        steps = dict(zip(WAYS, node, strict=True))
        labels = [tuple(ladders[n].labels[steps[n], places[n][row[n]]] for n in WAYS) for row in table]
        sizes = Counter(labels)
        ills = Counter(one for one, _ in {(one, row["ill"]) for one, row in zip(labels, table, strict=True)})
        good = {one for one in sizes if sizes[one] >= k and ills[one] >= distinct}
        kept = [(row, one) for row, one in zip(table, labels, strict=True) if one in good]
        out = len(table) - len(kept)
        if out > Fraction(str(share)) * len(table):
            continue
        shares = sum(float(ladders[n].shares[steps[n], places[n][row[n]]]) for row, _ in kept for n in WAYS)
        found[node] = (
            (shares + 3 * out) / (3 * len(table)),
            sum(sizes[one] ** 2 for one in good) + out * len(table),
            len(kept) / len(good) / k if good else float("inf"),
        )
    return found


@settings(deadline=None, max_examples=25)
@given(tables, some.integers(1, 4), some.sampled_from([0, 0.1, 0.3]), some.sampled_from([1, 2]))
def test_the_answer_is_the_best_of_all_nodes(table: list[dict[str, Any]], k: int, share: float, distinct: int) -> None:
    nodes = every_node(table, k, share, distinct)
    criteria = [DistinctDiversity(sensitive="ill", least=2)] if distinct == 2 else []
    for place, loss in enumerate(full_domain.LOSSES):
        way = FullDomain(k=k, quasi_identifiers=WAYS, suppress=share, loss=loss, criteria=criteria)
        if not nodes:
            with pytest.raises(InvalidParameter, match="no way of generalising"):
                way.anonymise(table)
            continue
        found = way.anonymise(table)
        node = tuple(found.levels.values())
        assert nodes[node][place] == pytest.approx(min(losses[place] for losses in nodes.values()))
        assert getattr(found.losses, loss) == pytest.approx(nodes[node][place])
        lower = [one for one in nodes if not any(below(one, axis) in nodes for axis in range(3))]
        assert sorted(tuple(one.values()) for one in found.minimal) == sorted(lower)


def below(node: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return (*node[:axis], node[axis] - 1, *node[axis + 1 :])


@settings(deadline=None, max_examples=40)
@given(tables, some.sampled_from([0, 0.1, 0.5]))
def test_more_anonymity_never_costs_less(table: list[dict[str, Any]], share: float) -> None:
    ways = [FullDomain(k=k, quasi_identifiers=WAYS, suppress=share) for k in (1, 2, 3, 6)]
    found = [way.anonymise(table) for way in ways]
    for one, other in itertools.pairwise(found):
        assert one.losses.certainty <= other.losses.certainty + 1e-12
    for way, one in zip(ways, found, strict=True):
        assert len(one.suppressed) <= Fraction(str(share)) * len(table)
        assert one.k >= way.k or not len(one.rows)
        assert sorted([*one.rows, *one.suppressed]) == list(range(len(table)))
        assert list(one.columns["ill"]) == [table[row]["ill"] for row in one.rows]
        sizes = Counter(zip(*(one.columns[name] for name in WAYS), strict=True))
        assert sorted(sizes.values()) == sorted(one.classes.sizes)
        for i, row in enumerate(one.rows):
            for name, hierarchy in WAYS.items():
                if not (name == "age" and table[row]["age"] is None):
                    kinds = kinds_of(table, name)
                    ladder = hierarchy.ladder(kinds)
                    at = ladder.place[kinds.index(table[row][name])]
                    assert one.columns[name][i] == ladder.labels[one.levels[name], at]


def test_a_step_above_a_minimal_node_may_be_better() -> None:
    """At the bottom two rows are suppressed and lose everything; one step up they lose a little."""
    table = {"x": [0] * 4 + [100, 101]}
    ways = {"x": Ranges((2,))}
    found = FullDomain(k=2, quasi_identifiers=ways, suppress=0.5).anonymise(table)
    assert found.minimal == ({"x": 0},)
    assert found.levels == {"x": 1}
    assert not len(found.suppressed)


def test_among_equals_nobody_is_left_out() -> None:
    found = FullDomain(k=2, quasi_identifiers={"x": Flat()}, suppress=1).anonymise({"x": ["a", "b", "c"]})
    assert found.to_dict() == {"x": ["*", "*", "*"]}


def test_a_criterion_that_holds_below_may_fail_above_when_rows_are_suppressed() -> None:
    """Two rows that are all alike are suppressed; one step up they spoil the class of the others."""
    table = {"x": [1] * 10 + [2] * 2, "ill": ["flu", "cold"] * 5 + ["flu"] * 2}
    criteria = [LargestShare(sensitive="ill", most=0.55)]
    found = FullDomain(k=2, quasi_identifiers={"x": Ranges((10,))}, suppress=0.2, criteria=criteria).anonymise(table)
    assert found.levels == {"x": 0}
    assert found.suppressed.tolist() == [10, 11]


def test_the_mean_class_size_is_least_where_a_large_class_is_suppressed() -> None:
    """One step up in both columns ten rows fail together and two are left, a perfect class.

    Steps up in one column keep more rows, and a bound that forgets how many may be suppressed would stop there.
    """
    table = {"x": [4, 4] + [0] * 9 + [1], "y": [4, 4] + [0] * 4 + [1] * 6, "ill": list("xyxxyyxxxxyx")}
    ways = {"x": Ranges((2,)), "y": Ranges((2,))}
    criteria = [LargestShare(sensitive="ill", most=0.67)]
    way = FullDomain(k=2, quasi_identifiers=ways, suppress=0.9, loss="class_size", criteria=criteria)
    found = way.anonymise(table)
    assert found.levels == {"x": 1, "y": 1}
    assert found.losses.class_size == 1


def test_the_mean_class_size_counts_small_classes_too_before_it_stops() -> None:
    """Further up, classes that were suppressed may have become large enough: they count in the bound."""
    table = {
        "x": [2, 1, 1, 3, 1, 1, 0, 3, 0, 3],
        "y": [3, 1, 3, 2, 1, 3, 3, 2, 0, 2],
        "z": [0, 0, 3, 2, 0, 2, 2, 2, 2, 2],
        "ill": list("aabbaabaaa"),
    }
    criteria = [LargestShare(sensitive="ill", most=0.67)]
    ways = dict.fromkeys("xyz", Ranges((2,)))
    way = FullDomain(k=1, quasi_identifiers=ways, suppress=0.7, loss="class_size", criteria=criteria)
    assert way.anonymise(table).losses.class_size == pytest.approx(7 / 3)


def test_few_remembered_nodes_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    people = {name: values[:3000] for name, values in adult("test").items()}
    ways = {name: ADULT_HIERARCHIES[name] for name in ("age", "education", "occupation", "native_country")}
    found = []
    for remembered in (1, 200):
        monkeypatch.setattr(full_domain, "REMEMBERED", remembered)
        found.append(FullDomain(k=5, quasi_identifiers=ways, suppress=0.05).anonymise(people))
    one, other = found
    assert (one.levels, one.minimal, one.losses) == (other.levels, other.minimal, other.losses)
    assert k_anonymity(other.columns, list(ways)) >= 5


def test_the_census_is_anonymised_by_looking_at_few_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = []
    look = full_domain._Lattice.look
    monkeypatch.setattr(full_domain._Lattice, "look", lambda self, *at: looked.append(at) or look(self, *at))
    names = ("age", "education", "marital_status", "race", "sex")
    ways = {name: ADULT_HIERARCHIES[name] for name in names}
    found = FullDomain(k=5, quasi_identifiers=ways, suppress=0.01).anonymise(adult("test"), drop=["fnlwgt"])
    assert k_anonymity(found.columns, names) == found.k >= 5
    assert 0 < len(found.suppressed) <= 0.01 * 16281
    assert len(looked) < 6 * 4 * 3 * 2 * 2 / 2
    assert any(all(found.levels[name] >= one[name] for name in names) for one in found.minimal)


def test_suppression_and_closeness_together() -> None:
    people = {name: values[:2000] for name, values in adult("test").items()}
    criteria = [Closeness(sensitive="income", most=0.2), EntropyDiversity(sensitive="income", least=1.2)]
    ways = {"age": Ranges((10, 40)), "sex": None, "race": Flat()}
    found = FullDomain(k=5, quasi_identifiers=ways, suppress=0.05, criteria=criteria).anonymise(people)
    kept = {name: [people[name][row] for row in found.rows] for name in ("income",)}
    overall = people["income"].count(">50K") / 2000
    assert t_closeness({**found.columns, **kept}, list(ways), "income") <= 0.2 + abs(
        overall - kept["income"].count(">50K") / len(kept["income"])
    )
    assert 0 < len(found.suppressed) <= 100


@together(
    ("way", "why"),
    [
        ({"quasi_identifiers": ["x"]}, "needs levels"),
        ({"quasi_identifiers": {"x": Numbers()}}, "needs levels"),
        ({"quasi_identifiers": {"x": Flat()}, "suppress": 2}, "between 0 and 1"),
        ({"quasi_identifiers": {"x": Flat()}, "loss": "beauty"}, "not one of the options"),
        ({"quasi_identifiers": {"x": Flat()}, "k": 9}, "only 4 rows"),
        (
            {"quasi_identifiers": {"x": Flat()}, "criteria": [DistinctDiversity(sensitive="ill", least=3)]},
            "no way of generalising",
        ),
        ({"quasi_identifiers": {"x": Ranges(tuple(2**i for i in range(1, 1_001)))} | {"z": Digits(1000)}}, "ways to"),
    ],
)
def test_what_cannot_be_done_is_refused_with_a_hint(way: dict[str, Any], why: str) -> None:
    with pytest.raises(InvalidParameter, match=why) as caught:
        FullDomain(**{"k": 2, **way}).anonymise({"x": [1, 2, 3, 4], "ill": list("abab"), "z": ["0" * 1000] * 4})
    assert caught.value.hint
