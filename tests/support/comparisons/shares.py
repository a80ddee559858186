"""Secrets in two shares, what a server sees of them, and noise made of coins."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

from browser import Call

from lapwing.anonymity.sharing import AdditiveSharing
from lapwing.noise import Reproducible
from lapwing.pair.joint_noise import JointLaplace

RING = 10
EPSILONS = (0.25, 0.5, 1.0, 2.0)
BITS = 32
"""Of a number that the browser tosses."""


def shares() -> Iterator[Call]:
    scheme, entropy = AdditiveSharing(parties=2, prime=997, largest=9), Reproducible(b"shares")
    dealt = [(secret, scheme.share(secret, entropy)) for secret in range(10)]
    for secret, pair in dealt:
        mask, missing = (share.value for share in pair)
        yield "sharing", "split", [secret, mask, 997], [mask, missing]
    columns = [[pair[server].value for _, pair in dealt] for server in (0, 1)]
    sums = [sum(column) % 997 for column in columns]
    for column, total in zip(columns, sums, strict=True):
        yield "sharing", "added", [column, 997], total
    opened = scheme.reconstruct(
        [sum((pair[server] for _, pair in dealt[1:]), start=dealt[0][1][server]) for server in (0, 1)]
    )
    yield "sharing", "added", [sums, 997], opened
    for secret, coin in itertools.product((0, 1), repeat=2):
        yield "sharing", "split", [secret, coin, 2], [coin, secret ^ coin]


def seats() -> Iterator[Call]:
    laws = {"fair": [1] * RING, "straight": [1] * RING, "loaded": list(range(RING, 0, -1))}
    for mask, seat in itertools.product(laws, ("first", "second", "both")):
        yield "sharing", "maskLaw", [mask, RING], [weight / sum(laws[mask]) for weight in laws[mask]]
        lowest = 1 - RING if (seat, mask) == ("second", "straight") else 0
        yield "sharing", "views", [seat, mask, RING], list(range(lowest, RING))
        found = {secret: _law(secret, seat, mask, laws[mask]) for secret in (2, 7)}
        for secret, law in found.items():
            chances = [float(law[value]) for value in range(lowest, RING)]
            yield "sharing", "viewLaw", [secret, seat, mask, RING], chances
            yield "sharing", "seen", [secret, 4, seat, mask, RING], _view(secret, 4, seat, mask)
        right = sum(max(found[2][value], found[7][value]) for value in range(lowest, RING)) / 2
        both = [[float(found[secret][value]) for value in range(lowest, RING)] for secret in (2, 7)]
        yield "sharing", "bestGuess", both, float(right)


def _view(secret: int, drawn: int, seat: str, mask: str) -> int:
    missing = secret - drawn if mask == "straight" else (secret - drawn) % RING
    return {"first": drawn, "second": missing, "both": secret}[seat]


def _law(secret: int, seat: str, mask: str, weights: list[int]) -> Counter[int]:
    law: Counter[int] = Counter()
    for drawn, weight in enumerate(weights):
        law[_view(secret, drawn, seat, mask)] += Fraction(weight, sum(weights))  # type: ignore[assignment]
    return law


def noise() -> Iterator[Call]:
    for epsilon in EPSILONS:
        joint = JointLaplace(scale=1 / Fraction(epsilon))
        chances = [float(coin.probability) for coin in (joint.sign, *joint.digits) if coin.probability * 2**BITS >= 1]
        yield "joint-noise", "coinChances", [epsilon], chances
        law = [float(joint.probability(value)) for value in range(-16, 17)]
        yield "joint-noise", "noiseLaw", [epsilon, 16, 1], law
        wide = range(-400, 401)
        far = {value: float(joint.probability(value)) for value in range(-420, 421)}
        twice = {total: sum(far[value] * far.get(total - value, 0.0) for value in wide) for total in range(-40, 41)}
        yield "joint-noise", "noiseLaw", [epsilon, 16, 2], [twice[value] for value in range(-16, 17)]
        yield "joint-noise", "halfWidth", [epsilon, 1], joint.half_width()
        widths = (width for width in range(41) if sum(twice[value] for value in range(-width, width + 1)) >= 0.95)
        yield "joint-noise", "halfWidth", [epsilon, 2], next(widths)
        yield "joint-noise", "thresholds", [epsilon], [round(chance * 2**BITS) for chance in chances]
    for value in range(-8, 8):
        digits = [bool((value ^ (value >> 3)) >> place & 1) for place in range(3)]
        yield "joint-noise", "noiseOf", [[value < 0, *digits]], value
