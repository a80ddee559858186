"""Labelled encryption is right, refuses what is unsafe, and its servers see masks; programs on rows of Adult."""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from cases import together

from lapwing.datasets import adult
from lapwing.errors import InvalidParameter, MissingExtra
from lapwing.mechanisms import Laplace
from lapwing.noise import Recorded, Reproducible
from lapwing.pair import paillier
from lapwing.pair.labelled import Answer, KeyServer, LabelledPair, Labels, OneHot, Upload
from lapwing.pair.labelled_programs import ADULT, AGES, RACES, SEXES, age_ranges, frequent_ages, race_by_sex, records
from lapwing.pair.paillier import KEY_BITS, PaillierKey, PaillierSecret

SHORT = 192
ROWS = 24


@cache
def secret() -> PaillierSecret:
    return PaillierSecret.generate(SHORT, unsafe=True)


@cache
def pair(label_bits: int | None = None, rows: int = ROWS) -> LabelledPair:
    return LabelledPair.collect(records(adult("train"), rows), ADULT, bits=256, label_bits=label_bits, unsafe=True)


@cache
def people(rows: int = ROWS) -> list[dict[str, Any]]:
    return list(records(adult("train"), rows))


def seeded(servers: LabelledPair) -> LabelledPair:
    """The same rows; both servers draw what tests can draw again."""
    return replace(
        servers,
        analytics=replace(servers.analytics, entropy=Reproducible(1)),
        keys=replace(servers.keys, entropy=Reproducible(2)),
    )


def without_noise(answer: Answer, epsilon: int, sensitivity: int) -> list[int]:
    """What is left when the draws of both servers are taken off."""
    length = len(answer.counts)
    noise = Laplace(epsilon=epsilon, sensitivity=sensitivity, dimensions=length, on_grid=True, relation="replace")
    draws = [noise.release([0] * length, Reproducible(seed)) for seed in (1, 2)]
    assert all(any(some) for some in draws), "both servers add noise"
    return [count - first - second for count, first, second in zip(answer.counts, *draws, strict=True)]


def test_paillier_adds_and_multiplies_by_known_numbers() -> None:
    key, opened = secret().key, secret().decrypt
    assert int(key.modulus).bit_length() == SHORT
    for left, right in itertools.product((0, 1, 7, int(key.modulus) - 1), repeat=2):
        first, second = key.encrypt(left), key.encrypt(right)
        assert opened(first) == left
        assert opened(key.add(first, second)) == (left + right) % key.modulus
        assert opened(key.add(first, key.plain(right))) == (left + right) % key.modulus
        assert opened(key.times(first, right)) == left * right % key.modulus
    assert key.encrypt(1) != key.encrypt(1)


@together("label_bits", [None, 64])
def test_products_are_right_for_all_bits(label_bits: int | None) -> None:
    encoding = OneHot({"x": (1,), "y": (1,)})
    table = [{"x": x, "y": y} for x, y in itertools.product((0, 1), repeat=2)]
    for rows in ([], *([row] for row in table), table, table[3:] * 3):
        servers = LabelledPair.collect(rows, encoding, bits=256, label_bits=label_bits, unsafe=True)
        masked = servers.analytics.product_sums([(0, 1), (0, 0)], [0, -5])
        opened = servers.keys.open_products(masked.numbers, [(0, 1), (0, 0)], [0, 3])
        both, first = sum(row["x"] & row["y"] for row in rows), sum(row["x"] for row in rows)
        assert masked.unmasked(opened, int(servers.analytics.labels.key.modulus)) == [both, first - 2]


@together("label_bits", [None, 64])
def test_the_programs_answer_exactly_but_for_the_noise_of_both_servers(label_bits: int | None) -> None:
    ages = Counter(person["age"] for person in people())
    ranges = age_ranges(seeded(pair(label_bits)), 50)
    assert without_noise(ranges, 50, 100) == [sum(ages[age] for age in AGES if age <= limit) for limit in AGES]
    frequent, histogram = frequent_ages(seeded(pair(label_bits)), 1)
    assert without_noise(histogram, 1, 2) == [ages[age] for age in AGES]
    noisy = dict(zip(AGES, histogram.counts, strict=True))
    assert sorted(noisy.values(), reverse=True)[:5] == [noisy[age] for age in frequent]
    crossed = race_by_sex(seeded(pair(label_bits)), 1)
    cells = Counter((person["race"], person["sex"]) for person in people())
    assert without_noise(crossed, 1, 2) == [cells[cell] for cell in itertools.product(RACES, SEXES)]
    for answer, epsilon in ((ranges, 50), (histogram, 1), (crossed, 1)):
        assert (answer.loss.epsilon, answer.loss.relation) == (epsilon, "replace")


def test_the_most_frequent_ages_are_found_when_epsilon_is_large() -> None:
    ages = Counter(person["age"] for person in people())
    frequent, _ = frequent_ages(pair(), 500)
    assert sorted(ages.values(), reverse=True)[:5] == [ages[age] for age in frequent]


@together(
    ("program", "moved"),
    [(age_ranges, 100), (lambda servers, epsilon: frequent_ages(servers, epsilon)[1], 2), (race_by_sex, 2)],
)
def test_a_program_pays_for_what_the_worst_replaced_row_moves(
    program: Callable[[LabelledPair, int], Answer], moved: int
) -> None:
    """No pair of rows moves more, and one moves as much: the stated noise fits."""
    rows = [
        {"age": 1, "race": RACES[0], "sex": SEXES[0]},
        {"age": 100, "race": RACES[1], "sex": SEXES[1]},
        {"age": None, "race": "unheard of", "sex": SEXES[0]},
    ]
    answers = [
        without_noise(program(seeded(LabelledPair.collect([row], ADULT, bits=SHORT, unsafe=True)), 1), 1, moved)
        for row in rows
    ]
    distances = [
        sum(abs(a - b) for a, b in zip(left, right, strict=True)) for left, right in itertools.combinations(answers, 2)
    ]
    assert max(distances) == moved


@pytest.mark.sweep
@pytest.mark.parametrize("label_bits", [None, 64])
def test_a_key_of_the_real_length_gives_the_same_answers(label_bits: int | None) -> None:
    encoding = OneHot({"race": RACES, "sex": SEXES})
    servers = seeded(LabelledPair.collect(people(6), encoding, label_bits=label_bits))
    assert int(servers.keys.secret.key.modulus).bit_length() == KEY_BITS
    cells = Counter((person["race"], person["sex"]) for person in people(6))
    assert without_noise(race_by_sex(servers, 1), 1, 2) == [cells[cell] for cell in itertools.product(RACES, SEXES)]


def test_the_key_server_sees_the_same_for_all_that_was_computed_over_all_masks_and_blinding() -> None:
    """With a key so small that everything can be listed. A mask without fresh blinding is found out."""
    key = PaillierKey(15)
    units = [number for number in range(1, 15) if number % 3 and number % 5]
    computed = [key.encrypt(number, Recorded([unit], 4)) for number in range(15) for unit in units]
    tapes = list(itertools.product(range(15), units))

    def seen(total: int, *, fresh: bool) -> Counter[int]:
        hidden = (key.encrypt(mask, Recorded([unit], 4)) if fresh else key.plain(mask) for mask, unit in tapes)
        return Counter(int(key.add(total, number)) for number in hidden)

    assert len({frozenset(seen(total, fresh=True).items()) for total in computed}) == 1
    assert len({frozenset(seen(total, fresh=False).items()) for total in computed}) == len(units)


def test_neither_server_is_sent_a_number_that_repeats() -> None:
    groups, zeros = [[0], [0]], [0, 0]
    analytics, keys = pair().analytics, pair().keys
    sums = [number for _ in range(3) for number in analytics.sums(groups, zeros).numbers]
    products = [number for _ in range(3) for number in analytics.product_sums([(0, 1)], [0]).numbers]
    assert len(set(sums)) == len(sums)
    assert len(set(products)) == len(products)
    opened = keys.open_sums(sums[:2], groups, zeros)
    assert all(number > 1 << 64 for number in opened), "what the key server opens is masked"


def test_an_upload_hides_its_row_from_those_without_the_seed() -> None:
    labels = Labels(secret().key)
    first, again, other = (Upload.encrypt(row, labels) for row in ([0, 1], [0, 1], [1, 0]))
    numbers = [cell.padded for upload in (first, again, other) for cell in upload.cells]
    assert len(set(numbers)) == 6
    assert all(int(number).bit_length() > 100 for number in numbers)
    server = KeyServer.of(labels, secret(), [first.seed])
    assert [
        (cell.padded - labels.pad(server.seeds[0], i)) % secret().key.modulus for i, cell in enumerate(first.cells)
    ] == [0, 1]
    assert len({labels.pad(seed, column) for seed in (0, 1) for column in (0, 1)}) == 4


def test_a_value_outside_the_domain_is_counted_nowhere() -> None:
    assert sum(ADULT.cells({"age": 200, "race": None})) == 0
    assert sum(ADULT.cells(people()[0])) == 3
    assert ADULT.width == len(ADULT.cells({})) == 107
    assert list(ADULT.columns("sex")) == [105, 106]
    with pytest.raises(InvalidParameter, match="race"):
        ADULT.columns("rase")


def test_short_keys_must_be_called_unsafe() -> None:
    for bits in (SHORT, 1024, KEY_BITS - 2):
        with pytest.raises(InvalidParameter, match="can be factored"):
            PaillierSecret.generate(bits)
    for bits in (SHORT - 2, SHORT + 1):
        with pytest.raises(InvalidParameter, match="too short for a seed, or odd"):
            PaillierSecret.generate(bits, unsafe=True)
    for label_bits in (63, 65, 0):
        with pytest.raises(InvalidParameter):
            Labels(secret().key, label_bits)


def test_without_gmpy2_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    paillier._gmp.cache_clear()
    monkeypatch.setitem(sys.modules, "gmpy2", None)
    with pytest.raises(MissingExtra, match="labhe"):
        PaillierSecret.generate(SHORT, unsafe=True)
    paillier._gmp.cache_clear()
