"""The proof lives beside the code and goes stale loudly."""

from __future__ import annotations

import importlib
import inspect
import shutil
from dataclasses import replace
from pathlib import Path

import proofs
import pytest
from closure import House


@pytest.mark.parametrize("proof", proofs.all_proofs(), ids=lambda proof: proof.name)
def test_proof_is_current(proof: proofs.Proof) -> None:
    assert proof.is_current(), "run tools/proofs.py: it says what changed since the proof was read"
    assert not proof.changed(), f"tools/digests/{proof.name}.txt is not of the code that the proof was read against"


def test_every_exported_mechanism_is_covered_by_a_proof() -> None:
    mechanisms = importlib.import_module("lapwing.mechanisms")
    covered = {entry for proof in proofs.all_proofs() for entry in proof.covers}
    exported = [getattr(mechanisms, name) for name in mechanisms.__all__]
    unproven = [
        f"{thing.__module__}:{thing.__qualname__}"
        for thing in exported
        if inspect.isclass(thing) and hasattr(thing, "privacy_loss")
    ]
    assert unproven, "no mechanism found: this test would prove nothing"
    assert set(unproven) <= covered, "every mechanism needs a proof: list it under `covers` of a mechanisms/*.md"


def test_a_proof_has_a_claim_and_references() -> None:
    for proof in proofs.all_proofs():
        body = proof.path.read_text(encoding="utf-8").split("---\n", 2)[2].lower()
        for word in ("claim", "proof", "reference", "neighbour"):
            assert word in body, f"{proof.name}.md says nothing under the word {word!r}"


def changed(room: Path, before: str, after: str, *covers: str) -> list[str]:
    """The units of a module called lapwing.room.sample that part, of those that the entries rest on."""
    room.mkdir(parents=True, exist_ok=True)
    (room / "sample.py").write_text(before)
    old = House(room.parents[1]).units(covers)
    (room / "sample.py").write_text(after)
    new = House(room.parents[1]).units(covers)
    return sorted(unit.partition(":")[2] for unit in old | new if old.get(unit) != new.get(unit))


@pytest.mark.parametrize(
    ("before", "after", "units"),
    [
        ('class A:\n    """Doc."""\n    x = 1\n    """Why."""\n', "class A:\n    x   =   1  # why\n", []),
        ("class A:\n    x = 1\n", "class A:\n    x = 2\n", ["A"]),
        ("class A:\n    x = None\n", "class A:\n    x = False\n", ["A"]),
        ("class A:\n    x = 1\n", "class A:\n    x = 1.0\n", ["A"]),
        ("class A:\n    def f(self): return 1\n", 'class A:\n    def f(self):\n        "Doc."\n        return 1\n', []),
        ("class A:\n    def f(self, a): return a\n", "class A:\n    def f(self, *, a): return a\n", ["A.f"]),
        ("B = 1\nclass A: ...\n", "B = 2\nclass A: ...\n", []),
        ("B = 1\nclass A:\n    x = B\n", "B = 2\nclass A:\n    x = B\n", ["B"]),
        ("B = 1\nclass A:\n    x: B\n", "B = 2\nclass A:\n    x: B\n", []),
        (
            "B = 1\ndef g(): return B\nclass A:\n    def f(self): return g()\n",
            "B = 1\ndef g(): return -B\nclass A:\n    def f(self): return g()\n",
            ["g"],
        ),
        (
            "class B:\n    def g(self): return 1\nclass A(B): ...\n",
            "class B:\n    def g(self): return 2\nclass A(B): ...\n",
            ["B.g"],
        ),
        ("if True:\n    B = 1\nclass A:\n    x = B\n", "if True:\n    B = 2\nclass A:\n    x = B\n", ["B"]),
        (
            "@one\ndef f(a): ...\n@f.register\ndef g(a): ...\nA = f\n",
            "@one\ndef f(a): ...\n@f.register\ndef g(a): 1\nA = f\n",
            ["g"],
        ),
    ],
)
def test_a_proof_rests_on_what_its_code_uses_and_on_nothing_else(
    tmp_path: Path, before: str, after: str, units: list[str]
) -> None:
    assert changed(tmp_path / "lapwing" / "room", before, after, "lapwing.room.sample:A") == units


def test_imports_are_followed_inside_a_room(tmp_path: Path) -> None:
    room = tmp_path / "lapwing" / "room"
    for name, text in {
        "user": "from lapwing.room import sample\nfrom lapwing.room.sample import C\ndef f(): return sample.B + C\n",
        "__init__": "",
    }.items():
        room.mkdir(parents=True, exist_ok=True)
        (room / f"{name}.py").write_text(text)
    assert changed(room, "B = 1\nC = 1\nD = 1\n", "B = 2\nC = 2\nD = 2\n", "lapwing.room.user:f") == ["B", "C"]


@pytest.mark.parametrize(
    ("proof", "file", "code", "broken"),
    [
        ("laplace", "mechanisms/laplace.py", "SMALLEST_SCALE = Fraction(1, 512)", "SMALLEST_SCALE = Fraction(1, 4)"),
        ("curator", "curator/engines/compiler.py", "else clamped(raw, low, high)", "else raw"),
        ("curator", "curator/engines/postgres.py", "query.offset(0, copy=False)", "query"),
    ],
)
def test_a_proof_notices(tmp_path: Path, proof: str, file: str, code: str, broken: str) -> None:
    shutil.copytree(proofs.SOURCE / "lapwing" / file.partition("/")[0], tmp_path / "lapwing" / file.partition("/")[0])
    path = tmp_path / "lapwing" / file
    text = path.read_text(encoding="utf-8")
    assert code in text
    path.write_text(text.replace(code, broken), encoding="utf-8")
    [known] = [one for one in proofs.all_proofs() if one.name == proof]
    assert replace(known, house=House(tmp_path)).changed() != []


def test_every_dialect_is_covered() -> None:
    curator = importlib.import_module("lapwing.curator.engines.dialects")
    for engine in ("postgres", "spark"):
        importlib.import_module(f"lapwing.curator.engines.{engine}")
    [proof] = [proof for proof in proofs.all_proofs() if proof.name == "curator"]
    spoken = {f"{one.__module__}:{one.__qualname__}" for one in curator.Dialect.__subclasses__()}
    assert len(spoken) > 2
    assert spoken <= set(proof.units)


def test_a_renewal_names_what_was_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    room = tmp_path / "lapwing" / "room"
    room.mkdir(parents=True)
    monkeypatch.setattr(proofs, "SOURCE", tmp_path)
    monkeypatch.setattr(proofs, "DIGESTS", tmp_path / "digests")
    (room / "a.md").write_text("---\ncovers:\n  - lapwing.room.code\nsource:\n---\n# A\n")
    (room / "code.py").write_text("B = 1\nclass C:\n    def f(self): return 1\n")
    with pytest.raises(SystemExit, match=r"code:B code:C code:C\.f"):
        proofs.update(["a"], [])
    with pytest.raises(SystemExit, match=r"not named as read: code: code:B$"):
        proofs.update(["a"], ["code:C"])
    proofs.update(["a"], ["code"])
    (room / "code.py").write_text("B = 1\nclass C:\n    def f(self): return 2\n")
    assert [proof.changed() for proof in proofs.all_proofs()] == [["lapwing.room.code:C.f"]]
    proofs.update(["a"], ["code:C.f"])
    assert all(proof.is_current() for proof in proofs.all_proofs())


def test_the_digest_of_a_fixed_source_is_the_same_on_every_python(tmp_path: Path) -> None:
    room = tmp_path / "lapwing" / "room"
    room.mkdir(parents=True)
    (room / "sample.py").write_text(
        "@dataclass(frozen=True)\nclass A(B, metaclass=C):\n"
        "    x: Fraction = Fraction(1)\n"
        "    def f(self, a: int, /, b=None, *c, d: str = 'é', **e) -> tuple[int, ...]:\n"
        "        match a:\n            case [1, *_] | {'k': None}: return f'{a!r:>{b}} text' 'more', *c\n"
        "        return {**e, 'n': [i async for i in c if (j := i)]}, lambda: (yield)\n"
    )
    assert House(tmp_path).units(["lapwing.room.sample:A"]) == {
        "lapwing.room.sample:A": "8c83af94cc0b",
        "lapwing.room.sample:A.f": "bf2dc98d4c53",
    }
