"""The proof lives beside the code and goes stale loudly."""

from __future__ import annotations

import importlib
import inspect
import zipfile
from pathlib import Path

import proofs
import pytest


@pytest.mark.parametrize("proof", proofs.all_proofs(), ids=lambda proof: proof.name)
def test_proof_is_current(proof: proofs.Proof) -> None:
    assert proof.is_current(), f"read {proof.name}.md against the code, then: tools/proofs.py --update {proof.name}"


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


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        ('class A:\n    """Doc."""\n    x = 1\n', "class A:\n    x   =   1  # why\n", True),
        ("class A:\n    x = 1\n", "class A:\n    x = 2\n", False),
        ("class A:\n    x = None\n", "class A:\n    x = False\n", False),
        ("class A:\n    x = 1\n", "class A:\n    x = 1.0\n", False),
        (
            "class A:\n    def f(self): return 1\n",
            'class A:\n    def f(self):\n        "Doc."\n        return 1\n',
            True,
        ),
        ("class A:\n    def f(self, a): return a\n", "class A:\n    def f(self, *, a): return a\n", False),
        ("B = 1\nclass A: ...\n", "B = 2\nclass A: ...\n", True),
    ],
)
def test_the_digest_sees_code_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str, after: str, same: bool
) -> None:
    monkeypatch.setattr(proofs, "SOURCE", tmp_path)
    module = tmp_path / "sample.py"
    module.write_text(before)
    old = proofs.source_digest(("sample:A",))
    module.write_text(after)
    assert (proofs.source_digest(("sample:A",)) == old) is same


def test_the_digest_of_a_fixed_source_is_the_same_on_every_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proofs, "SOURCE", tmp_path)
    (tmp_path / "sample.py").write_text(
        "@dataclass(frozen=True)\nclass A(B, metaclass=C):\n"
        "    x: Fraction = Fraction(1)\n"
        "    def f(self, a: int, /, b=None, *c, d: str = 'é', **e) -> tuple[int, ...]:\n"
        "        match a:\n            case [1, *_] | {'k': None}: return f'{a!r:>{b}} text' 'more', *c\n"
        "        return {**e, 'n': [i async for i in c if (j := i)]}, lambda: (yield)\n"
    )
    assert proofs.source_digest(("sample:A", "sample:A.f")) == "42b91ae934be18328f510f2e"


def test_the_wheel_carries_proofs_types_and_nothing_foreign(tmp_path: Path) -> None:
    from hatchling.builders.wheel import WheelBuilder

    [wheel] = WheelBuilder(str(proofs.ROOT)).build(directory=str(tmp_path), versions=["standard"])
    names = set(zipfile.ZipFile(wheel).namelist())
    assert "lapwing/py.typed" in names
    assert {str(proof.path.relative_to(proofs.SOURCE)) for proof in proofs.all_proofs()} <= names
    assert {name.split("/")[0].split("-")[0] for name in names} == {"lapwing"}
