"""Lapwing: learn about populations without learning about any person.

>>> import lapwing as lw
>>> mechanism = lw.mechanisms.Mean(epsilon=1, bounds=(0, 120))
>>> 0 <= mechanism.release([34, 51, 29, 62, 45]) <= 120
True
>>> print(mechanism.privacy_loss())
ε = 1 (add_remove, per person)

The public names of the packages are here as well, loaded when first used: `lw.open`, `lw.Laplace`, `lw.PureDP`,
`lw.audit`. Names in lower case ask about tables (`lw.mean("age")`). Mechanisms are in their package
(`lw.mechanisms.Mean`).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from lapwing._names import INSTEAD, LIFTED, MOVED, SHADOWS
from lapwing._version import __version__ as __version__

if TYPE_CHECKING:
    from lapwing.adversary import *  # noqa: F403
    from lapwing.curator import *  # noqa: F403
    from lapwing.mechanisms import *  # noqa: F403
    from lapwing.privacy import *  # noqa: F403

_HOME = {name: room for room, names in LIFTED.items() for name in names}
if not TYPE_CHECKING:
    __all__ = sorted(_HOME.keys() - set(SHADOWS))
_ROOMS = (*LIFTED, "anonymity", "crowd", "models", "pair", "noise", "errors", "checks", "exact", "datasets")


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"lapwing.{name}")
    if name in MOVED:
        from lapwing.calls import moved

        return moved(f"lapwing.{name}", f"lapwing.{MOVED[name]}")
    if name in _HOME:
        value = globals()[name] = getattr(import_module(f"lapwing.{_HOME[name]}"), name)
        return value
    from lapwing.calls import closest

    meant = None if name.startswith("_") else closest(name, __dir__())
    hint = f" {INSTEAD[name]}" if name in INSTEAD else f" Did you mean lapwing.{meant}?" if meant else ""
    raise AttributeError(f"module 'lapwing' has no attribute {name!r}.{hint}")


def __dir__() -> list[str]:
    return sorted({"__doc__", "__version__", *_ROOMS, *_HOME})
