"""Text that is not UTF-8, in the encoding that its owner states: any bytes at all are read, and no record is lost."""

from __future__ import annotations

import gzip
import random
import tempfile
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import lapwing as lw
from lapwing.cli.commands import app
from lapwing.curator.engines import encodings
from lapwing.curator.engines.encodings import ENCODINGS, Copies, encoding_of
from lapwing.curator.tables.descriptions import describe, open_described
from lapwing.curator.tables.sources import find_source
from lapwing.errors import InvalidParameter

OTHERS = ["latin-1", "windows-1252", "utf-16"]
STRUCTURE = set(b',"\r\n')
EXACT = 10**9


def cells(path: Path, encoding: str, **more: Any) -> list[tuple[Any, ...]]:
    """All of a file, as questions see it."""
    from sqlglot import exp

    found = find_source(path, encoding=encoding, **more)
    with found.engine.session([found.relation]) as session:
        return session.fetch(exp.select("*").from_(found.relation.table.copy()))


def units(raw: bytes, encoding: str) -> bytes:
    """Bytes as a file in this encoding has them, one for each."""
    return b"".join(bytes([byte, 0]) for byte in raw) if encoding == "utf-16" else raw


def written(path: Path, records: list[bytes], encoding: str) -> Path:
    """A file with the records as they are."""
    mark = b"\xff\xfe" if encoding == "utf-16" else b""
    end = units(b"\n", encoding)
    path.write_bytes(mark + end.join([units(b"u,x", encoding), *records]) + end)
    return path


@pytest.mark.parametrize("encoding", ["latin-1", "windows-1252"])
def test_every_byte_is_a_character(tmp_path: Path, encoding: str) -> None:
    bytes_ = [byte for byte in range(256) if byte not in STRUCTURE]
    path = written(tmp_path / "t.csv", [b"%d,<%c>" % (byte, byte) for byte in bytes_], encoding)
    found = {int(u): x for u, x in cells(path, encoding)}
    codec = "cp1252" if encoding == "windows-1252" else "latin-1"
    undefined = {0x81, 0x8D, 0x8F, 0x90, 0x9D} if encoding == "windows-1252" else set()
    assert found == {byte: f"<{chr(byte) if byte in undefined else bytes([byte]).decode(codec)}>" for byte in bytes_}


@pytest.mark.parametrize("encoding", OTHERS)
def test_no_bytes_of_a_record_are_lost_or_touch_another(tmp_path: Path, encoding: str) -> None:
    draw = random.Random(encoding)
    words = [bytes(draw.randrange(256) for _ in range(2 * draw.randrange(1, 8))) for _ in range(300)]
    if encoding == "utf-16":
        words += [b"\x00\xd8", b"\x00\xdc", b"\x00\xdc\x00\xd8", b"\x3d\xd8\x00\xde", b"\xfe\xff", b"\xff\xfe"]
        marks = {mark.to_bytes(2, "little") for mark in STRUCTURE}
        words = [w for w in words if not any(w[i : i + 2] in marks for i in range(0, len(w), 2))]
    else:
        words = [bytes(byte for byte in word if byte not in STRUCTURE) or b"-" for word in words]
    records = [units(b"%d," % i, encoding) + word for i, word in enumerate(words)]
    found = cells(written(tmp_path / "t.csv", records, encoding), encoding)
    assert [int(u) for u, _ in found] == list(range(len(words)))
    assert all(isinstance(x, str) and x for _, x in found)
    less = cells(written(tmp_path / "t.csv", records[:100] + records[101:], encoding), encoding)
    assert less == found[:100] + found[101:]


@pytest.mark.parametrize("encoding", OTHERS)
def test_names_quotes_and_other_separators_are_read_in_the_same_encoding(tmp_path: Path, encoding: str) -> None:
    text = 'Größe;Prénom\r\n1;"a ""ç""; \r\nb"\r\n2;€uro ŵ 😀\r\n'.encode(encoding, "ignore")
    packed = tmp_path / "t.csv.gz"
    packed.write_bytes(gzip.compress(text))
    (tmp_path / "t.csv").write_bytes(text)
    for path in (packed, tmp_path / "t.csv"):
        assert list(find_source(path, encoding=encoding, delimiter=";").kinds) == ["Größe", "Prénom"]
        first, second = cells(path, encoding, delimiter=";")
        assert first == ("1", 'a "ç"; \r\nb')
        assert second == ("2", {"latin-1": "uro  ", "windows-1252": "€uro  ", "utf-16": "€uro ŵ 😀"}[encoding])


def test_a_character_may_lie_across_two_pieces(tmp_path: Path) -> None:
    path, text = tmp_path / "t.csv", "u,x\n" + "".join(f"{i},{'😀' * 30}\n" for i in range(20_000))
    for start in ("", "a"):
        path.write_bytes((start + text).encode("utf-16"))
        assert path.stat().st_size > 2 * encodings.PIECE
        assert {x for _, x in cells(path, "utf-16")} == {"😀" * 30}


@pytest.mark.parametrize("mark", ["utf-16-le", "utf-16-be"])
def test_utf_16_has_a_mark_that_says_its_order(tmp_path: Path, mark: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("\ufeffu,x\n1,ä\n".encode(mark))
    assert cells(path, "utf-16") == [("1", "ä")]
    path.write_bytes("u,x\n1,ä\n".encode(mark))
    with pytest.raises(InvalidParameter, match="does not begin with its mark"):
        find_source(path, encoding="utf-16")


def test_questions_are_answered_and_saved_descriptions_say_the_encoding(tmp_path: Path) -> None:
    path = tmp_path / "städte.csv"
    path.write_bytes("wer,Stadt,größe\n1,Köln,170\n2,Köln,180\n3,Nürnberg,190\n".encode("windows-1252"))
    facts: dict[str, Any] = {"unit": "wer", "keys": {"Stadt": ["Köln", "Nürnberg"]}, "bounds": {"größe": (100, 200)}}
    facts["types"] = {"größe": "integer"}
    table = lw.open(path, encoding="windows-1252", name="t", **facts)
    sql = "SELECT Stadt, SUM(größe) FROM t GROUP BY Stadt"
    for _ in range(2):
        assert [tuple(row.values()) for row in table.sql(sql, epsilon=EXACT).table] == [
            ("Köln", 350),
            ("Nürnberg", 190),
        ]
    assert table.check().hints == ()
    described = tmp_path / "t.yaml"
    assert "encoding: windows-1252\n" in describe(path, encoding="windows-1252")
    described.write_text(
        "source: städte.csv\nencoding: windows-1252\nname: t\nunit: wer\nkeys: {Stadt: [Köln, Nürnberg]}\n",
        encoding="utf-8",
    )
    grouped = open_described(described).sql("SELECT Stadt, COUNT(*) FROM t GROUP BY Stadt", epsilon=EXACT).table
    assert [tuple(row.values()) for row in grouped] == [("Köln", 2), ("Nürnberg", 1)]
    public = lw.public(path, encoding="windows-1252")
    assert [column.name for column in public.plan.columns] == ["wer", "Stadt", "größe"]


def test_the_command_line_has_it_too(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("wer,Stadt\n1,Köln\n2,Köln\n3,Bonn\n".encode("latin-1"))
    told = CliRunner().invoke(app, ["check", str(path), "--unit", "wer"])
    assert "encoding='windows-1252'" in told.output.replace("\n", " ")
    question = ["--unit", "wer", "--keys", "Stadt=Köln,Bonn", "--encoding", "latin-1", "--epsilon", "1000"]
    asked = CliRunner().invoke(
        app, ["query", str(path), "SELECT Stadt, COUNT(*) AS n FROM t GROUP BY Stadt", *question]
    )
    assert asked.exit_code == 0, asked.output
    assert "Köln" in asked.output
    template = CliRunner().invoke(app, ["describe", str(path), "--encoding", "latin-1"])
    assert "encoding: latin-1" in template.output


def test_a_first_line_in_another_encoding_is_refused_with_a_hint(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    for raw in ("wer,größe\n1,2\n".encode("latin-1"), "wer,x\n1,2\n".encode("utf-16")):
        path.write_bytes(raw)
        with pytest.raises(InvalidParameter, match="encoding='windows-1252'"):
            lw.open(path, unit="wer")


@pytest.mark.parametrize("wrong", ["ebcdic", "", 7, "utf-7", "utf-16-le", "shift-jis"])
def test_other_encodings_are_refused(tmp_path: Path, wrong: Any) -> None:
    path = tmp_path / "t.csv"
    path.write_text("u\n1\n")
    with pytest.raises(InvalidParameter, match="Write one of 'utf-8', 'latin-1', 'windows-1252', 'utf-16'"):
        lw.open(path, unit="u", encoding=wrong)


def test_other_names_mean_the_same() -> None:
    assert encoding_of("ISO-8859-1") == encoding_of("latin1") == ENCODINGS["latin-1"]
    assert encoding_of("cp1252") == ENCODINGS["windows-1252"]
    assert encoding_of(None) == encoding_of("UTF-8")


def test_it_is_for_csv_files_only(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match="is for CSV files"):
        lw.open({}, unit="u", encoding="latin-1")
    with pytest.raises(InvalidParameter, match="is for CSV files"):
        lw.open(tmp_path / "t.parquet", unit="u", encoding="latin-1")


def test_the_copy_is_for_nobody_else_and_goes_with_the_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room, path = tmp_path / "room", tmp_path / "t.csv"
    room.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(room))
    path.write_bytes("u,x\n1,ä\n".encode("latin-1"))
    found = find_source(path, encoding="latin-1")
    with found.engine.session([found.relation]):
        [folder] = [one for one in room.iterdir() if list(one.glob("*.csv"))]
        assert folder.stat().st_mode & 0o077 == 0
    assert not folder.exists()
    with pytest.raises(ZeroDivisionError), found.engine.session([found.relation]):
        raise ZeroDivisionError
    assert not [one for one in room.iterdir() if list(one.glob("*.csv"))]


def test_copying_stops_when_it_is_told_to(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"u\n1\n")
    with Copies() as copies, path.open("rb") as source:
        copies.stop()
        with pytest.raises(InterruptedError):
            copies.of(source, ENCODINGS["latin-1"])


def test_a_file_that_is_gone_trips_no_breaker(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"u\n1\n")
    table = lw.open(path, unit="u", encoding="latin-1")
    path.unlink()
    for _ in range(5):
        with pytest.raises(lw.errors.EngineUnreachable):
            table.sql("SELECT COUNT(*) FROM t", epsilon=1)


def released(path: Path, folder: Path, **more: Any) -> lw.Answer:
    """The answer to one question of one key, about whatever is read from a file."""
    more = {"unit": "p", "keys": {"s": ["€", "x"]}, "ledger": folder / "l.db"} | more
    table = lw.open(path, name="u", dataset="u", allowance=lw.PureDP(100), **more)
    return table.group_by("s").agg(lw.count()).release(epsilon=20, key="k")


@pytest.mark.parametrize("first", ["latin-1", None])
def test_a_key_belongs_to_the_encoding_with_which_it_was_asked(tmp_path: Path, first: str | None) -> None:
    path = tmp_path / "u.csv"
    path.write_bytes(b"p,s\n" + b"".join(b"%d,\x80\n" % i for i in range(100)))
    assert [round(value) for value in released(path, tmp_path, encoding=first)["count"]] == [0, 0]
    with pytest.raises(InvalidParameter, match="was used for another question"):
        released(path, tmp_path, encoding="windows-1252")
    again = released(path, tmp_path, encoding={"latin-1": "iso-8859-1", None: "utf8"}[first])
    assert again.repeated, "another name of the same encoding is the same question"


def test_a_key_belongs_to_the_delimiter_where_the_names_of_the_columns_do_not_tell_it(tmp_path: Path) -> None:
    path = tmp_path / "u.csv"
    path.write_text("a;b,c\n" + "".join(f"{i};€,x\n" for i in range(100)))
    named: dict[str, Any] = {"names": ["p", "s"]}
    assert [round(value) for value in released(path, tmp_path, **named)["count"]] == [0, 100]
    assert released(path, tmp_path, delimiter=",", **named).repeated, "it is the usual one"
    with pytest.raises(InvalidParameter, match="was used for another question"):
        released(path, tmp_path, delimiter=";", **named)
    path.write_text("s\n" + "€;x\n" * 100)
    one: dict[str, Any] = {"unit": lw.EACH_ROW, "ledger": tmp_path / "one.db"}
    assert [round(value) for value in released(path, tmp_path, delimiter=";", **one)["count"]] == [100, 0]
    with pytest.raises(InvalidParameter, match="was used for another question"):
        released(path, tmp_path, **one)


def test_keys_of_tables_that_are_read_as_usual_are_bound_as_they_always_were(tmp_path: Path) -> None:
    path = tmp_path / "u.csv"
    path.write_text("p;s\n" + "".join(f"{i};x\n" for i in range(100)))
    more: dict[str, Any] = {"unit": "p", "keys": {"s": ["€", "x"]}, "name": "u", "delimiter": ";"}
    question = lw.open(path, **more).group_by("s").agg(lw.count())
    spent = lw.PureDP(20, unit="p")
    book = lw.Ledger(tmp_path / "l.db")
    book.open("u", lw.PureDP(100, unit="p"))
    answer = question.release(epsilon=20)
    charge = book.charge(
        "u", spent, key="k", binding={"question": question.digest(), "loss": str(spent), "confidence": 0.95}
    )
    book.record(charge, answer.to_json().encode())
    assert released(path, tmp_path, delimiter=";").repeated
