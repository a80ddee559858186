"""Floating-point attacks on noise: the last bits of a noisy number tell which number the noise was added to.

A textbook sampler turns a 53-bit uniform number into noise with a logarithm. Most doubles never come out. Added to
0 or to 1, the noise therefore reaches different doubles, and one look at an answer often rules out one of the two
(Mironov 2012; for Gaussian noise Jin, McMurtry, Rubinstein and Ohrimenko 2022). Here the uniform numbers that lead to
an answer are counted, which is its exact likelihood. Epsilon plays no part: the noise may be as large as one likes.

The samplers in this module are not private: they are what is attacked. `lapwing.mechanisms` adds whole steps of a grid.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from lapwing import checks
from lapwing.adversary.attacks.attack import Attack, Conclusion, Rounds, sure_of
from lapwing.adversary.attacks.bounds import best_guess
from lapwing.adversary.attacks.differencing import differencing
from lapwing.errors import InvalidParameter
from lapwing.mechanisms import Gaussian, Laplace
from lapwing.noise import SYSTEM, Entropy, bernoulli

BITS = 53
"""Of a uniform double in [0, 1), as `random.random` and numpy draw it."""
WINDOW = 1 << 16
"""Uniform numbers that are tried around the place where an answer would come from, at most."""
MARGIN = 4
"""Places by which the computed inverse of a sampler may be off, and more: it rounds a few times."""
SCALE = 10.0
"""Of the noise that is attacked: epsilon = 0.1 for a count."""
SIGMA = 10.0
DELTA = 1e-6
Pair = tuple[float, float]
Formula = Callable[[float, float, int], float]
"""A value, a scale and 53 random bits, made into a noisy value."""


def textbook(value: float, scale: float, drawn: int) -> float:
    """value − b·sign(u)·ln(1 − 2|u|) with u = drawn·2^−53 − 1/2."""
    uniform = drawn * 2.0**-BITS - 0.5
    return value - scale * math.copysign(1, uniform) * math.log(1 - 2 * abs(uniform))


def numpys(value: float, scale: float, drawn: int) -> float:
    """What `laplace` of numpy's generators makes of u = drawn·2^−53: it rounds 2 − u where the textbook is exact."""
    uniform = drawn * 2.0**-BITS
    if uniform >= 0.5:
        return value - scale * math.log(2.0 - uniform - uniform)
    return value + scale * math.log(uniform + uniform)


def naive_laplace(value: float, *, scale: float, formula: Formula = textbook, entropy: Entropy = SYSTEM) -> float:
    """A value with Laplace noise from one uniform double. Not private."""
    while not (drawn := entropy.bits(BITS)):  # 0 gives the logarithm of 0
        pass
    return formula(value, scale, drawn)


def laplace_ways(output: float, value: float, *, scale: float, formula: Formula = textbook) -> int:
    """How many of the 2^53 uniform numbers make `naive_laplace` answer this output for this value.

    Noise of about x = output − value comes from j = 2^52·e^(−|x|/b) or 2^53 − j, by its sign; all numbers around there
    are tried. Where there are too many to try, how many fit is estimated from the width.
    """
    noise = output - value
    slack = math.ulp(output) + math.ulp(noise)
    most, least = abs(noise) + slack, max(0.0, abs(noise) - slack)
    first = max(1, math.floor(math.exp(-most / scale) * 2**52) - MARGIN)
    last = min(2**52, math.ceil(math.exp(-least / scale) * 2**52) + MARGIN)
    if last - first > WINDOW:
        return (last - first) // 2  # a cell is half as wide as the window
    near = range(first, last + 1)
    return sum(formula(value, scale, 2**BITS - j if noise >= 0 else j) == output for j in near)


def float_laplace(
    outputs: Sequence[float], *, scale: float, values: Pair = (0.0, 1.0), formula: Formula = textbook
) -> Conclusion:
    """Decide between two values, from outputs of a Laplace sampler in floating point.

    The sampler can make some outputs from one value only. The attack counts the uniform numbers that give each output.

    Args:
        outputs: One or more outputs for the same value, with all their digits.
        scale: The scale of the noise.
        values: The two values that are possible, equally likely beforehand.
        formula: How the sampler makes noise of a uniform number. By default the textbook formula, as in
            `lapwing.adversary.attacks.floats.naive_laplace`.

    Returns:
        The likelier value, and how sure the attacker is.

    Raises:
        InvalidParameter: If `scale` is not positive, or there is no output, or one is not finite.

    >>> from lapwing.adversary.attacks.floats import naive_laplace
    >>> from lapwing.noise import Reproducible
    >>> outputs = [naive_laplace(1.0, scale=10.0, entropy=Reproducible(b"doc"))]
    >>> float_laplace(outputs, scale=10.0).guess
    1.0
    """
    checks.positive(scale=scale)
    _refuse_missing(outputs)
    ways = [[laplace_ways(output, value, scale=scale, formula=formula) for output in outputs] for value in values]
    return _conclusion(values, [math.prod(each) for each in ways], ", ".join(map(str, outputs)))


def naive_gaussian_pair(values: Pair, *, sigma: float, entropy: Entropy = SYSTEM) -> Pair:
    """Gaussian noise for two values at once by the method of Box and Muller (1958). Not private.

    Two calls of Python's `random.gauss`, one after the other, do the same: the second uses what the first left over.
    """
    along, around = entropy.bits(BITS), entropy.bits(BITS)
    return _box_muller(values, sigma, along, around)


def _box_muller(values: Pair, sigma: float, along: int, around: int) -> Pair:
    radius = math.sqrt(-2 * math.log(1 - along * 2.0**-BITS))
    angle = 2 * math.pi * (around * 2.0**-BITS)
    return values[0] + sigma * (radius * math.cos(angle)), values[1] + sigma * (radius * math.sin(angle))


def gaussian_ways(outputs: Pair, values: Pair, *, sigma: float) -> int:
    """How many of the 2^106 pairs of uniform numbers make `naive_gaussian_pair` answer these outputs.

    Two outputs from one pair can be turned back: u = 1 − e^(−r²/2), and the angle. One of them alone cannot.
    """
    x, y = ((output - value) / sigma for output, value in zip(outputs, values, strict=True))
    wide, high = (
        (math.ulp(output) + math.ulp(output - value)) / sigma for output, value in zip(outputs, values, strict=True)
    )
    square = x * x + y * y
    if not square:
        return 0
    along, around = -math.expm1(-square / 2) * 2**BITS, math.atan2(y, x) / (2 * math.pi) % 1 * 2**BITS
    along_slack = math.exp(-square / 2) * (abs(x) * wide + abs(y) * high) * 2**BITS + MARGIN
    around_slack = (abs(y) * wide + abs(x) * high) / square / (2 * math.pi) * 2**BITS + MARGIN
    if 4 * along_slack * around_slack > WINDOW:
        return int(along_slack * around_slack)
    return sum(
        _box_muller(values, sigma, j, k % 2**BITS) == outputs
        for j in range(max(0, math.floor(along - along_slack)), min(2**BITS, math.ceil(along + along_slack) + 1))
        for k in range(math.floor(around - around_slack), math.ceil(around + around_slack) + 1)
    )


def float_gaussian(outputs: Pair, *, values: tuple[Pair, Pair] = ((0.0, 0.0), (1.0, 0.0)), sigma: float) -> Conclusion:
    """Decide between two pairs of values, from the two outputs of one call of a Box–Muller sampler.

    The two outputs together can be turned back into the two uniform numbers that made them. One alone cannot.

    Args:
        outputs: The two outputs of one call, with all their digits.
        values: The two pairs of values that are possible, equally likely beforehand.
        sigma: The standard deviation of the noise.

    Returns:
        The likelier pair, and how sure the attacker is.

    Raises:
        InvalidParameter: If `sigma` is not positive, or there are not two finite outputs.

    >>> from lapwing.adversary.attacks.floats import naive_gaussian_pair
    >>> from lapwing.noise import Reproducible
    >>> outputs = naive_gaussian_pair((1.0, 0.0), sigma=10.0, entropy=Reproducible(b"doc"))
    >>> float_gaussian(outputs, sigma=10.0).guess
    (1.0, 0.0)
    """
    checks.positive(sigma=sigma)
    _refuse_missing(outputs, 2)
    return _conclusion(values, [gaussian_ways(outputs, value, sigma=sigma) for value in values], str(outputs))


def _refuse_missing(outputs: Sequence[float], count: int | None = None) -> None:
    if not outputs or len(outputs) != (count or len(outputs)) or not all(map(math.isfinite, outputs)):
        why = f"must be {count or 'one or more'} finite numbers"
        raise InvalidParameter("outputs", outputs, why, "Give what the sampler answered, with all its digits.")


def _conclusion(values: Sequence[float | Pair], ways: Sequence[int], output: str) -> Conclusion:
    """By Bayes' rule, for even odds beforehand."""
    most, least = (0, 1) if ways[0] >= ways[1] else (1, 0)
    sure = ways[most] / sum(ways) if any(ways) else 0.5
    why = f"Uniform numbers that give {output}: {ways[most]} from {values[most]}, {ways[least]} from {values[least]}."
    return Conclusion(about="the value", guess=values[most], sure=sure, because=why)


def _bits(rounds: int, entropy: Entropy) -> list[float]:
    return [float(toss) for toss in bernoulli(Fraction(1, 2), rounds, entropy)]


def _weak_laplace(formula: Formula, answers: int = 1) -> Callable[[int, Entropy], Rounds]:
    def play(rounds: int, entropy: Entropy) -> Rounds:
        def noisy(bit: float) -> float:
            return naive_laplace(bit, scale=SCALE, formula=formula, entropy=entropy)

        secrets = _bits(rounds, entropy)
        draws = [[noisy(bit) for _ in range(answers)] for bit in secrets]
        conclusions = [float_laplace(outputs, scale=SCALE, formula=formula) for outputs in draws]
        return [float(learned.guess == bit) for learned, bit in zip(conclusions, secrets, strict=True)]

    return play


def _private_laplace(epsilon: float, rounds: int, entropy: Entropy) -> Rounds:
    noise = Laplace(epsilon=epsilon, sensitivity=1)
    secrets = [int(bit) for bit in _bits(rounds, entropy)]
    conclusions = [differencing(noise.release(bit, entropy), 0, noise=1 / epsilon, errors=1) for bit in secrets]
    return [float(learned.guess == bit) for learned, bit in zip(conclusions, secrets, strict=True)]


def _weak_gaussian(rounds: int, entropy: Entropy) -> Rounds:
    secrets = _bits(rounds, entropy)
    draws = [naive_gaussian_pair((bit, 0.0), sigma=SIGMA, entropy=entropy) for bit in secrets]
    guesses = [float_gaussian(outputs, sigma=SIGMA).guess[0] for outputs in draws]
    return [float(guess == bit) for guess, bit in zip(guesses, secrets, strict=True)]


def _gaussian(epsilon: float) -> Gaussian:
    return Gaussian.for_epsilon(epsilon, DELTA, sensitivity=1)


def _gaussian_bound(epsilon: float) -> float:
    """This noise has a delta for every epsilon; at epsilon = 0 the bound is that of the best test, and is reached."""
    return best_guess(0, delta=_gaussian(epsilon).delta_at(0))


def _private_gaussian(epsilon: float, rounds: int, entropy: Entropy) -> Rounds:
    """The second count does not depend on the secret. Of 0 and 1, the nearer to the first one is the likelier."""
    noise = _gaussian(epsilon)
    return [float((noise.release(int(bit), entropy) >= 1) == bool(bit)) for bit in _bits(rounds, entropy)]


def _laplace_example(entropy: Entropy) -> Sequence[Conclusion]:
    (bit,) = _bits(1, entropy)
    outputs = [naive_laplace(bit, scale=SCALE, entropy=entropy) for _ in range(3)]
    private = Laplace(epsilon=1 / SCALE, sensitivity=1).release(int(bit), entropy)
    exact = differencing(private, 0, noise=SCALE, errors=1, about="the value, from exact noise of the same size")
    each = [float_laplace([output], scale=SCALE) for output in outputs]
    return [replace(conclusion, truth=bit) for conclusion in [*each, float_laplace(outputs, scale=SCALE), exact]]


def _gaussian_example(entropy: Entropy) -> Sequence[Conclusion]:
    (bit,) = _bits(1, entropy)
    naive = float_gaussian(naive_gaussian_pair((bit, 0.0), sigma=SIGMA, entropy=entropy), sigma=SIGMA)
    output = Gaussian(sigma=int(SIGMA), sensitivity=1).release(int(bit), entropy)
    lead = (2 * output - 1) / (2 * SIGMA**2)  # ln of the odds of 1 against 0
    why = f"{output} is nearer to this value. Exact noise of the same size says no more."
    exact = Conclusion(about="the first value", guess=float(lead > 0), sure=sure_of(lead), because=why, truth=bit)
    return [replace(naive, truth=(bit, 0.0)), exact]


FLOAT_LAPLACE = Attack(
    name="float-laplace",
    title="Last bits: which uniform number could have made this Laplace noise?",
    secret="whether a count is 0 or 1",
    source="Mironov 2012",
    weak={
        "textbook Laplace noise in doubles, scale 10": _weak_laplace(textbook),
        "by NumPy's formula": _weak_laplace(numpys),
        "by NumPy's formula, asked three times": _weak_laplace(numpys, answers=3),
    },
    answer="a count with discrete Laplace noise",
    promise="epsilon for a count that one person changes by 1",
    private=_private_laplace,
    bound=best_guess,
    example=_laplace_example,
    lesson="A proof about real numbers says nothing about doubles. Noise must be drawn exactly, on a grid.",
    rounds=1000,
)
FLOAT_GAUSSIAN = Attack(
    name="float-gaussian",
    title="Last bits: which uniform numbers could have made this Gaussian noise?",
    secret="whether a count is 0 or 1",
    source="Box and Muller 1958; Jin, McMurtry, Rubinstein and Ohrimenko 2022",
    weak={"Gaussian noise by Box and Muller in doubles, sigma 10": _weak_gaussian},
    answer="a count with discrete Gaussian noise",
    promise=f"epsilon and delta = {DELTA:g} for a count that one person changes by 1",
    private=_private_gaussian,
    bound=_gaussian_bound,
    example=_gaussian_example,
    lesson="Two answers with noise from one call of the sampler can be turned back into its two uniform numbers.",
    rounds=500,
)
