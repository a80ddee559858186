"""The features that Apple is known to collect with these algorithms, and their published parameters.

Published figures only (Apple, "Differential Privacy Overview" and "Learning with Privacy at Scale", 2017, as collected
in the table of deployed features). What was not published is None, not a guess. Epsilons are those of one donation:
somebody who donates twice a day spends twice as much, every day anew.

>>> preset("popular emoji").width
1024
>>> print(FEATURES["Safari auto-play intent"].daily_loss())
ε = 15.9957 (replace, per person)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from lapwing import checks
from lapwing.crowd.count_mean_sketch import CountMeanSketch
from lapwing.crowd.hadamard_sketch import HadamardCountMeanSketch
from lapwing.crowd.protocol import Protocol
from lapwing.errors import InvalidParameter
from lapwing.privacy import PureDP

SKETCHES: Mapping[str, type[CountMeanSketch | HadamardCountMeanSketch]] = MappingProxyType(
    {"CMS": CountMeanSketch, "HCMS": HadamardCountMeanSketch}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """A deployed collection; None is what was not published."""

    name: str
    algorithm: str | None = None
    epsilon: int | None = None
    """Of one donation."""
    width: int | None = None
    functions: int | None = None
    dictionary: int | None = None
    """How many answers are looked up; None also where there is none beforehand (new words)."""
    donations_per_day: int | None = None

    @property
    def unknown(self) -> tuple[str, ...]:
        """What of its protocol was not published."""
        return tuple(name for name in ("algorithm", "epsilon", "width", "functions") if getattr(self, name) is None)

    def protocol(self, *, salt: str = "", unit: str = "person") -> CountMeanSketch | HadamardCountMeanSketch:
        """The sketch with the published parameters (its hash functions are ours)."""
        sketch = SKETCHES.get(self.algorithm or "")
        if sketch is None or self.epsilon is None or self.functions is None or self.width is None:
            why = f"Apple did not publish its {', '.join(self.unknown)}" if self.unknown else "is not a sketch"
            known = ", ".join(repr(feature.name) for feature in FEATURES.values() if not feature.unknown)
            raise InvalidParameter("feature", self.name, why, f"Complete presets: {known}.")
        return sketch(epsilon=self.epsilon, functions=self.functions, width=self.width, salt=salt, unit=unit)

    def daily_loss(self) -> PureDP:
        """What the donations of one day cost together, by the probabilities our sketch uses."""
        if self.donations_per_day is None:
            why = "Apple did not publish how many donations a day it sends"
            raise InvalidParameter("feature", self.name, why, "Multiply the loss of one report yourself.")
        return self.donations_per_day * self.protocol().privacy_loss()


FEATURES: Mapping[str, Feature] = MappingProxyType(
    {
        feature.name: feature
        for feature in (
            Feature(name="QuickType suggestions", epsilon=8, donations_per_day=2),
            Feature(name="new words", algorithm="SFP", width=1024, functions=2048),
            Feature(
                name="popular emoji",
                algorithm="CMS",
                epsilon=4,
                width=1024,
                functions=65536,
                dictionary=2600,
                donations_per_day=1,
            ),
            Feature(name="lookup hints", epsilon=4, donations_per_day=2),
            Feature(
                name="Safari energy-draining domains",
                algorithm="HCMS",
                epsilon=4,
                width=32768,
                functions=1024,
                dictionary=250_000,
                donations_per_day=2,
            ),
            Feature(
                name="Safari auto-play intent",
                algorithm="CMS",
                epsilon=8,
                width=1024,
                functions=65536,
                dictionary=250_000,
                donations_per_day=2,
            ),
            Feature(name="Safari crashing domains"),
            Feature(
                name="health type usage", algorithm="CMS", epsilon=2, width=256, functions=65536, donations_per_day=1
            ),
        )
    }
)
"""By name."""


def preset(feature: str, *, salt: str = "", unit: str = "person") -> Protocol:
    """The protocol of a deployed feature, if enough of it was published.

    >>> preset("health type usage").layout[1].bits
    256
    """
    return FEATURES[checks.one_of(tuple(FEATURES), feature=feature)].protocol(salt=salt, unit=unit)
