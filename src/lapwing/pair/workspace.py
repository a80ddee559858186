"""Folders of a pair: the file that everybody has, and a folder for each server with its key, rows and ledger.

    FOLDER/pair.yaml     for everybody: owners, servers, analysts
    FOLDER/codes.txt     for whoever gives each owner a code, and for no server
    FOLDER/as, csp       each for its server: key.pem, and which codes it admits, hashed for its place
    FOLDER/ada.pem       for an analyst

In a deployment each server makes its own key on its own machine, and only its certificate travels. To try things out,
one folder holds both.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lapwing import checks
from lapwing.curator.ask.documents import write_yaml
from lapwing.errors import InvalidParameter
from lapwing.noise import SYSTEM
from lapwing.pair.certificates import new_certificate
from lapwing.pair.client import code_for
from lapwing.pair.deployment import UNMADE, VERSION, Deployment
from lapwing.pair.store import Store

SERVERS = ("as", "csp")
"""An analytics server and a cryptographic service provider, as the paper calls them."""
FILE, CODES, KEY = "pair.yaml", "codes.txt", "key.pem"
SHORTEST_CODE = 12
"""A shorter one can be guessed by a server, which sees its hash."""
CODE_BITS = 96
"""Of a code that is made here. A server that looks for any of a million codes at once has 20 bits less to guess."""


def make(
    folder: str | os.PathLike[str],
    *,
    name: str,
    columns: Mapping[str, Any],
    owners: int | Sequence[str],
    epsilon: Any = 3,
    unit: str = "person",
    relation: str = "replace",
    products: int = 16,
    addresses: Sequence[str] = ("127.0.0.1:8201", "127.0.0.1:8202"),
    analysts: Sequence[str] | Mapping[str, str | None] = ("analyst",),
    certificates: Mapping[str, str] | None = None,
) -> Deployment:
    """Make a new pair in a folder: the file for everybody, codes for owners, and keys.

    Args:
        folder: A folder that does not exist yet, or is empty.
        name: The name of the table, as questions write it.
        columns: The public domain of each column: `{"values": […]}`, `{"bounds": [low, high]}` for whole numbers, or
            `{"bins": [edges]}`.
        owners: How many people may upload a row, or their codes (at least 12 characters each).
        epsilon: What each server's ledger allows in all, as ε. The δ is 1e-9.
        unit: Whom a row is about.
        relation: "replace", where servers see who uploads; or "add_remove", where everybody on a public list uploads,
            and absent people upload an empty row.
        products: How many products of each column come with a row. Conditions that join several columns use them up.
        addresses: Where the servers `as` and `csp` listen, as host:port.
        analysts: Names of those who may ask, or their certificates by name. A key is made for a name without
            certificate.
        certificates: Certificates of the servers by name, made on their own machines. None makes both keys in the
            folder.

    Returns:
        What the file `pair.yaml` says.

    Raises:
        InvalidParameter: If the folder is not empty, or something is wrong with a column or another parameter.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from lapwing import pair
    >>> folder = tempfile.mkdtemp() + "/clinic"
    >>> deployment = pair.make(folder, name="clinic", columns={"age": {"bounds": [18, 97]}}, owners=200)
    >>> sorted(file.name for file in Path(folder).iterdir())
    ['analyst.pem', 'as', 'codes.txt', 'csp', 'pair.yaml']
    >>> len(Path(folder, "codes.txt").read_text().split())
    200
    """
    folder, certificates = Path(folder), certificates or {}
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InvalidParameter("folder", str(folder), "is not empty", "Name a folder that does not exist.")
    known = dict(analysts) if isinstance(analysts, Mapping) else dict[str, str | None].fromkeys(analysts)
    for analyst in known:
        key_file(folder, analyst)  # says whether it is a name
    codes = _codes(owners)
    data: dict[str, Any] = {
        "lapwing_pair": VERSION,
        "name": name,
        "unit": unit,
        "relation": relation,
        "products": products,
        "allowance": {"epsilon": epsilon, "delta": 1e-9},
        "columns": dict(columns) if isinstance(columns, Mapping) else columns,
        "servers": [
            {"name": server, "address": address, "certificate": certificates.get(server) or UNMADE}
            for server, address in zip(SERVERS, addresses, strict=True)
        ],
        "analysts": {analyst: certificate or UNMADE for analyst, certificate in known.items()},
    }
    Deployment.parsed(write_yaml(data))  # says what is wrong before anything is written
    for server in data["servers"]:
        (folder / server["name"]).mkdir(mode=0o700, parents=True)
        if server["name"] not in certificates:
            server["certificate"] = new_key(folder, server["name"])
    for analyst, certificate in known.items():
        data["analysts"][analyst] = certificate or new_key(folder, analyst)
    text = write_yaml(data)
    deployment = Deployment.parsed(text)
    (folder / FILE).write_text(text, encoding="utf-8")
    (folder / CODES).touch(mode=0o600)
    (folder / CODES).write_text("".join(f"{code}\n" for code in codes), encoding="utf-8")
    for place, server in enumerate(SERVERS):
        store = Store(folder / server, deployment.layout)
        store.is_about(deployment.subject)
        store.admit(code_for(code, place) for code in codes)
    return deployment


def key_file(folder: Path, name: str) -> Path:
    """Where the key of a server is, or of an analyst."""
    if not name or not all(letter.isalnum() or letter in "-_." for letter in name) or name.startswith("."):
        raise InvalidParameter("name", name, "must be made of letters and digits", "Write ada, or as, or csp.")
    return folder / name / KEY if name in SERVERS else folder / f"{name}.pem"


def new_key(folder: Path, name: str) -> str:
    """Make the key of a server or of an analyst, and return its certificate, which may travel."""
    file = key_file(folder, name)
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return new_certificate(file, name)


def codes_in(folder: Path) -> list[str]:
    """The codes that were made for owners."""
    return (folder / CODES).read_text(encoding="utf-8").split()


def _codes(owners: int | Sequence[str]) -> list[str]:
    if isinstance(owners, int):
        return [f"{SYSTEM.bits(CODE_BITS):0{CODE_BITS // 4}x}" for _ in range(checks.whole(owners=owners))]
    codes = list(owners)
    if not codes or len(set(codes)) < len(codes):
        raise InvalidParameter("codes", len(codes), "must be different, and at least one", "Write one in each line.")
    if any(len(code) < SHORTEST_CODE or len(code.split()) != 1 for code in codes):
        why = f"must have at least {SHORTEST_CODE} characters and no spaces: shorter ones can be guessed"
        raise InvalidParameter("codes", len(codes), why, "Let lapwing make them: --owners N.")
    return codes
