"""Where the bits come from: never twice the same, not in children, not in threads, not after 64 MiB."""

from __future__ import annotations

import copy
import os
import pickle
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from cases import together
from chance import assert_follows, assert_share

from lapwing import noise
from lapwing.errors import InvalidParameter, NotPrivateWarning
from lapwing.noise import SYSTEM, Recorded, Reproducible
from lapwing.noise import entropy as entropy_module


def _draws() -> bytes:
    """Scalar and array draws: the buffered words and the keystream itself."""
    return b"".join(SYSTEM.bits(64).to_bytes(8, "big") for _ in range(4)) + SYSTEM.words(4, np.uint64).tobytes()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.parametrize("hooked", [True, False], ids=["by the fork hook", "by the process id alone"])
def test_children_of_a_fork_differ_from_each_other_and_from_the_parent(hooked: bool) -> None:
    SYSTEM.bits(64)  # the parent has a keystream with words left in its buffer
    local = SYSTEM._local
    seen = []
    for _ in range(3):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:  # pragma: no cover - runs in the child
            if not hooked:
                SYSTEM._local = local  # as if the hook had not run
            os.write(write, _draws())
            os._exit(0)
        os.close(write)
        with os.fdopen(read, "rb") as pipe:
            seen.append(pipe.read())
        os.waitpid(child, 0)
    seen.append(_draws())
    words = [part[i : i + 8] for part in seen for i in range(0, len(part), 8)]
    assert len(words) == 4 * 8
    assert len(set(words)) == len(words)


def test_threads_never_share_a_word() -> None:
    barrier = threading.Barrier(8)

    def work() -> list[int]:
        barrier.wait()
        return [SYSTEM.bits(64) for _ in range(5000)] + SYSTEM.words(1000, np.uint64).tolist()

    with ThreadPoolExecutor(8) as pool:
        drawn = [word for future in [pool.submit(work) for _ in range(8)] for word in future.result()]
    assert len(set(drawn)) == len(drawn)


def test_a_handler_that_draws_in_the_middle_of_a_draw_gets_other_words() -> None:
    stream = entropy_module._Keystream()
    stream.word()
    buffered = list(stream.words)
    assert [stream.word(), stream.word()] == [buffered[-1], buffered[-2]]
    assert buffered[-1] not in stream.words


def test_a_handler_may_use_up_every_word_in_the_middle_of_a_draw() -> None:
    class Interrupted(entropy_module._Keystream):
        """As if a signal handler had drawn all the fresh words as soon as they were stored."""

        __slots__ = ("calls", "stored")

        @property
        def words(self) -> list[int]:
            return self.stored

        @words.setter
        def words(self, fresh: list[int]) -> None:
            self.calls = getattr(self, "calls", 0) + 1
            self.stored = [] if self.calls == 2 else fresh

    stream = Interrupted()
    assert 0 <= stream.word() < 2**64
    assert stream.calls == 3


def test_the_key_is_changed_every_64_mebibytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entropy_module, "REKEY_BYTES", 1 << 18)
    keys = []
    stream = entropy_module._Keystream()
    original = entropy_module._Keystream._rekey
    monkeypatch.setattr(entropy_module._Keystream, "_rekey", lambda self: (keys.append(1), original(self))[1])
    stream._used = 1 << 18
    stream.fill(memoryview(bytearray(1 << 20)))
    assert len(keys) == 4


def test_the_operating_system_alone_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = entropy_module._Keystream()
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers", None)
    assert stream.word() != stream.word()
    assert stream._encryptor is None


@together("count", [1, 7, 8, 12, 63, 64, 65, 200])
def test_bits_are_uniform_and_of_the_asked_width(count: int) -> None:
    for source in (SYSTEM, Reproducible(7)):
        draws = [source.bits(count) for _ in range(4000)]
        assert max(draws) < 2**count
        assert_share(sum(draw >> (count - 1) for draw in draws), 4000, 0.5)
        assert_share(sum(draw & 1 for draw in draws), 4000, 0.5)


def test_words_are_uniform_bytes() -> None:
    assert_follows(SYSTEM.words(100_000, np.uint8), lambda _: 1 / 256, range(256))
    assert_follows(Reproducible(1).words(100_000, np.uint8), lambda _: 1 / 256, range(256))


def test_a_reproducible_source_repeats_itself_and_says_it_is_not_private() -> None:
    with pytest.warns(NotPrivateWarning, match="not private"):
        first = Reproducible(3)
    second, other = Reproducible(3), Reproducible(4)
    assert (
        [first.bits(64) for _ in range(9)] == [second.bits(64) for _ in range(9)] != [other.bits(64) for _ in range(9)]
    )
    assert np.array_equal(
        noise.discrete_laplace(5, 100_000, Reproducible(b"x")), noise.discrete_laplace(5, 100_000, Reproducible(b"x"))
    )
    assert not first.private
    assert SYSTEM.private
    assert "not private" in repr(first)
    with pytest.raises(InvalidParameter):
        Reproducible(-1)


def test_the_system_source_is_itself_after_copying_and_pickling() -> None:
    assert pickle.loads(pickle.dumps(SYSTEM)) is SYSTEM
    assert copy.deepcopy(SYSTEM) is SYSTEM


def test_a_recording_that_runs_out_says_so() -> None:
    with pytest.raises(InvalidParameter, match="Record more"):
        Recorded([1, 2], 8).bits(17)
