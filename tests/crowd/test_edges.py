"""Where protocols were broken once: parameters that look alike, hostile bytes, doubles in lists, sizes without end."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pytest
from cases import together
from chance import assert_seldom

from lapwing.crowd import Answers, Counts, Reports, UnaryEncoding
from lapwing.crowd import hashing as h
from lapwing.crowd.association import associate
from lapwing.crowd.decoding import decode
from lapwing.crowd.local_hashing import LocalHashing
from lapwing.crowd.prefixes import PrefixExtension, TreeHist, seldom_above
from lapwing.crowd.rappor import OneTimeRappor, Rappor
from lapwing.crowd.unknown import UnknownDictionary
from lapwing.errors import InvalidParameter
from lapwing.noise import Reproducible

POLL = UnaryEncoding.from_epsilon(2, domain=3)
PAIR = "\ud83d\ude00"  # two lone surrogates; JSON writes "😀" the same way


@dataclass(frozen=True)
class Card:
    """A label of the user's own, whose text does not say which it is."""

    number: int

    def __str__(self) -> str:
        return "card"


def fingerprint(domain: Any) -> bytes:
    return UnaryEncoding.from_epsilon(1, domain=domain).fingerprint


def test_surrogates_are_not_the_character_they_would_make() -> None:
    assert fingerprint(["😀", "x"]) != fingerprint([PAIR, "x"])
    assert LocalHashing(epsilon=1, salt="😀").fingerprint != LocalHashing(epsilon=1, salt=PAIR).fingerprint


def test_labels_that_print_alike_are_told_apart() -> None:
    assert fingerprint([Card(1), Card(2)]) != fingerprint([Card(2), Card(1)])
    assert fingerprint([Card(1), Card(2)]) == fingerprint([Card(1), Card(2)])


@pytest.mark.parametrize("label", [object(), frozenset({"a", "b"}), len.__call__])
def test_labels_that_no_other_process_writes_alike_have_no_fingerprint(label: Any) -> None:
    with pytest.raises(InvalidParameter, match="every process"):
        _ = fingerprint([label, "x"])


def test_the_parts_of_a_protocol_belong_to_its_fingerprint_with_their_versions() -> None:
    class Later(OneTimeRappor):
        version: ClassVar[int] = 2

    Later.__name__ = "OneTimeRappor"
    made = [
        UnknownDictionary(whole=whole, fragment=OneTimeRappor(permanent_noise=0.5), alphabet="ab", length=4)
        for whole in (
            OneTimeRappor(permanent_noise=0.5),
            Later(permanent_noise=0.5),
            OneTimeRappor(permanent_noise=0.5, salt="61"),
            OneTimeRappor(permanent_noise=0.5, salt=b"a"),  # type: ignore[arg-type]
            Rappor(permanent_noise=0.5, one_if_set=0.75, one_if_unset=0.5),
        )
    ]
    assert len({protocol.fingerprint for protocol in made}) == len(made)
    assert made[1].parameters()["whole"]["version"] == 2


def test_sets_have_no_order_and_are_no_domains() -> None:
    with pytest.raises(InvalidParameter, match="order"):
        UnaryEncoding.from_epsilon(1, domain={"a", "b"})  # type: ignore[arg-type]


def test_a_table_of_answers_is_refused_because_a_row_is_one_person() -> None:
    with pytest.raises(InvalidParameter, match="one column"):
        Answers.of(np.zeros((3, 2), dtype=int))


@together("domain", [[1, "1"], [1.5, 2.5], ["a", 1.5], [True, "1"], [b"\xff", "a"], [None, math.inf]])
def test_a_hashed_domain_has_different_items(domain: Any) -> None:
    with pytest.raises(InvalidParameter, match="domain"):
        LocalHashing(epsilon=1, domain=domain, functions=2)
    assert LocalHashing(epsilon=1, domain=["a", None, 5], functions=2).domain == ("a", None, 5)


@pytest.mark.parametrize("selection", ["lasso", "none"])
def test_candidates_named_twice_do_not_share_a_count(selection: Any) -> None:
    protocol = OneTimeRappor(permanent_noise=0.5)
    state = protocol.absorb(None, protocol.randomize(["5"] * 1000, Reproducible(1)))
    once = decode(protocol, state, ["b", 5, "c"], selection=selection)
    twice = decode(protocol, state, ["b", 5, "c", "5", "b"], selection=selection)
    assert twice.labels == ["b", 5, "c", "5", "b"]
    for name in ("counts", "p_values", "population_standard_error", "sample_standard_error", "significant"):
        assert (getattr(twice, name) == getattr(once, name)[[0, 1, 2, 1, 0]]).all()


@together("candidates", [["a", "a"], [5, "5"], [1.5, "a"], "ab"])
def test_answers_that_are_associated_differ(candidates: Any) -> None:
    reports = OneTimeRappor(permanent_noise=0.5).randomize(["a"] * 10, Reproducible(1))
    with pytest.raises(InvalidParameter, match="candidates"):
        associate(reports, reports, ["a"], candidates)


def test_independence_of_what_never_varies_is_certain() -> None:
    protocol = OneTimeRappor(permanent_noise=0.5)
    reports = [protocol.randomize(["a"] * 50, Reproducible(i)) for i in (1, 2)]
    for candidates in ([], ["a"]):
        found = associate(*reports, candidates, ["a"], complete=bool(candidates), permutations=3)
        assert found.independence.p_value == 1
    with pytest.raises(InvalidParameter, match="complete"):
        associate(*reports, [], ["a"], complete=True)


def test_counts_too_large_for_their_type_are_refused_instead_of_wrapping_round() -> None:
    start = POLL.empty().to_bytes()[:20]
    largest = ((1 << 63) - 1).to_bytes(8, "little")
    few = Counts.from_bytes(POLL, start + (3).to_bytes(8, "little") + largest * 3)
    many = Counts.from_bytes(POLL, start + b"\xff" * 8 + bytes(24))
    assert (few + POLL.empty()) == few
    for one in (few, many):
        with pytest.raises(InvalidParameter, match="64 bits"):
            one.merge(one)


@together("data", ["LWR1", None, 5, [1, 2]])
def test_what_is_not_bytes_is_refused(data: Any) -> None:
    with pytest.raises(InvalidParameter, match="data"):
        Reports.from_bytes(POLL, data)


@together("n", [1 << 20, 1 << 40, (1 << 64) - 1])
def test_a_number_of_reports_that_is_not_there_allocates_nothing(n: int) -> None:
    data = POLL.randomize([0, 1]).to_bytes()
    with pytest.raises(InvalidParameter, match="length"):
        Reports.from_bytes(POLL, data[:20] + n.to_bytes(8, "little") + data[28:])


def test_one_place_is_one_report() -> None:
    reports = POLL.randomize([0, 1, 2], Reproducible(1))
    assert reports[1] == reports[1:2]
    assert reports[np.int64(-1)] == reports[2:]


def test_a_fake_takes_away_no_more_than_is_said() -> None:
    """Where ones are frequent, a report of zeros does more harm than one of ones."""
    poll = UnaryEncoding(domain=2, one_if_true=0.9, one_if_other=0.8)
    before, after = (poll.estimate(Counts(poll, n, np.array([80, 80]))) for n in (100, 101))
    assert before.counts[0] - after.counts[0] == pytest.approx(8)
    assert before.gain_per_fake == pytest.approx(8)


def test_intervals_of_a_confidence_next_to_one_are_finite() -> None:
    found = POLL.estimate(POLL.empty(), confidence=1 - Fraction(1, 10**20))  # type: ignore[arg-type]
    assert np.isfinite(found.interval(simultaneous=True)).all()


@pytest.mark.parametrize("length", [10**9, 10**30])
def test_sizes_without_end_are_refused_at_once(length: int) -> None:
    with pytest.raises(InvalidParameter):
        PrefixExtension(epsilon=1, alphabet="01", length=length)
    rappor = OneTimeRappor(permanent_noise=0.5)
    for piece, alphabet in ((2, "ab"), (length // 2, "ab"), (length // 2, "a")):
        with pytest.raises(InvalidParameter):
            UnknownDictionary(whole=rappor, fragment=rappor, alphabet=alphabet, length=length, fragment_length=piece)


def test_a_text_is_its_characters_whatever_it_prints_as() -> None:
    class Colour(str, enum.Enum):  # noqa: UP042 - prints as its name, unlike a StrEnum
        RED = "red"

    rappor = OneTimeRappor(permanent_noise=0.5)
    protocol = UnknownDictionary(whole=rappor, fragment=rappor, alphabet="der", length=4)
    plain, named = (protocol.randomize([text] * 9, Reproducible(1)) for text in ("red", Colour.RED))
    assert plain == named
    assert h.text_of(Colour.RED) == b"red"


# --- strings that nobody has -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "tree",
    [
        lambda salt: PrefixExtension(epsilon=4, alphabet="abcdefghij", length=4, keep=8, functions=64, salt=salt),
        lambda salt: TreeHist(
            epsilon=4, alphabet="abcdefghij", length=4, start=2, step=2, keep=8, functions=16, width=64, salt=salt
        ),
    ],
    ids=["prefix extension", "TreeHist"],
)
def test_where_all_have_one_string_no_other_is_named(tree: Any) -> None:
    """The collisions of one string are skew: intervals of a normal law named another in most collections."""
    false, runs = 0, 40
    for run in range(runs):
        protocol = tree(str(run))
        people = Answers.counted({"abcd": 100_000})
        found = protocol.estimate(protocol.absorb(None, protocol.randomize(people, Reproducible(run))))
        assert "abcd" in found.labels
        false += len(found) > 1
    assert_seldom(false, runs, 0.05)


@pytest.mark.parametrize("tree", [PrefixExtension, TreeHist])
def test_the_cells_of_a_string_add_up_to_its_estimate(tree: Any) -> None:
    protocol = tree(epsilon=2, alphabet="ab", length=1, functions=8)
    row = protocol.absorb(None, protocol.randomize(["a", "b", "c"] * 50, Reproducible(1))).table[-1]
    values, inner = protocol._values(row), protocol._protocol()
    found = inner.estimate(Counts(inner, int(row[-1]), row[:-1].reshape(inner.shape)), ["a", "b"])
    items, coefficients = h.hashed_items(["a", "b"], b""), h.rows(8, b"")
    cells = np.array([h.cells(items, coefficients[:, j], values.shape[1]) for j in range(8)])
    assert np.take_along_axis(values, cells, axis=1).sum(axis=0) == pytest.approx(found.counts)


def test_the_bound_of_sums_is_never_below_the_exact_one_and_not_far_above() -> None:
    """Binomial and Poisson-like sums: exact tails."""
    from scipy import stats

    for width, rows in ((2, 40), (56, 64), (56, 8192)):
        values = np.zeros((rows, width))
        values[:, 0] = 1
        for failure in (0.05, 1e-6):
            limit = seldom_above(values, failure)
            assert stats.binom.sf(math.floor(limit), rows, 1 / width) <= failure
            assert limit <= 1.35 * stats.binom.isf(failure, rows, 1 / width) + 1
    assert seldom_above(np.zeros((3, 2)), 0.05) == 0
