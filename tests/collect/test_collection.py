"""The file of a collection: what it says, what is refused, and what a signature covers."""

from __future__ import annotations

import random
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from collecting import DAY, Keys, document, text
from protocols import ALL_PROTOCOLS

from lapwing.collect import documents, reader
from lapwing.collect.keys import Key
from lapwing.crowd.catalogue import PROTOCOLS, protocol_from
from lapwing.errors import InvalidParameter

KEYS = Keys()
SIGNED = reader.sign(reader.checked(document(KEYS)), KEYS.operator)


def test_a_file_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "commute.yaml"
    path.write_text(SIGNED.to_yaml(), encoding="utf-8")
    for again in (reader.read(path), reader.read(SIGNED.to_yaml()), reader.read(SIGNED.to_json())):
        assert again == SIGNED
        assert again.signed
        assert again.digest == SIGNED.digest
        assert again.protocol == SIGNED.protocol


def test_comments_and_order_do_not_matter_but_everything_else_does() -> None:
    lines = SIGNED.to_yaml().splitlines()
    assert reader.read("# a remark\n" + "\n".join(lines)) == SIGNED
    backwards = dict(reversed(list(SIGNED.document.items())))
    assert reader.checked(backwards) == SIGNED


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(value, dict):
        return [leaf for key, item in value.items() for leaf in leaves(item, (*path, key))]
    if isinstance(value, list):
        return [leaf for place, item in enumerate(value) for leaf in leaves(item, (*path, place))]
    return [path]


def test_no_value_of_a_signed_file_can_be_changed() -> None:
    for path in leaves(SIGNED.document):
        changed: Any = deepcopy(dict(SIGNED.document))
        place = changed
        for step in path[:-1]:
            place = place[step]
        value = place[path[-1]]
        place[path[-1]] = (
            value + 1 if isinstance(value, int) else value[:-2] + ("A" if value[-2] != "A" else "B") + value[-1]
        )
        assert reader.problems(changed), path


def test_another_operator_or_version_is_another_collection() -> None:
    other = reader.sign(SIGNED, Key.random("ed25519"))
    newer = reader.sign(reader.checked(document(KEYS, version=2)), KEYS.operator)
    assert len({SIGNED.digest, other.digest, newer.digest}) == 3


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"name": "My Survey"}, "name: must be small letters"),
        ({"version": "1"}, "version: must be a whole number"),
        ({"version": True}, "version: must be a whole number"),
        ({"consent": " "}, "consent: must be text"),
        ({"protocol": {"protocol": "Unary"}}, "is not a local protocol"),
        ({"protocol": {"protocol": "UnaryEncoding", "domain": ["a", "b"]}}, "protocol: "),
        ({"limits": {"reports_per_day": 1, "lifetime_epsilon": "0.5"}}, "is less than one report costs"),
        ({"limits": {"reports_per_day": 0, "lifetime_epsilon": 8}}, "limits.reports_per_day"),
        ({"limits": {"reports_per_day": 1, "lifetime_epsilon": 8, "per_week": 2}}, "limits.per_week: is not known"),
        ({"transport": "pigeon"}, "transport: must be direct"),
        ({"opens": "2026-13-01"}, "opens: must be a day"),
        ({"closes": "2025-01-01"}, "closes: is before"),
        ({"servers": {}}, "servers.ingestor: is missing"),
        ({"epochs": [{"number": 1}]}, "epochs[0].report_key: must be 32 bytes"),
        ({"candidates": ["x"]}, "candidates: this protocol knows"),
        ({"protocol": {"preset": "popular emoji"}}, "candidates: are missing"),
        ({"salary": 3}, "salary: is not known"),
        ({"format": "lapwing collection 9"}, "format: must be"),
        ({"operator": text(bytes(32))}, "signature: must be 64 bytes"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_wrong_file_says_what_to_write(change: dict[str, Any], complaint: str) -> None:
    found = reader.problems(document(KEYS) | change)
    assert any(complaint in problem for problem in found), found
    with pytest.raises(InvalidParameter):
        reader.checked(document(KEYS) | change)


def test_all_problems_are_listed_at_once() -> None:
    found = reader.problems(document(KEYS) | {"name": "?", "version": 0, "opens": "soon"})
    assert len(found) == 3


@pytest.mark.parametrize(
    "text",
    [
        "a: 1\na: 2",
        "a: &x [1]\nb: *x",
        "1: a",
        "- a",
        "a: !!python/object/apply:os.system [x]",
        "<<: {a: 1}",
        "a: [1",
        '{"a": 1, "a": 2}',
        '{"a": NaN}',
        "\x00",
    ],
    ids=["twice", "alias", "key", "list", "object", "merge", "cut", "json twice", "nan", "zero"],
)
def test_text_that_readers_could_read_differently_is_refused(text: str) -> None:
    with pytest.raises(InvalidParameter):
        documents.parsed(text)


def test_json_with_spaces_or_a_mark_before_it_is_json() -> None:
    """As YAML, what JSON writes for a smiley would be two characters."""
    line = documents.canonical(dict(SIGNED.document) | {"question": "😀?"})
    for before in (b"", b" ", b"\n\n", b"\r\n\t ", "\ufeff".encode(), "\ufeff ".encode()):
        assert documents.parsed(before + line)["question"] == "😀?"
        assert documents.parsed((before + line).decode())["question"] == "😀?"


def test_json_in_one_line_after_a_space_is_no_file_name() -> None:
    assert reader.read(" " + SIGNED.to_json().decode()) == SIGNED


def test_every_text_is_read_back_as_it_was_written() -> None:
    signs = [*"a \n\r\t\x85\u2028\u2029\ufeff\xa0\x00\x1b\x7f:#-'|>%&*!?{}[],é😀~0\\", '"']
    signs += ["👩\u200d🔬", "1.5", "null", "no"]
    dice = random.Random(5)
    texts = [*signs, *(a + b for a in signs for b in signs), "a\x85b\nc", "a\n\x85\n", "\n a\n", " a\nb \n"]
    texts += ["".join(dice.choices(signs, k=dice.randrange(3, 12))) for _ in range(1_000)]
    document = {f"key-{number}": text for number, text in enumerate(texts)}
    assert documents.parsed(documents.written(document)) == document
    assert documents.parsed(documents.canonical(document)) == document


def test_a_protocol_with_reports_that_are_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "LARGEST_REPORT", 20)
    with pytest.raises(InvalidParameter, match="a report has"):
        reader.checked(document(KEYS))


def test_numbers_dates_and_words_stay_what_was_written() -> None:
    words = [
        "no",
        "yes",
        "on",
        "0.10",
        "1e3",
        "2026-01-02",
        "0x1F",
        "1_000",
        "12:30",
        "~",
        "null",
        "é",
        "😀",
        " a ",
        "#b",
        "c: d",
        "",
    ]
    assert documents.parsed("a: 0.10\nb: no\nc: 2026-01-02\nd: 3\ne: true") == {
        "a": "0.10",
        "b": "no",
        "c": "2026-01-02",
        "d": 3,
        "e": True,
    }
    for written in (documents.written({"domain": words}), documents.canonical({"domain": words})):
        assert documents.parsed(written) == {"domain": words}
    with pytest.raises(InvalidParameter, match="holds a value"):
        documents.canonical({"a": 0.5})


def test_every_protocol_can_be_written_down_and_read_back() -> None:
    written = set()
    for case in ALL_PROTOCOLS:
        for protocol in (case.protocol, case.tiny):
            parameters = {"protocol": type(protocol).__name__, "version": protocol.version, **protocol.parameters()}
            again = protocol_from(documents.parsed(documents.written(parameters)))
            by_bytes = any(isinstance(getattr(protocol, name, None), bytes) for name in ("salt",))
            nested = type(protocol).__name__ == "UnknownDictionary"
            assert again == protocol or by_bytes or nested  # a salt of bytes is read as text
            written.add(type(protocol).__name__)
    assert written == set(PROTOCOLS)


def test_epochs_are_found_by_day_and_by_number() -> None:
    assert SIGNED.epoch(DAY) is SIGNED.numbered(1) is not None
    assert SIGNED.epoch(DAY.replace(year=2025)) is None
    assert SIGNED.numbered(2) is None
    assert SIGNED.tokens_each(SIGNED.epochs[0]) == 47
