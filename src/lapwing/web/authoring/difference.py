"""Differences of two texts, line by line and word by word, and a merge of two changed copies of one text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

MOST = 3000
"""Lines that are compared one by one, once what is the same before and after them is left out."""
AROUND = 3
"""Lines that are shown around a change."""
_WORDS = re.compile(r"\s+|\w+|[^\w\s]")
Part = tuple[str, bool]
"""Some characters, and whether they differ."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a comparison: `same`, `gone`, `new`, or a `gap` where nothing differs."""

    kind: str
    old: int | None
    new: int | None
    parts: tuple[Part, ...] = ()


def _blocks(old: list[str], new: list[str]) -> list[tuple[str, int, int, int, int]]:
    """As difflib has them, in bounded time."""
    first = 0
    while first < min(len(old), len(new)) and old[first] == new[first]:
        first += 1
    last = 0
    while last < min(len(old), len(new)) - first and old[-1 - last] == new[-1 - last]:
        last += 1
    a, b = old[first : len(old) - last], new[first : len(new) - last]
    blocks: list[tuple[str, int, int, int, int]] = []
    if first:
        blocks.append(("equal", 0, first, 0, first))
    if max(len(a), len(b)) > MOST:
        blocks.append(("replace", first, first + len(a), first, first + len(b)))
    else:
        codes = SequenceMatcher(None, a, b, autojunk=max(len(a), len(b)) > 500).get_opcodes()
        blocks += [(kind, first + i, first + j, first + k, first + m) for kind, i, j, k, m in codes]
    if last:
        blocks.append(("equal", len(old) - last, len(old), len(new) - last, len(new)))
    return blocks


def compared(old: str, new: str) -> list[Line]:
    """What became of a text; stretches in which nothing differs are left out."""
    before, after = old.splitlines(), new.splitlines()
    lines: list[Line] = []
    for kind, i, j, k, m in _blocks(before, after):
        if kind == "equal":
            lines += [Line("same", i + n + 1, k + n + 1, ((before[i + n], False),)) for n in range(j - i)]
        elif kind == "replace" and j - i == m - k and j - i <= 50:
            pairs = [_by_words(before[i + n], after[k + n]) for n in range(j - i)]
            lines += [Line("gone", i + n + 1, None, pairs[n][0]) for n in range(j - i)]
            lines += [Line("new", None, k + n + 1, pairs[n][1]) for n in range(m - k)]
        else:
            lines += [Line("gone", i + n + 1, None, ((before[i + n], False),)) for n in range(j - i)]
            lines += [Line("new", None, k + n + 1, ((after[k + n], False),)) for n in range(m - k)]
    return list(_near_changes(lines))


def _near_changes(lines: list[Line]) -> Iterator[Line]:
    shown = [False] * len(lines)
    for place, line in enumerate(lines):
        if line.kind != "same":
            for near in range(max(0, place - AROUND), min(len(lines), place + AROUND + 1)):
                shown[near] = True
    gap = False
    for line, show in zip(lines, shown, strict=True):
        if show:
            yield line
        elif not gap:
            yield Line("gap", None, None)
        gap = not show


def _by_words(old: str, new: str) -> tuple[tuple[Part, ...], tuple[Part, ...]]:
    a, b = _WORDS.findall(old), _WORDS.findall(new)
    if len(a) + len(b) > 800:
        return ((old, True),), ((new, True),)
    codes = SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
    gone = tuple(("".join(a[i:j]), kind != "equal") for kind, i, j, _, _ in codes if i < j)
    come = tuple(("".join(b[k:m]), kind != "equal") for kind, _, _, k, m in codes if k < m)
    return gone, come


def merged(base: str | None, mine: str, theirs: str) -> tuple[str, int]:
    """Both changes in one text, and how many places are left in which somebody has to choose."""
    old, a, b = (base or "").splitlines(), mine.splitlines(), theirs.splitlines()
    lines: list[str] = []
    conflicts = 0
    for low, high, (a_low, a_high), (b_low, b_high) in _regions(old, a, b):
        was, first, other = old[low:high], a[a_low:a_high], b[b_low:b_high]
        if first == other or other == was:
            lines += first
        elif first == was and base is not None:
            lines += other
        else:
            conflicts += 1
            lines += ["<<<<<<< yours", *first, "=======", *other, ">>>>>>> the other one"]
    return "\n".join(lines) + "\n", conflicts


def _regions(old: list[str], a: list[str], b: list[str]) -> Iterator[tuple[int, int, tuple[int, int], tuple[int, int]]]:
    """Stretches of the old text with what each side made of them; those that both kept are cut out whole."""
    kept_a = [(i, j, k) for kind, i, j, k, _ in _blocks(old, a) if kind == "equal"]
    kept_b = [(i, j, k) for kind, i, j, k, _ in _blocks(old, b) if kind == "equal"]
    both = sorted(
        (max(i, x), min(j, y), k + max(i, x) - i, z + max(i, x) - x)
        for i, j, k in kept_a
        for x, y, z in kept_b
        if max(i, x) < min(j, y)
    )
    at = at_a = at_b = 0
    for low, high, in_a, in_b in both:
        if (at, at_a, at_b) != (low, in_a, in_b):
            yield at, low, (at_a, in_a), (at_b, in_b)
        long = high - low
        yield low, high, (in_a, in_a + long), (in_b, in_b + long)
        at, at_a, at_b = high, in_a + long, in_b + long
    if (at, at_a, at_b) != (len(old), len(a), len(b)):
        yield at, len(old), (at_a, len(a)), (at_b, len(b))
