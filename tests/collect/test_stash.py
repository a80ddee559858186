"""The stash shuffle: every order equally likely, a disk that shows only how many there are, bounds that hold."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise, permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import together
from chance import FALSE_ALARM, assert_seldom, assert_share
from scipy import stats

from lapwing.collect import overflow, stash
from lapwing.collect.records import BlockFile, Damaged, RecordFile
from lapwing.collect.stash import Overflow, StashShuffle
from lapwing.errors import InvalidParameter
from lapwing.noise import SYSTEM, permutation, uniform_below

TINY = StashShuffle(records=4, record_bytes=2, buckets=2, chunk=2, stash=0, window=4)
"""It cannot fail: a chunk has room for a whole block, and the output waits for all buckets."""


def numbered(count: int, record_bytes: int) -> np.ndarray:
    return np.arange(count, dtype="<u8").view(np.uint8).reshape(count, 8)[:, :record_bytes].copy()


def shuffled(shuffle: StashShuffle, rows: np.ndarray, folder: Path) -> np.ndarray:
    source = shuffle.input_file(folder / f"{SYSTEM.bits(64)}.in")
    source.fill([rows])
    target = shuffle.shuffle(source, folder)
    found = np.concatenate(list(target))
    source.remove()
    target.remove()
    return found


# ---------------------------------------------------------------- all records, every order


@pytest.mark.parametrize(
    "shuffle",
    [
        TINY,
        StashShuffle(records=1, record_bytes=5, buckets=1, chunk=1, stash=0, window=0),
        StashShuffle(records=10_007, record_bytes=7, buckets=12, chunk=80, stash=1_200, window=600),
        StashShuffle.fitted(30_000, 8),
        StashShuffle.fitted(300_000, 64),
    ],
    ids=lambda shuffle: f"{shuffle.records} in {shuffle.buckets}",
)
def test_every_record_comes_out_once_and_nothing_stays_behind(shuffle: StashShuffle, tmp_path: Path) -> None:
    rows = numbered(shuffle.records, min(8, shuffle.record_bytes))
    rows = np.pad(rows, ((0, 0), (0, shuffle.record_bytes - rows.shape[1])))
    found = shuffled(shuffle, rows, tmp_path)
    assert Counter(map(bytes, found)) == Counter(map(bytes, rows))
    assert shuffle.records < 100 or not np.array_equal(found, rows)
    assert not list(tmp_path.iterdir())


def order_counts(tmp_path: Path, runs: int) -> Counter[bytes]:
    rows = numbered(4, 2)
    return Counter(bytes(shuffled(TINY, rows, tmp_path)[:, 0]) for _ in range(runs))


def p_value(counts: Counter[bytes]) -> float:
    observed = [counts[bytes(order)] for order in permutations(range(4))]
    assert sum(observed) == counts.total()
    return float(stats.chisquare(observed).pvalue)


def test_every_order_is_equally_likely(tmp_path: Path) -> None:
    assert TINY.failure_probability() == 0
    assert p_value(order_counts(tmp_path, 2_000)) > FALSE_ALARM


def test_separators_between_buckets_would_not_give_every_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def separators(buckets: int, size: int, entropy: Any) -> np.ndarray:
        """Records and bucket − 1 separators in random order: the number in each bucket is uniform, not binomial."""
        order = permutation(size + buckets - 1, entropy)
        targets = np.cumsum(order >= size)[order < size]
        return targets[permutation(size, entropy)]

    monkeypatch.setattr(stash, "uniform_below", separators)
    assert p_value(order_counts(tmp_path, 2_500)) < FALSE_ALARM


# ---------------------------------------------------------------- what fails, and how often


def fails(shuffle: StashShuffle, targets: tuple[int, ...]) -> bool:
    """Counted by hand: queues, stash and window for these targets of all records."""
    bounds, waiting = shuffle.input_bounds, [0] * shuffle.buckets
    for start, end in pairwise(bounds):
        for target in targets[start:end]:
            waiting[target] += 1
        waiting = [max(0, queue - shuffle.chunk) for queue in waiting]
        if sum(waiting) > shuffle.stash:
            return True
    if max(waiting) > shuffle.stash // shuffle.buckets:
        return True
    counts = Counter(targets)
    totals = np.cumsum([counts[bucket] for bucket in range(shuffle.buckets)])
    return bool((abs(totals - bounds[1:]) > shuffle.window).any())


def exact_failure(shuffle: StashShuffle) -> float:
    every = list(product(range(shuffle.buckets), repeat=shuffle.records))
    return sum(fails(shuffle, targets) for targets in every) / len(every)


SMALL = [
    StashShuffle(records=7, record_bytes=2, buckets=2, chunk=chunk, stash=left * 2, window=window)
    for chunk, left, window in product((2, 3, 4), (0, 1, 3), (1, 2, 7))
]


def test_the_stated_probability_is_never_below_the_exact_one() -> None:
    assert all(exact_failure(shuffle) <= shuffle.failure_probability() for shuffle in SMALL)
    assert any(exact_failure(shuffle) > 0 and shuffle.failure_probability() < 0.5 for shuffle in SMALL)


def test_attempts_fail_as_often_as_counted_and_leave_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shuffle = StashShuffle(records=7, record_bytes=2, buckets=2, chunk=3, stash=2, window=2)
    monkeypatch.setattr(stash, "ATTEMPTS", 1)
    source, failures, runs = shuffle.input_file(tmp_path / "in"), 0, 700
    source.fill([numbered(7, 2)])
    for _ in range(runs):
        try:
            shuffle.shuffle(source, tmp_path).remove()
        except Overflow:
            failures += 1
    assert_share(failures, runs, exact_failure(shuffle))
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_the_order_given_success_is_as_near_to_uniform_as_stated() -> None:
    shuffle = StashShuffle(records=6, record_bytes=1, buckets=2, chunk=2, stash=2, window=1)
    law: Counter[tuple[int, ...]] = Counter()
    successes = 0
    for targets in product(range(2), repeat=6):
        if fails(shuffle, targets):
            continue
        successes += 1
        first, second = ([place for place in range(6) if targets[place] == bucket] for bucket in range(2))
        for head, tail in product(permutations(first), permutations(second)):
            law[head + tail] += 1 / math.factorial(len(first)) / math.factorial(len(second))  # type: ignore[assignment]
    distance = sum(abs(law[order] / successes - 1 / 720) for order in permutations(range(6))) / 2
    assert 0 < distance <= exact_failure(shuffle) <= shuffle.failure_probability()


def simulated_failures(shuffle: StashShuffle, runs: int) -> tuple[int, int]:
    """How often a queue grows beyond its places, and how often a sum leaves the window, among so many draws."""
    bucket, places = shuffle.records // shuffle.buckets, shuffle.stash // shuffle.buckets
    stashes = windows = 0
    for _ in range(runs):
        drawn = uniform_below(shuffle.buckets, shuffle.records).reshape(shuffle.buckets, bucket)
        counts = np.array([np.bincount(row, minlength=shuffle.buckets) for row in drawn])
        queue, longest = np.zeros(shuffle.buckets, dtype=int), 0
        for row in counts:
            queue = np.maximum(0, queue + row - shuffle.chunk)
            longest = max(longest, int(queue.max()))
        stashes += longest > places
        drift = np.cumsum(counts.sum(axis=0)) - np.arange(1, shuffle.buckets + 1) * bucket
        windows += int(abs(drift).max()) > shuffle.window
    return stashes, windows


def test_bounds_hold_and_are_not_far_from_what_happens() -> None:
    shuffle = StashShuffle(records=1_600, record_bytes=8, buckets=8, chunk=29, stash=8 * 22, window=62)
    runs = 2_000
    stashes, windows = simulated_failures(shuffle, runs)
    stated = overflow.stash_failure(200, 8, 29, 22), overflow.window_failure(1_600, 8, 62)
    for found, bound in zip((stashes, windows), stated, strict=True):
        assert bound < 0.2
        assert_seldom(found, runs, bound)
        assert stats.binom.cdf(found, runs, bound / 8) > FALSE_ALARM, "the bound is more than eight times too large"


def test_the_law_of_a_queue_is_below_its_exponential_bound() -> None:
    for bucket, buckets, chunk in ((10_000, 1_000, 25), (129_871, 77, 1_769), (2_000, 20, 110)):
        rate = overflow.decay(bucket, buckets, chunk)
        assert bucket * math.log1p(math.expm1(rate) / buckets) <= chunk * rate
        for places in (10, 50, 200):
            union = buckets**2 * math.exp(-rate * (places + 1))
            assert overflow.stash_failure(bucket, buckets, chunk, places) <= union * 1.01 + 1e-30


def test_tails_are_above_the_exact_ones_and_close() -> None:
    for trials, share, limit in ((100, 0.1, 30), (10_000, 0.5, 5_300), (10_000_000, 1 / 77, 131_000), (50, 0.5, 50)):
        exact = float(stats.binom.sf(limit, trials, share))
        assert exact / overflow.ROUNDING <= overflow.more_than(trials, share, limit) <= 2 * exact


@together("records", [1, 2, 300, 10_000, 1_000_000, 10_000_000, 200_000_000, 2_000_000_000])
def test_fitted_parameters_keep_the_probability_and_the_memory(records: int) -> None:
    shuffle = StashShuffle.fitted(records, 64)
    assert shuffle.failure_probability() <= stash.FAILURE
    assert shuffle.memory_records * 64 <= 256e6
    assert shuffle.overhead < 2.3


# ---------------------------------------------------------------- what the disk shows

Trace = list[tuple[str, str, int, int]]


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], Trace]:
    """Whoever watches the disk: the kind of file, whether it is read or written, where, how many bytes; in order."""
    seen: Trace = []
    real_write, real_read = os.pwrite, os.pread

    def kind(handle: int) -> str:
        return Path(os.readlink(f"/proc/self/fd/{handle}")).suffix

    def pwrite(handle: int, data: Any, place: int) -> int:
        seen.append(("write", kind(handle), place, len(data)))
        return real_write(handle, data, place)

    def pread(handle: int, length: int, place: int) -> bytes:
        seen.append(("read", kind(handle), place, length))
        return real_read(handle, length, place)

    def watch(work: Callable[[], object]) -> Trace:
        seen.clear()
        with monkeypatch.context() as patch:
            patch.setattr(os, "pwrite", pwrite)
            patch.setattr(os, "pread", pread)
            work()
        return list(seen)

    return watch


SHUFFLE = StashShuffle(records=3_000, record_bytes=16, buckets=6, chunk=110, stash=600, window=400)


def inputs() -> list[np.ndarray]:
    """All alike, all different, sorted one way and the other, one that differs from the first in one record."""
    same, different = np.zeros((3_000, 16), dtype=np.uint8), np.pad(numbered(3_000, 8), ((0, 0), (0, 8)))
    other = same.copy()
    other[1_234] = 255
    return [same, different, different[::-1].copy(), other]


def traces(watched: Callable[[Callable[[], object]], Trace], folder: Path) -> list[Trace]:
    return [watched(lambda rows=rows: shuffled(SHUFFLE, rows, folder)) for rows in inputs()]  # type: ignore[misc]


def test_the_disk_shows_the_same_accesses_for_all_records_and_all_draws(watched: Any, tmp_path: Path) -> None:
    first, *others = traces(watched, tmp_path)
    assert (
        len(first) == 6 + 6 + 2 * 6 * 7 + 6 + 6
    )  # input written and read, chunks written and read, output, its reader
    assert all(other == first for other in others)


def test_chunks_without_padding_would_show_the_draws(
    watched: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Bare(stash._Pad):
        __slots__ = ()

        def filled(self, rows: Any, chosen: Any) -> memoryview:
            return super().filled(rows, chosen)[: 4 + 16 * len(chosen)]

    def written() -> Trace:
        source, chunks = SHUFFLE.input_file(tmp_path / "records.in"), BlockFile(tmp_path / "records.chunks")
        source.fill(inputs()[:1])
        trace: Trace = watched(lambda: SHUFFLE._distribute(source, chunks, SYSTEM))
        source.remove()
        chunks.remove()
        return trace

    assert written() == written()
    monkeypatch.setattr(stash, "_Pad", Bare)
    assert written() != written()


def test_targets_made_of_the_records_would_show_the_records(
    watched: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    block: list[np.ndarray] = []
    real = RecordFile.read

    def read(self: RecordFile, number: int) -> np.ndarray:
        block[:] = [real(self, number)]
        return block[0]

    def attempt(source: RecordFile) -> None:
        with suppress(Overflow):
            SHUFFLE.shuffle(source, tmp_path).remove()

    monkeypatch.setattr(RecordFile, "read", read)
    monkeypatch.setattr(stash, "uniform_below", lambda buckets, size, entropy: block[0][:, 0].astype(int) % buckets)
    found = []
    for rows in inputs():
        source = SHUFFLE.input_file(tmp_path / "records.in")
        source.fill([rows])
        found.append(watched(lambda source=source: attempt(source)))
        source.remove()
    assert found[0] != found[1]  # all alike: one bucket gets everything, and every attempt fails


def test_a_failed_attempt_shows_a_beginning_of_what_a_success_shows(watched: Any, tmp_path: Path) -> None:
    shuffle = StashShuffle(records=40, record_bytes=4, buckets=4, chunk=4, stash=8, window=3)
    source = shuffle.input_file(tmp_path / "records.in")
    source.fill([numbered(40, 4)])
    # Four attempts in nine fail: that none of 40 does, or none succeeds at once, happens once in 10^10 runs.
    found = [watched(lambda: shuffle.shuffle(source, tmp_path).remove()) for _ in range(40)]
    whole = min(found, key=len)
    assert max(map(len, found)) > len(whole), "no attempt failed"
    for trace in found:
        attempts: list[Trace] = []
        for access in trace:
            if access[:3] == ("read", ".in", 0):
                attempts.append([])
            attempts[-1].append(access)
        assert attempts[-1] == whole
        assert all(whole[: len(attempt)] == attempt for attempt in attempts)


def test_nothing_of_a_record_is_on_the_disk_and_no_two_runs_write_the_same(tmp_path: Path) -> None:
    rows = np.full((3_000, 16), 0x5A, dtype=np.uint8)
    source = SHUFFLE.input_file(tmp_path / "records.in")
    source.fill([rows])
    files = [(SHUFFLE.shuffle(source, tmp_path)) for _ in range(2)]
    kept = [path.read_bytes() for path in sorted(tmp_path.iterdir())]
    assert len(kept) == 3
    assert all(b"\x5a" * 6 not in data for data in kept)
    blocks = [data[start : start + 16] for data in kept for start in range(0, len(data) - 15, 16)]
    assert len(set(blocks)) == len(blocks)
    for file in files:
        file.remove()


def test_a_block_that_was_changed_or_moved_is_refused(tmp_path: Path) -> None:
    damages: list[Callable[[bytes], bytes]] = [
        lambda data: data[:40] + b"x" + data[41:],
        lambda data: data[116:] + data[:116],
        lambda data: data[:150],
    ]
    for number, damage in enumerate(damages):
        file = BlockFile(tmp_path / str(number))
        file.write(0, bytes(100))
        file.write(116, bytes(100))
        path = tmp_path / str(number)
        path.write_bytes(damage(path.read_bytes()))
        with pytest.raises(Damaged):
            assert file.read(0, 100) + file.read(116, 100)
        file.remove()


def test_a_place_is_written_once(tmp_path: Path) -> None:
    file = BlockFile(tmp_path / "once")
    file.write(0, b"first")
    with pytest.raises(InvalidParameter, match="place"):
        file.write(0, b"again")
    file.remove()


def test_other_records_than_announced_are_refused(tmp_path: Path) -> None:
    for rows in (numbered(3, 2), numbered(5, 2)):
        with pytest.raises(InvalidParameter, match="announced"):
            TINY.input_file(tmp_path / str(len(rows))).fill([rows])
    other = StashShuffle(records=4, record_bytes=2, buckets=1, chunk=4, stash=0, window=0)
    source = other.input_file(tmp_path / "other")
    source.fill([numbered(4, 2)])
    with pytest.raises(InvalidParameter, match="source"):
        TINY.shuffle(source, tmp_path)
    with pytest.raises(InvalidParameter, match="records"):
        StashShuffle.fitted(10**11, 64)
    with pytest.raises(InvalidParameter, match="buckets"):
        StashShuffle(records=4, record_bytes=2, buckets=5, chunk=4, stash=0, window=0)


def test_parameters_that_always_fail_end_with_a_word_about_them(tmp_path: Path) -> None:
    shuffle = StashShuffle(records=40, record_bytes=2, buckets=4, chunk=1, stash=0, window=0)
    assert shuffle.failure_probability() == 1
    with pytest.raises(Overflow, match="fitted"):
        shuffled(shuffle, numbered(40, 2), tmp_path)
