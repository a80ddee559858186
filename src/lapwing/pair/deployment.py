"""The file of a pair: columns and their public domains, what may be spent, the two servers and who may ask.

Everybody has the same file: owners, both servers, analysts. Its fingerprint is part of every upload and every question.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from lapwing import checks
from lapwing.calls import closest
from lapwing.curator.ask.documents import read_yaml
from lapwing.curator.plan.expressions import KINDS
from lapwing.errors import InvalidParameter
from lapwing.pair.domains import MOST_LISTED, Binned, Digits, Domain, Layout, Listed, Numbers
from lapwing.pair.links import Place
from lapwing.pair.trust import TRUST
from lapwing.privacy import ApproxDP
from lapwing.privacy.allowances import LARGEST_DELTA, LARGEST_SIZE

VERSION = 1
UNMADE = "not made yet"
"""Where a certificate will be."""
_FIELDS = ("lapwing_pair", "name", "unit", "columns", "relation", "products", "allowance", "servers", "analysts")
_HINT = "See docs/pair.md for a file."


@dataclass(frozen=True, slots=True)
class Server:
    """Where a server is, and its certificate."""

    name: str
    address: str
    certificate: str

    @property
    def place(self) -> tuple[str, int]:
        """Host and port."""
        host, _, port = self.address.rpartition(":")
        return host, int(port)


@dataclass(frozen=True)
class Deployment:
    """The file of a pair: what owners, servers and analysts must agree on.

    Attributes:
        name: The name of the table, as questions write it.
        unit: Whom a row is about.
        layout: The public domains of the columns, the relation and the number of products.
        allowance: What each server's ledger allows in all.
        servers: Name, address and certificate of the two servers.
        content: The whole file in one canonical text, which the fingerprint is made of.

    >>> from lapwing import pair
    >>> import tempfile
    >>> folder = tempfile.mkdtemp() + "/clinic"
    >>> _ = pair.make(folder, name="clinic", columns={"smoker": {"values": [False, True]}}, owners=20, epsilon=3)
    >>> deployment = pair.Deployment.read(folder)
    >>> [server.name for server in deployment.servers], list(deployment.analysts)
    (['as', 'csp'], ['analyst'])
    >>> print(deployment.allowance)
    ε = 3, δ = 1e-09 (replace, per person, towards either server alone)
    """

    name: str
    unit: str
    layout: Layout
    allowance: ApproxDP
    servers: tuple[Server, Server]
    analysts: Mapping[str, str]
    """Certificates by name."""
    content: str

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the whole file. It is part of every upload and every question."""
        return hashlib.sha256(self.content.encode()).hexdigest()

    @cached_property
    def subject(self) -> str:
        """A hash of what rows and charges are about: the meaning of each bit, the products, and who is charged.

        Addresses, keys and analysts are no part of it.
        """
        columns, layout = json.loads(self.content)["columns"], self.layout
        facts = [self.name, self.unit, layout.relation, layout.products, columns]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()

    def place_of(self, name: str) -> Place:
        """The place of a server, by its name.

        Args:
            name: The name of a server.

        Returns:
            0 for the first server of the file, 1 for the second.

        Raises:
            InvalidParameter: If the file has no such server.

        >>> from lapwing import pair
        >>> import tempfile
        >>> folder = tempfile.mkdtemp() + "/clinic"
        >>> _ = pair.make(folder, name="clinic", columns={"smoker": {"values": [False, True]}}, owners=20, epsilon=3)
        >>> pair.Deployment.read(folder).place_of("csp")
        1
        """
        names = [server.name for server in self.servers]
        if name not in names:
            raise InvalidParameter("server", name, "is not in the file", f"Write one of: {', '.join(names)}.")
        return 0 if name == names[0] else 1

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Deployment:
        """Read and check the file of a pair.

        Args:
            path: The YAML file, or the folder with `pair.yaml`.

        Returns:
            What the file says.

        Raises:
            InvalidParameter: If there is no such file, or something is wrong with it.
        """
        path = Path(path)
        if path.is_dir():
            path = path / "pair.yaml"
        try:
            text = path.read_text(encoding="utf-8")
        except OSError:
            why = "does not exist, or cannot be read"
            raise InvalidParameter("file", str(path), why, "Make one: lapwing pair new FOLDER --columns …") from None
        return cls.parsed(text)

    @classmethod
    def parsed(cls, text: str) -> Deployment:
        """Check the text of the file of a pair.

        Args:
            text: The content of the YAML file.

        Returns:
            What the file says.

        Raises:
            InvalidParameter: If something is wrong with it.

        >>> from lapwing import pair
        >>> import tempfile
        >>> from pathlib import Path
        >>> folder = tempfile.mkdtemp() + "/clinic"
        >>> _ = pair.make(folder, name="clinic", columns={"smoker": {"values": [False, True]}}, owners=20, epsilon=3)
        >>> pair.Deployment.parsed(Path(folder, "pair.yaml").read_text()) == pair.Deployment.read(folder)
        True
        """
        data = _fields(read_yaml(text, name="pair.yaml"), "file", _FIELDS)
        if data.get("lapwing_pair") != VERSION:
            raise InvalidParameter("lapwing_pair", data.get("lapwing_pair"), "is not a known version", _HINT)
        domains = domains_of(data.get("columns"))
        layout = Layout(domains, data.get("relation", "replace"), data.get("products", 16))
        unit = _text(data.get("unit", "person"), "unit")
        servers = [_server(entry) for entry in _list(data.get("servers"), "servers")]
        if len(servers) != 2 or servers[0].name == servers[1].name:
            raise InvalidParameter("servers", len(servers), "must be two, with different names", _HINT)
        keys = {server.certificate.strip() for server in servers}
        if len(keys) < 2 and not keys <= {UNMADE}:
            why = "have the same certificate, so anybody who has its key is both of them"
            raise InvalidParameter("servers", servers[0].name, why, "Make a key for each: lapwing pair key FOLDER csp.")
        analysts = _fields(data.get("analysts", {}), "analysts")
        return cls(
            _text(data.get("name"), "name"),
            unit,
            layout,
            _allowance(data.get("allowance"), layout, unit),
            (servers[0], servers[1]),
            {name: _text(certificate, name) for name, certificate in analysts.items()},
            json.dumps({**data, "columns": [*data["columns"].items()]}, sort_keys=True, default=str),  # in their order
        )


def domains_of(data: Any) -> tuple[Domain, ...]:
    """The public domains that a file declares."""
    columns = _fields(data, "columns")
    return tuple(
        _domain(name, _fields(entry, name, ("type", "values", "bounds", "bins"))) for name, entry in columns.items()
    )


def _domain(name: str, entry: Mapping[str, Any]) -> Domain:
    ways = [way for way in ("values", "bounds", "bins") if way in entry]
    if len(ways) != 1:
        why = "must have values, bounds or bins, and only one of them"
        raise InvalidParameter("columns", name, why, "Write age: {bounds: [17, 90]}, or sex: {values: [f, m]}.")
    if "values" in entry:
        values = tuple(_list(entry["values"], name))
        kind = entry.get("type") or _kind(values)
        return Listed(name, KINDS[KINDS.index(checks.one_of(KINDS, type=kind))], values)
    if "bins" in entry:
        return Binned.of(name, [checks.exact(bins=edge) for edge in _list(entry["bins"], name)])
    low, high = (checks.exact(bounds=end) for end in _list(entry["bounds"], name))
    if low.denominator != 1 or high.denominator != 1 or not low < high:
        why = "must be two whole numbers, the lower one first"
        raise InvalidParameter("bounds", name, why, "For other numbers write bins: [0, 0.5, 1].")
    if high - low < MOST_LISTED:
        return Numbers.of(name, int(low), int(high))
    return Digits(name, "integer", int(low), int(high))


def _kind(values: tuple[Any, ...]) -> str:
    kinds = {bool: "boolean", int: "integer", float: "number", str: "text"}
    own = {kinds.get(type(value), "text") for value in values}
    return own.pop() if len(own) == 1 else "text"


def _allowance(data: Any, layout: Layout, unit: str) -> ApproxDP:
    entry = _fields(data, "allowance", ("epsilon", "delta"))
    epsilon = checks.positive(epsilon=entry.get("epsilon"))
    delta = checks.probability(delta=entry.get("delta", Fraction(1, 10**9)))
    if epsilon > LARGEST_SIZE or delta > LARGEST_DELTA:
        why = f"protects nobody: epsilon can be {LARGEST_SIZE:,} at most, and delta {LARGEST_DELTA}"
        raise InvalidParameter(
            "allowance", f"ε = {float(epsilon):g}, δ = {float(delta):g}", why, "Write an epsilon of 3."
        )
    return ApproxDP(epsilon, delta, relation=layout.relation, unit=unit, trust=TRUST)


def _server(data: Any) -> Server:
    entry = _fields(data, "servers", ("name", "address", "certificate"))
    server = Server(*(_text(entry.get(name), name) for name in ("name", "address", "certificate")))
    host, _, port = server.address.rpartition(":")
    if not host or not port.isdigit():
        raise InvalidParameter("address", server.address, "has no port", "Write address: 127.0.0.1:8201.")
    return server


def _fields(data: Any, name: str, known: tuple[str, ...] | None = None) -> dict[str, Any]:
    if not isinstance(data, dict) or not all(isinstance(key, str) for key in data):
        raise InvalidParameter(name, type(data), "must be a mapping", _HINT)
    for key in data if known is not None else ():
        if key not in (known or ()):
            meant = closest(key, known or ())
            hint = f"Did you mean {meant}?" if meant else f"There are: {', '.join(known or ())}."
            raise InvalidParameter(name, key, "is not a known field", hint)
    return data


def _list(data: Any, name: str) -> list[Any]:
    if not isinstance(data, list) or not data:
        raise InvalidParameter(name, data, "must be a list that is not empty", _HINT)
    return data


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str) or not value:
        raise InvalidParameter(name, value, "must be text", _HINT)
    return value
