"""Protocols by name: makes a protocol again from what `Protocol.parameters` wrote into a file.

>>> protocol_from({"protocol": "UnaryEncoding", "epsilon": "1", "domain": ["bus", "bike"]}).domain
('bus', 'bike')
>>> protocol_from({"preset": "popular emoji"}).width
1024
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from fractions import Fraction
from typing import Any

from lapwing.crowd.apple import FEATURES
from lapwing.crowd.binary import BinaryResponse
from lapwing.crowd.categories import CategoryResponse
from lapwing.crowd.count_mean_sketch import CountMeanSketch
from lapwing.crowd.fragments import SequenceFragmentPuzzle
from lapwing.crowd.hadamard import HadamardResponse
from lapwing.crowd.hadamard_sketch import HadamardCountMeanSketch
from lapwing.crowd.hybrid import Hybrid
from lapwing.crowd.local_hashing import LocalHashing
from lapwing.crowd.monitoring import Monitoring
from lapwing.crowd.numeric import Piecewise, StochasticRounding
from lapwing.crowd.prefixes import PrefixExtension, TreeHist
from lapwing.crowd.protocol import Protocol
from lapwing.crowd.rappor import BasicOneTimeRappor, BasicRappor, OneTimeRappor, Rappor
from lapwing.crowd.square_wave import SquareWave
from lapwing.crowd.unary import UnaryEncoding
from lapwing.crowd.unknown import UnknownDictionary
from lapwing.errors import InvalidParameter

PROTOCOLS: Mapping[str, type[Protocol]] = {
    kind.__name__: kind
    for kind in (
        BasicOneTimeRappor,
        BasicRappor,
        BinaryResponse,
        CategoryResponse,
        CountMeanSketch,
        HadamardCountMeanSketch,
        HadamardResponse,
        Hybrid,
        LocalHashing,
        Monitoring,
        OneTimeRappor,
        Piecewise,
        PrefixExtension,
        Rappor,
        SequenceFragmentPuzzle,
        SquareWave,
        StochasticRounding,
        TreeHist,
        UnaryEncoding,
        UnknownDictionary,
    )
}
_NUMBER = re.compile(r"-?\d{1,400}(\.\d{1,400}|/\d{1,400})?")


def protocol_from(parameters: Mapping[str, Any]) -> Protocol:
    """The protocol with these parameters: its name and fields, `epsilon` in place of the odds, or a preset of Apple's.

    Numbers are whole numbers or text ("0.5", "3/4"), which is exact; answers of a domain are text or whole numbers.
    """
    values = dict(parameters) if isinstance(parameters, Mapping) else {}
    if "preset" in values:
        return _preset(values)
    name = values.pop("protocol", None)
    kind = PROTOCOLS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise InvalidParameter("protocol", name, "is not a local protocol", f"Write one of: {', '.join(PROTOCOLS)}.")
    version = values.pop("version", kind.version)
    if version != kind.version:
        why = f"is a version of {name} that this Lapwing does not have (it has {kind.version})"
        raise InvalidParameter("version", version, why, "Use the version of Lapwing that the file was made with.")
    kinds = {field.name: str(field.type) for field in fields(kind) if field.init} | {"epsilon": "Number"}
    known = {field: _value(kinds.get(field, ""), value, field) for field, value in values.items()}
    if "epsilon" in known and "epsilon" not in {field.name for field in fields(kind)}:
        if not hasattr(kind, "from_epsilon"):
            hint = f"Give its own parameters: {', '.join(kinds.keys() - {'epsilon', 'unit'})}."
            raise InvalidParameter("epsilon", values["epsilon"], f"is not a parameter of {name}", hint)
        return kind.from_epsilon(**known)  # type: ignore[attr-defined, no-any-return]
    return kind(**known)


def _preset(values: dict[str, Any]) -> Protocol:
    name = values.pop("preset")
    if name not in FEATURES:
        complete = ", ".join(repr(feature.name) for feature in FEATURES.values() if not feature.unknown)
        raise InvalidParameter("preset", name, "is not a preset", f"Write one of: {complete}.")
    if surplus := values.keys() - {"salt", "unit"}:
        hint = "Leave it out, or name the protocol with all its parameters."
        raise InvalidParameter(min(surplus), values[min(surplus)], "is fixed by the preset", hint)
    return FEATURES[name].protocol(**values)


def _value(kind: str, value: Any, name: str) -> Any:
    """A value of a file as the constructor wants it: numbers are exact."""
    if isinstance(value, Mapping):
        return protocol_from(value)
    if isinstance(value, list):
        return tuple(_value(kind, item, name) for item in value) if "Number" in kind else list(value)
    if "Number" in kind and isinstance(value, str):
        if not _NUMBER.fullmatch(value):
            raise InvalidParameter(
                name, value, "is not a number", 'Write a number such as 0.5, or a fraction such as "3/4".'
            )
        return Fraction(value)
    return value
