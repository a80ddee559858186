#!/usr/bin/env python3
"""Keep every proof beside the code it proves: say what changed since it was read, or record that it was read again.

    tools/proofs.py                                      which proofs no longer describe their code, and what changed?
    tools/proofs.py --update curator --read sample       I read curator.md again, against what changed in `sample`

A proof is a markdown file beside the code, with this front matter:

    ---
    covers:
      - lapwing.mechanisms.laplace:Laplace
    source: 1f0c…
    ---

It rests on what it covers and on all that this uses in the same room (closure.py). `source` is a digest of that:
comments, documentation, formatting and the Python version do not matter, a changed constant does. The digest of each
unit of code as it was when the proof was read is in tools/digests, so that what changed has a name. A renewal names
all of it.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from closure import House

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"
DIGESTS = ROOT / "tools" / "digests"


@dataclass(frozen=True)
class Proof:
    """One markdown proof: what it covers and the digest it was written for."""

    path: Path
    covers: tuple[str, ...]
    source: str
    house: House

    @property
    def name(self) -> str:
        return self.path.stem

    @cached_property
    def units(self) -> dict[str, str]:
        """The digest of each unit of code that it rests on."""
        return self.house.units(self.covers)

    def digest(self) -> str:
        return hashlib.sha256(_lines(self.units).encode()).hexdigest()[:24]

    def is_current(self) -> bool:
        return self.source == self.digest()

    def changed(self) -> list[str]:
        """What is new, gone or different since the proof was read."""
        path = DIGESTS / f"{self.name}.txt"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        before = dict(line.split(" ") for line in lines)
        return sorted(unit for unit in before | self.units if before.get(unit) != self.units.get(unit))

    def renew(self) -> None:
        """Record that it was read against the code as it is."""
        before, front, body = self.path.read_text(encoding="utf-8").split("---\n", 2)
        lines = [line for line in front.splitlines() if not line.startswith("source:")]
        front = "\n".join([*lines, f"source: {self.digest()}", ""])
        self.path.write_text("---\n".join([before, front, body]), encoding="utf-8")
        DIGESTS.mkdir(exist_ok=True)
        (DIGESTS / f"{self.name}.txt").write_text(_lines(self.units), encoding="utf-8")


def _lines(units: dict[str, str]) -> str:
    return "".join(f"{unit} {digest}\n" for unit, digest in units.items())


def all_proofs() -> list[Proof]:
    """Every proof of the house, by name. What the school teaches is Markdown too, and proves no code."""
    house = House(SOURCE)
    paths = sorted(path for room in SOURCE.glob("lapwing/*") if room.name != "web" for path in room.rglob("*.md"))
    return [read_proof(path, house) for path in paths]


def read_proof(path: Path, house: House) -> Proof:
    """A proof's front matter; the body is for people."""
    match = re.match(r"---\n(.*?)\n---\n", path.read_text(encoding="utf-8"), re.DOTALL)
    if match is None:
        raise SystemExit(f"{path.name}: no front matter (--- covers: … source: … ---)")
    fields: dict[str, list[str]] = {}
    key = ""
    for line in match[1].splitlines():
        if not line.strip():
            continue
        item = re.match(r"\s+- +(.*)", line)
        if item is None:
            key, _, rest = (part.strip() for part in line.partition(":"))
            fields[key] = [word.strip() for word in rest.strip("[]").split(",") if word.strip()]
        else:
            fields[key].append(item[1].strip())
    if not fields.get("covers"):
        raise SystemExit(f"{path.name}: the front matter covers nothing")
    return Proof(path, tuple(fields["covers"]), "".join(fields.get("source", [])), house)


def update(names: list[str], read: list[str]) -> None:
    """Renew the proofs named, if all that changed was read: by unit, class or module, with or without its room."""
    proofs = {proof.name: proof for proof in all_proofs()}
    for name in names:
        if name not in proofs:
            raise SystemExit(f"no proof called {name}; there are: {', '.join(proofs)}")
        if unread := [unit for unit in proofs[name].changed() if not any(_is_in(unit, one) for one in read)]:
            raise SystemExit(f"{name}: not named as read: {' '.join(map(_short, unread))}")
    for name in names:
        proofs[name].renew()
        print(f"{name}: {proofs[name].digest()}")


def _short(unit: str) -> str:
    """A unit without its room: `sample:Sample._place`."""
    return re.sub(r"^lapwing\.\w+\.", "", unit)


def _is_in(unit: str, place: str) -> bool:
    """Whether a unit is this one, or in this class or module."""
    return any(re.match(rf"{re.escape(place)}(?!\w)", one) for one in (unit, _short(unit)))


def main() -> int:
    """Check all proofs, or renew some."""
    parser = argparse.ArgumentParser(description="Keep every proof beside the code it proves.")
    parser.add_argument("--update", nargs="+", metavar="NAME", default=[], help="these proofs were read again")
    parser.add_argument("--read", nargs="+", metavar="CODE", default=[], help="against this code, which had changed")
    given = parser.parse_args()
    if given.update:
        update(given.update, given.read)
        return 0
    stale = [proof for proof in all_proofs() if not proof.is_current()]
    for proof in stale:
        print(f"{proof.name}: read the proof again against what changed, amend it, and name what you read:")
        print(*(f"    {_short(unit)}" for unit in proof.changed()), sep="\n")
        print(f"    tools/proofs.py --update {proof.name} --read …")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
