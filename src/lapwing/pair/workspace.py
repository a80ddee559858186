"""Folders of a pair: the file that everybody has, and a folder for each server with its key, rows and ledger.

In a deployment each server makes its own folder on its own machine, and only certificates travel. To try things out,
one folder holds both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from lapwing.errors import InvalidParameter
from lapwing.noise import SYSTEM
from lapwing.pair.certificates import new_certificate
from lapwing.pair.client import code_for
from lapwing.pair.deployment import VERSION, Deployment
from lapwing.pair.store import Store

SERVERS = ("as", "csp")
"""An analytics server and a cryptographic service provider, as the paper calls them."""
FILE, CODES = "pair.yaml", "codes.txt"


def make(
    folder: Path,
    *,
    name: str,
    columns: Mapping[str, Any],
    owners: int | Sequence[str],
    epsilon: Any = 3,
    unit: str = "person",
    relation: str = "replace",
    products: int = 16,
    addresses: Sequence[str] = ("127.0.0.1:8201", "127.0.0.1:8202"),
    analysts: Iterable[str] = ("analyst",),
) -> Deployment:
    """A new pair: the file, keys of both servers and of analysts, and codes for owners."""
    if folder.exists() and any(folder.iterdir()):
        raise InvalidParameter("folder", str(folder), "is not empty", "Name a folder that does not exist.")
    folder.mkdir(parents=True, exist_ok=True)
    servers = []
    for server, address in zip(SERVERS, addresses, strict=True):
        (folder / server).mkdir(mode=0o700)
        certificate = new_certificate(folder / server / "key.pem", server)
        servers.append({"name": server, "address": address, "certificate": certificate})
    data = {
        "lapwing_pair": VERSION,
        "name": name,
        "unit": unit,
        "relation": relation,
        "products": products,
        "allowance": {"epsilon": epsilon, "delta": 1e-9},
        "columns": dict(columns),
        "servers": servers,
        "analysts": {analyst: new_certificate(folder / f"{analyst}.pem", analyst) for analyst in analysts},
    }
    text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True)
    deployment = Deployment.parsed(text)  # says what is wrong before anything is written
    (folder / FILE).write_text(text, encoding="utf-8")
    codes = [f"{SYSTEM.bits(64):016x}" for _ in range(owners)] if isinstance(owners, int) else list(owners)
    (folder / CODES).write_text("".join(f"{code}\n" for code in codes), encoding="utf-8")
    for place, server in enumerate(SERVERS):
        Store(folder / server, deployment.layout).admit(code_for(code, place) for code in codes)
    return deployment


def codes_in(folder: Path) -> list[str]:
    """The codes that were made for owners."""
    return (folder / CODES).read_text(encoding="utf-8").split()
