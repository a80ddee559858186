"""Shares of joint noise: neither server knows the draw, both together hold it. No data is needed for it.

    each server   uniform bits of its own for every coin; a coin's number is the XOR of both
    compare       with the public thresholds, by gates: shared digits and a shared sign
    convert       digits ⊕ sign, and the sign, into additive shares modulo 2^64: two's complement

Proof: joint_noise.md, gates.md, transfers.md
"""

from __future__ import annotations

import numpy as np

from lapwing.noise import SYSTEM, Entropy
from lapwing.pair.gates import Gates, ands_below, below
from lapwing.pair.joint_noise import JointLaplace
from lapwing.pair.transfers import Bits, Transfers, Words, random_bits


def triples_for(noise: JointLaplace, count: int) -> int:
    """How many triples so many draws take."""
    return count * sum(ands_below(coin.bits) for coin in (noise.sign, *noise.digits))


def noise_bits(gates: Gates, noise: JointLaplace, count: int, entropy: Entropy = SYSTEM) -> Bits:
    """My XOR shares of draws in two's complement: one draw a column, the lowest digit first, the sign last."""
    coins = (noise.sign, *noise.digits)
    uniforms = [random_bits(coin.bits * count, entropy).reshape(coin.bits, count) for coin in coins]
    sign, *digits = below(gates, uniforms, [coin.threshold for coin in coins])
    return np.stack([*(digit ^ sign for digit in digits), sign])


def noise_words(
    gates: Gates, transfers: Transfers, noise: JointLaplace, count: int, entropy: Entropy = SYSTEM
) -> Words:
    """My additive shares of so many draws, modulo 2^64."""
    bits = noise_bits(gates, noise, count, entropy)
    words = transfers.arithmetic(bits.ravel()).reshape(bits.shape)
    weights = np.array([1 << place for place in range(len(bits) - 1)], dtype=np.uint64)
    magnitude = (words[:-1] * weights[:, None]).sum(axis=0, dtype=np.uint64)
    total: Words = magnitude - (words[-1] << np.uint64(len(bits) - 1))
    return total
