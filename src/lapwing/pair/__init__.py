"""Two servers that do not trust each other answer the curator's questions about rows that neither of them sees.

Trust: two servers that follow the protocol and do not work together. Each sees random bits, and the noisy answer.

    joint noise   noise whose coins both servers toss together: neither knows it (`joint_noise`)
    transfers     oblivious transfers by the million, between the two servers (`transfers`)
    domains       public domains of columns, and a row as bits of which each server gets a share
    compiler      from a question to what servers count; `circuits` and `tallies` say how
    servers       uploads, ledgers and meetings (`server`, `store`); the file that all have (`deployment`)

Loaded when first used: `from lapwing import pair`, then `pair.make`, `pair.Client`, `pair.open`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lapwing.pair.child import free_addresses, local_servers
    from lapwing.pair.client import Client
    from lapwing.pair.deployment import Deployment
    from lapwing.pair.table import open
    from lapwing.pair.workspace import make

_HOME = {
    "Client": "client",
    "Deployment": "deployment",
    "free_addresses": "child",
    "local_servers": "child",
    "make": "workspace",
    "open": "table",
}
__all__ = ["Client", "Deployment", "free_addresses", "local_servers", "make", "open"]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = globals()[name] = getattr(import_module(f"lapwing.pair.{_HOME[name]}"), name)
        return value
    raise AttributeError(f"module 'lapwing.pair' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({"__doc__", *__all__})
