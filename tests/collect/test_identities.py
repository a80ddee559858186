"""Ids that were seen: exact, in any order, however runs are merged, and however ids were chosen."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lapwing.collect import identities
from lapwing.collect.identities import Mixing, Run, merge, to_merge, unseen


def ids_of(numbers: list[int]) -> np.ndarray:
    return np.frombuffer(b"".join(number.to_bytes(16, "little") for number in numbers), dtype=np.uint8).reshape(-1, 16)


@pytest.mark.parametrize(
    "choice",
    [lambda n: n, lambda n: n << 64, lambda n: n << 120, lambda n: n % 7],
    ids=["low bits", "high bits", "highest bits", "few"],
)
def test_an_id_is_new_once_however_ids_are_chosen(tmp_path: Path, choice: object) -> None:
    dice, mixing, seen, runs = np.random.default_rng(1), Mixing.random(), set[int](), list[Run]()
    for turn in range(30):
        numbers = [choice(int(n)) for n in dice.integers(0, 200, size=40)]  # type: ignore[operator]
        keys, rests, order = mixing.sorted(ids_of(numbers))
        fresh = unseen(runs, keys, rests)
        taken = [numbers[place] for place in order[fresh].tolist()]
        assert len(taken) == len(set(taken))
        assert set(taken) == set(numbers) - seen
        seen |= set(numbers)
        runs.append(Run.write(tmp_path / f"{turn}.run", keys[fresh], rests[fresh]))
        while places := to_merge([len(run) for run in runs]):
            merged = merge([runs[place] for place in places], tmp_path / f"{turn}-{len(runs)}.run")
            runs = [run for place, run in enumerate(runs) if place not in places] + [merged]
        assert sum(map(len, runs)) == len(seen)
    assert len(runs) <= identities.MOST_RUNS


def test_keys_that_collide_are_told_apart_by_the_rest(tmp_path: Path) -> None:
    keys = np.array([5, 5, 5, 9], dtype=np.uint64)
    rests = np.array([1, 2, 7, 2], dtype=np.uint64)
    run = Run.write(tmp_path / "a.run", keys, rests)
    asked = np.array([4, 5, 5, 5, 9, 9], dtype=np.uint64), np.array([1, 2, 3, 7, 1, 2], dtype=np.uint64)
    assert run.holds(*asked).tolist() == [False, True, False, True, False, True]
    empty = Run.write(tmp_path / "b.run", keys[:0], rests[:0])
    assert not empty.holds(*asked).any()


def test_merging_in_small_pieces_keeps_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identities, "CHUNK", 8)
    dice, runs, everything = np.random.default_rng(2), list[Run](), list[tuple[int, int]]()
    for turn, size in enumerate((0, 1, 50, 200, 3)):
        keys = np.sort(dice.integers(0, 40, size=size, dtype=np.uint64))
        rests = np.arange(size, dtype=np.uint64) + np.uint64(1000 * turn)
        runs.append(Run.write(tmp_path / f"{turn}.run", keys, rests))
        everything += zip(keys.tolist(), rests.tolist(), strict=True)
    keys, rests = merge(runs, tmp_path / "all.run").columns()
    assert list(zip(keys.tolist(), rests.tolist(), strict=True)) == sorted(everything)


def test_two_folders_mix_differently() -> None:
    assert "b'" not in repr(Mixing.random())
    keys = [Mixing.random().sorted(ids_of([1, 2, 3]))[0].tolist() for _ in range(2)]
    assert keys[0] != keys[1]
