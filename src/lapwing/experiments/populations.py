"""Populations to simulate: words, emoji and first names as often as people really use them, and textbook shapes.

Each gives how many people give which answer, adding up to exactly the number asked for, the same every time.

    words, emoji   package wordfreq: frequencies in books, subtitles, news, Reddit, Twitter and more (data CC BY-SA 4.0)
    first_names    package names: the census of the United States, 1990 (public domain)

>>> sum(zipf(1000, different=50).values())
1000
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from importlib import resources
from types import MappingProxyType
from typing import Any, TypeVar

from lapwing import checks
from lapwing.errors import MissingExtra

Label = TypeVar("Label")

_PICTURES, _AS_PICTURE = 0x1F000, "\ufe0f"
"""Where the blocks of Unicode begin that hold emoji; and what makes a picture of an older sign."""


def words(people: int, *, different: int = 10_000, language: str = "en") -> dict[str, int]:
    """The most frequent words of a language."""
    return apportioned(dict(_largest(_wordfreq(language, "small"), different)), people)


def word_shares(language: str = "en") -> dict[str, float]:
    """How often each word of a large list is used, the most frequent first; the shares do not add up to exactly 1."""
    shares = _wordfreq(language, "large")
    return dict(_largest(shares, len(shares)))


def emoji(people: int, *, different: int = 600) -> dict[str, int]:
    """The most frequent emoji in English texts."""
    pictures = {word: share for word, share in _wordfreq("en", "large").items() if _is_emoji(word)}
    return apportioned(dict(_largest(pictures, different)), people)


def first_names(people: int, *, different: int = 5000) -> dict[str, int]:
    """First names of women and men, half of the people each."""
    shares: dict[str, float] = {}
    try:
        folder = resources.files("names")
    except ModuleNotFoundError:
        raise MissingExtra("names", "experiments") from None
    for file in ("dist.female.first", "dist.male.first"):
        for line in folder.joinpath(file).read_text(encoding="ascii").splitlines():
            name, percent = line.split()[:2]
            shares[name.title()] = shares.get(name.title(), 0.0) + float(percent)
    return apportioned(dict(_largest(shares, different)), people)


def zipf(people: int, *, different: int, exponent: float = 1.0, name: str = "item {}") -> dict[str, int]:
    """The r-th answer is given in proportion to r^−exponent."""
    return apportioned({name.format(rank): rank**-exponent for rank in range(1, different + 1)}, people)


def exponential(people: int, *, different: int, decay: float = 0.05, name: str = "string {}") -> dict[str, int]:
    """The r-th answer is given in proportion to e^(−decay·r)."""
    return apportioned({name.format(rank): math.exp(-decay * rank) for rank in range(1, different + 1)}, people)


def normal(people: int, *, values: int) -> dict[int, int]:
    """0 … values − 1 under a bell: the middle is the mean, and six standard deviations fit."""
    middle, deviation = (values - 1) / 2, values / 6
    return apportioned({value: math.exp(-(((value - middle) / deviation) ** 2) / 2) for value in range(values)}, people)


def apportioned(weights: Mapping[Label, float], people: int) -> dict[Label, int]:
    """Whole people by weight: everybody's share rounded down, and those who are left go to the largest remainders."""
    checks.whole(minimum=0, people=people)
    total = math.fsum(weights.values())
    quotas = {label: people * weight / total for label, weight in weights.items()}
    counts = {label: math.floor(quota) for label, quota in quotas.items()}
    left = people - sum(counts.values())
    for label in sorted(quotas, key=lambda label: counts[label] - quotas[label])[:left]:
        counts[label] += 1
    return counts


def _is_emoji(word: str) -> bool:
    return ord(word[0]) >= _PICTURES or _AS_PICTURE in word


def _largest(weights: Mapping[str, float], count: int) -> list[tuple[str, float]]:
    return sorted(weights.items(), key=lambda pair: (-pair[1], pair[0]))[: checks.whole(different=count)]


def _wordfreq(language: str, size: str) -> dict[str, float]:
    try:
        from wordfreq import get_frequency_dict
    except ImportError:
        raise MissingExtra("wordfreq", "experiments") from None
    return dict(get_frequency_dict(language, wordlist=size))


REAL: Mapping[str, Callable[..., dict[Any, int]]] = MappingProxyType(
    {"words": words, "emoji": emoji, "first names": first_names}
)
"""What people really say, by name."""
