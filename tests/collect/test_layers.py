"""The layers for shufflers: the same bytes in the library and in browsers, from the same random bytes, for ever."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from collecting import CROWD, Keys, document
from hpke import sealed_with
from in_node import in_node, signed

from lapwing.collect import blinding, oprf, reader, sealing
from lapwing.collect.crowds import crowd_id
from lapwing.collect.keys import Key
from lapwing.collect.sealing import ID_BYTES, layer_info, opened, opened_by, row_bytes, seal
from lapwing.noise import Entropy

VECTORS = json.loads((Path(__file__).parent / "vectors" / "layers.json").read_text(encoding="utf-8"))
SECRETS = {name: bytes.fromhex(secret) for name, secret in VECTORS["secrets"].items()}
CASES = VECTORS["cases"]


class Given(Entropy):
    """Bits that were written down: each draw must ask for as many as there are."""

    private = False

    def __init__(self, draws: list[bytes]) -> None:
        self._draws: Iterator[bytes] = iter(draws)

    def bits(self, count: int) -> int:
        value = int.from_bytes(next(self._draws), "little")
        assert value < 1 << count
        return value

    def fill(self, target: memoryview) -> None:
        raise NotImplementedError


def drawn_by_library(draws: list[str]) -> tuple[list[bytes], list[bytes]]:
    """What the library draws itself (ids, and what hides a crowd), and the keys of messages, which HPKE draws."""
    raw = [bytes.fromhex(draw) for draw in draws]
    keys = {1, 3} if len(raw) == 4 else {1, 4, 6}
    return [draw for place, draw in enumerate(raw) if place not in keys], [raw[place] for place in sorted(keys)]


@pytest.mark.parametrize("name", CASES)
def test_the_library_makes_these_bytes_from_these_draws(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = CASES[name]
    collection = reader.read(case["collection"])
    assert collection.crowd is not None
    draws, once = drawn_by_library(case["draws"])
    monkeypatch.setattr(sealing, "sealed_for", lambda key, plain, info: sealed_with(once.pop(0), key, plain, info))
    report = bytes.fromhex(case["report"])
    crowd = collection.crowd.name(report, answer=case["answer"], attribute=case["attribute"])
    assert crowd.hex() == case["crowd"]
    assert seal(collection, 1, report, Given(draws), crowd=crowd).hex() == case["sealed"]


@pytest.mark.parametrize("name", CASES)
def test_every_party_opens_its_layer_and_finds_what_it_should(name: str) -> None:
    case = CASES[name]
    collection = reader.read(case["collection"])
    ids, crowd = iter(drawn_by_library(case["draws"])[0]), crowd_id(collection, bytes.fromhex(case["crowd"]))
    inner = next(ids)
    sealed = bytes.fromhex(case["sealed"])
    assert len(sealed) == row_bytes(collection, collection.after("ingestor"))
    if collection.transport == "shuffled":
        plain = _opened(collection, "shuffler", sealed)
        assert plain[:ID_BYTES] == next(ids)
        assert plain[ID_BYTES : ID_BYTES + 32] == crowd
        sealed = plain[ID_BYTES + 32 :]
    else:
        scalar = (1 + int.from_bytes(next(ids), "little")).to_bytes(32, "little")
        plain = _opened(collection, "blinder", sealed)
        pair, payload = plain[ID_BYTES:][: blinding.PAIR_BYTES], plain[ID_BYTES + blinding.PAIR_BYTES :]
        assert pair[:32] == oprf.base_times(scalar)
        assert blinding.pseudonym(pair, SECRETS["crowds"]) == oprf.hash_to_group(crowd)
        inside = _opened(collection, "thresholder", payload)
        assert [inside[:ID_BYTES], plain[:ID_BYTES]] == list(ids)
        sealed = inside[ID_BYTES:]
    assert opened(collection, 1, Key("x25519", SECRETS["reports"]).private, sealed) == (
        inner,
        bytes.fromhex(case["report"]),
    )


def _opened(collection: Any, party: str, sealed: bytes) -> bytes:
    key = Key("x25519", SECRETS[party])
    plain = opened_by(key.private, sealed, layer_info(party, collection.digest, 1))
    assert plain is not None
    return plain


def test_browsers_make_these_bytes_from_these_draws() -> None:
    names = ("collection", "report", "place", "attribute", "draws")
    made = in_node(*({"job": "layers", **{name: case[name] for name in names}} for case in CASES.values()))
    assert made == [{"crowd": case["crowd"], "sealed": case["sealed"], "left": 0} for case in CASES.values()]


def test_a_draw_that_is_too_large_is_drawn_again() -> None:
    case = CASES["blinded, report"]
    draws = list(case["draws"])
    too_large = (oprf.ORDER - 1).to_bytes(32, "little").hex()
    draws[2:2] = [too_large, "ff" * 32]
    names = ("collection", "report", "place", "attribute")
    [made] = in_node({"job": "layers", **{name: case[name] for name in names}, "draws": draws})
    assert made == {"crowd": case["crowd"], "sealed": case["sealed"], "left": 0}


KEYS = Keys()
LETTERS = ["bus", "Straße", "é", "日本語", "😀😀x", "a\ud800b"]


@pytest.mark.parametrize("prefix", [None, 1, 2])
def test_crowds_of_answers_have_the_same_names_in_browsers(prefix: int | None) -> None:
    crowd = {**CROWD, "from": "answer"} | ({} if prefix is None else {"prefix": prefix})
    protocols: list[tuple[dict[str, Any], list[tuple[Any, Any]]]] = [
        ({"protocol": "UnaryEncoding", "epsilon": 1, "domain": LETTERS}, [(word, n) for n, word in enumerate(LETTERS)]),
        ({"protocol": "CategoryResponse", "epsilon": 1, "domain": 12}, [(0, 0), (11, 11), (None, None)]),
        ({"protocol": "BinaryResponse", "yes_if_yes": "3/4", "yes_if_no": "1/4"}, [(True, True), (False, False)]),
        (
            {"protocol": "StochasticRounding", "flip": "1/4", "bounds": ["0", "24"]},
            [(7.5, "7,50"), (8, "08.0"), (-0.25, "-.25"), (0, "-0"), (1200, "1.2e3"), (None, None)],
        ),
    ]
    jobs, expected = [], []
    for protocol, answers in protocols:
        collection = signed(KEYS, transport="blinded", crowd=crowd, protocol=protocol)
        assert collection.crowd is not None
        for answer, given in answers:
            jobs.append({"job": "crowd", "text": collection.to_json().decode(), "answer": given})
            expected.append({"crowd": collection.crowd.name(b"", answer=answer).hex()})
    assert in_node(*jobs) == expected


def test_a_browser_takes_no_attribute_that_the_file_does_not_list() -> None:
    crowd = {**CROWD, "from": "attribute", "values": ["north", "süd"]}
    text = signed(KEYS, transport="shuffled", crowd=crowd).to_json().decode()
    jobs = [{"job": "crowd", "text": text, "answer": 0, "attribute": value} for value in ("süd", "east", None)]
    named, *refused = in_node(*jobs)
    assert bytes.fromhex(named["crowd"]) == "attribute\nsüd".encode()
    assert refused == [{"refused": "Choose a group that the collection lists."}] * 2


def test_a_way_that_a_browser_does_not_know_is_refused() -> None:
    for other in ({"transport": "prio3"}, {"transport": "shuffled", "fragments": {"by": "report", "count": 3}}):
        written = document(KEYS) | other
        [read] = in_node({"job": "refused", "text": json.dumps(written | {"operator": "", "signature": ""})})
        assert "in a way that this page does not know" in read["why"]
