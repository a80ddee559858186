"""Additive and Shamir sharing: exact answers, perfect secrecy by enumeration, and refusals that help."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product

import pytest
from cases import together
from hypothesis import given, settings
from hypothesis import strategies as st

from lapwing.anonymity.sharing import MERSENNE_61, AdditiveSharing, ShamirSharing, Share, Sharing, is_prime
from lapwing.errors import InvalidParameter
from lapwing.noise import Recorded, Reproducible

SMALL = 7
SCHEMES = [
    AdditiveSharing(parties=2),
    AdditiveSharing(parties=5, prime=2**127 - 1, largest=10**30),
    ShamirSharing(parties=2, threshold=2),
    ShamirSharing(parties=5, threshold=3),
    ShamirSharing(parties=4, threshold=4),
]


@pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
@given(a=st.integers(-(10**12), 10**12), b=st.integers(-(10**12), 10**12), seed=st.integers(0, 10**6))
@settings(max_examples=15, deadline=None)
def test_what_is_shared_and_added_comes_back_exactly(scheme: Sharing, a: int, b: int, seed: int) -> None:
    entropy = Reproducible(seed)
    left, right = scheme.share(a, entropy), scheme.share(b, entropy)
    assert scheme.reconstruct(left) == a
    assert scheme.reconstruct([x + y for x, y in zip(left, right, strict=True)]) == a + b
    assert scheme.reconstruct([3 * x - y * 2 for x, y in zip(left, right, strict=True)]) == 3 * a - 2 * b


def test_any_threshold_of_shamir_shares_suffice() -> None:
    scheme = ShamirSharing(parties=6, threshold=3)
    shares = scheme.share(-424_242, Reproducible(1))
    assert {scheme.reconstruct(some) for count in (3, 4, 5, 6) for some in combinations(shares, count)} == {-424_242}


def views(scheme: Sharing, secret: int, seen: tuple[int, ...], coins: int) -> Counter[tuple[int, ...]]:
    """How often each view of some parties arises over all the coins there are."""
    found: Counter[tuple[int, ...]] = Counter()
    for coin in product(range(SMALL), repeat=coins):
        shares = scheme.share(secret, Recorded(list(coin), word_bits=3))
        found[tuple(shares[party].value for party in seen)] += 1
    return found


@together(
    ("scheme", "coins"),
    [
        (AdditiveSharing(parties=2, prime=SMALL, largest=3), 1),
        (AdditiveSharing(parties=3, prime=SMALL, largest=3), 2),
        (ShamirSharing(parties=4, threshold=2, prime=SMALL, largest=3), 1),
        (ShamirSharing(parties=4, threshold=3, prime=SMALL, largest=3), 2),
    ],
)
def test_one_share_too_few_has_the_same_distribution_for_every_secret(scheme: Sharing, coins: int) -> None:
    for seen in combinations(range(scheme.parties), scheme.needed - 1):
        for secret in range(-3, 4):
            assert views(scheme, secret, seen, coins) == dict.fromkeys(product(range(SMALL), repeat=coins), 1)
    enough = tuple(range(scheme.needed))
    assert views(scheme, 0, enough, coins) != views(scheme, 1, enough, coins)


def test_too_few_foreign_and_repeated_shares_are_refused() -> None:
    scheme = ShamirSharing(parties=3, threshold=2)
    one, two, _three = scheme.share(5)
    with pytest.raises(InvalidParameter, match="2 are needed"):
        scheme.reconstruct([one])
    with pytest.raises(InvalidParameter, match="same party"):
        scheme.reconstruct([one, one])
    with pytest.raises(InvalidParameter, match="another field"):
        scheme.reconstruct(ShamirSharing(parties=3, threshold=2, prime=2**31 - 1, largest=10).share(5))
    with pytest.raises(InvalidParameter, match="another party"):
        one + two
    with pytest.raises(InvalidParameter, match="not multiplied"):
        one * two


def test_a_damaged_share_is_noticed_when_there_are_more_than_enough() -> None:
    scheme = ShamirSharing(parties=3, threshold=2)
    one, two, three = scheme.share(5)
    with pytest.raises(InvalidParameter, match="contradict"):
        scheme.reconstruct([one, two, Share(scheme, 3, (three.value + 1) % scheme.prime, three.limit)])


def test_numbers_that_might_leave_the_field_are_refused() -> None:
    scheme = AdditiveSharing(parties=2, prime=101, largest=30)
    with pytest.raises(InvalidParameter, match=r"between −30 and 30") as refused:
        scheme.share(31)
    assert "31" not in str(refused.value)
    share = scheme.share(30)[0]
    with pytest.raises(InvalidParameter, match="might not fit"):
        share + share
    with pytest.raises(InvalidParameter, match="might not fit"):
        share * 2
    with pytest.raises(InvalidParameter, match="whole number"):
        scheme.share(0.5)  # type: ignore[arg-type]


@together(
    ("wrong", "why"),
    [
        ({"prime": 91}, "not a prime"),
        ({"prime": 2, "largest": 1}, "exceed the number of parties"),
        ({"prime": 101}, "does not fit"),
        ({"parties": 1}, "at least 2"),
        ({"threshold": 5}, "from 2 to 4"),
        ({"threshold": 1}, "from 2 to 4"),
    ],
)
def test_schemes_that_cannot_work_are_refused(wrong: dict[str, int], why: str) -> None:
    with pytest.raises(InvalidParameter, match=why):
        ShamirSharing(**{"parties": 4, "threshold": 2, **wrong})


def test_primes_are_told_from_other_numbers() -> None:
    assert [n for n in range(120) if is_prime(n)] == [
        n for n in range(2, 120) if all(n % d for d in range(2, n))
    ]  # fmt: skip
    assert is_prime(MERSENNE_61)
    assert is_prime(2**127 - 1)
    assert not is_prime((2**31 - 1) * (2**61 - 1))
    assert not is_prime(3_215_031_751)  # passes with the bases 2, 3, 5 and 7


@pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
def test_shared_noise_changes_the_sum_by_its_scale(scheme: Sharing) -> None:
    entropy = Reproducible(3)
    total = scheme.share(1000, entropy)
    errors = []
    for _ in range(200):
        noise = scheme.noise(epsilon=1, sensitivity=10, entropy=entropy)
        errors.append(scheme.reconstruct([x + y for x, y in zip(total, noise, strict=True)]) - 1000)
    # The mean of |noise| is 10 within 0.1 %, its deviation 10; five deviations of the mean of 200.
    assert abs(sum(map(abs, errors)) / 200 - 10) < 5 * 10 / 200**0.5
    assert len(set(errors)) > 10


def test_a_share_does_not_show_its_value() -> None:
    share = AdditiveSharing(parties=2).share(5, Reproducible(1))[0]
    assert str(share.value) not in repr(share)
