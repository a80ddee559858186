"""A file that was changed: what rows mean, and what was used up and charged, stays bound to the file they came with."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from two_servers import NAMES, made

from lapwing.curator.ask.documents import read_yaml, write_yaml
from lapwing.errors import InvalidParameter
from lapwing.pair.certificates import listening, new_certificate
from lapwing.pair.deployment import Deployment
from lapwing.pair.server import PairServer


def rewritten(folder: Path, **changed: Any) -> Path:
    """The same folder, with something else in its file."""
    file = folder / "pair.yaml"
    file.write_text(write_yaml({**read_yaml(file.read_text(), name="pair.yaml"), **changed}), encoding="utf-8")
    return folder


def columns_of(folder: Path) -> Mapping[str, Any]:
    columns: Mapping[str, Any] = read_yaml((folder / "pair.yaml").read_text(), name="pair.yaml")["columns"]
    return columns


def test_columns_in_another_order_are_another_file(tmp_path: Path) -> None:
    """The order says which bit means what: an owner with another order would upload another row."""
    folder = made(tmp_path / "p")
    before = Deployment.read(folder)
    after = Deployment.read(rewritten(folder, columns=dict(reversed(columns_of(folder).items()))))
    assert before.layout.places != after.layout.places
    assert before.fingerprint != after.fingerprint


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("what", ["name", "unit", "relation", "products", "columns", "order"])
def test_rows_are_not_served_with_a_file_that_says_something_else_about_them(
    tmp_path: Path, name: str, what: str
) -> None:
    """With another name the ledger would begin anew; with other columns, products that are gone would be used again."""
    folder = made(tmp_path / "p")
    columns = columns_of(folder)
    changes = {
        "name": {"name": "somebody"},
        "unit": {"unit": "household"},
        "relation": {"relation": "add_remove"},
        "products": {"products": 3},
        "columns": {"columns": {f"new_{column}": entry for column, entry in columns.items()}},
        "order": {"columns": dict(reversed(columns.items()))},
    }
    PairServer(folder, name)
    rewritten(folder, **changes[what])
    with pytest.raises(InvalidParameter, match="than the rows in this folder were made for"):
        PairServer(folder, name)


@pytest.mark.parametrize("name", NAMES)
def test_servers_may_move_and_analysts_may_change(tmp_path: Path, name: str) -> None:
    folder = made(tmp_path / "p")
    data = read_yaml((folder / "pair.yaml").read_text(), name="pair.yaml")
    servers = [{**server, "address": "127.0.0.1:9"} for server in data["servers"]]
    PairServer(rewritten(folder, servers=servers, analysts={}), name)


def test_one_key_for_both_servers_is_refused(tmp_path: Path) -> None:
    folder = made(tmp_path / "p")
    first, second = read_yaml((folder / "pair.yaml").read_text(), name="pair.yaml")["servers"]
    rewritten(folder, servers=[first, {**second, "certificate": first["certificate"]}])
    with pytest.raises(InvalidParameter, match="anybody who has its key is both of them"):
        Deployment.read(folder)


def test_certificates_need_no_line_at_their_end(tmp_path: Path) -> None:
    names = ("as", "csp", "ada")
    certificates = [new_certificate(tmp_path / f"{name}.pem", name).strip() for name in names]
    context = listening(tmp_path / "as.pem", certificates[1:])
    assert len(context.get_ca_certs()) == 2
