"""The permanent responses of a device: derived from a key that never leaves it, so they are the same after a restart.

    input   the parts, each as its length (8 bytes) and its bytes; whole numbers in decimal digits
    stream  HMAC-SHA-256(key, input ‖ 0) ‖ HMAC-SHA-256(key, input ‖ 1) ‖ …        numbers: 8 bytes, big-endian
    cohort  the first number below `cohorts` among as many bits as needed of stream("cohort", question)
    bit i   flipped if U < f/2, U having the binary digits of stream("permanent", version, f, question, set by, i)
    set by  "bloom", bits, hashes, salt, cohort, text of the answer;
            or "basic", bits, the list of answers (`protocol.stated`), place of the answer (−1: none)

Nothing else is kept: neither answers nor responses lie on the device. Equal inputs have equal true bits, so no stream
is used with two different signals, whose difference would show. Two sets of parameters share the responses to all
answers or to none, or it would tell an answer whether they do. The fresh noise of reports (p and q) is no part of the
input: other fresh noise on the same permanent response costs nothing more.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from lapwing import checks
from lapwing.calls import Helpful
from lapwing.crowd.permanent_response import PermanentResponse
from lapwing.crowd.reports import Reports
from lapwing.errors import InvalidParameter
from lapwing.noise import SYSTEM, Entropy, bernoulli
from lapwing.privacy import PureDP
from lapwing.privacy.allowances import stable_name

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

KEY_BYTES, FEWEST_KEY_BYTES = 32, 16


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Memo(metaclass=Helpful):
    """One device and one question: it keeps the permanent response to every answer and makes reports from it.

    Privacy: all reports about one answer together cost `protocol.lifetime_loss()`, however many. Each other answer
    costs it again (`lifetime_loss`), and so does each other set of parameters, question or key. *When* the answer
    changes is not hidden. The guarantee is computational: it rests on the key, and on HMAC-SHA-256 being a pseudorandom
    function.
    Proof: rappor.md

    Args:
        protocol: One of the four forms of RAPPOR.
        question: The name of the question. Other questions have permanent responses of their own.
        key: At least 16 secret bytes that never leave the device, from `new_key()`.

    Raises:
        InvalidParameter: If protocol is not a form of RAPPOR, if question is not a name, or if key is shorter than 16
            bytes.

    >>> from lapwing.crowd import Memo, Rappor
    >>> from lapwing.crowd.memo import new_key
    >>> survey = Rappor(permanent_noise=0.5, one_if_unset=0.5, one_if_set=0.75)
    >>> device = Memo(protocol=survey, question="homepage", key=new_key())
    >>> first, second = device.report("example.org"), device.report("example.org")
    >>> bool((device.permanent("example.org") == device.permanent("example.org")).all())
    True
    >>> print(device.lifetime_loss(distinct_values=2))
    ε = 8.7889 (replace, per person)
    """

    protocol: PermanentResponse
    question: str
    key: bytes = field(repr=False)

    def __post_init__(self) -> None:
        _check_protocol(self.protocol)
        stable_name("question", self.question)
        check_key(self.key)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a memo is not copied or pickled: its key must not leave the device")

    @classmethod
    def on_device(cls, path: str | os.PathLike[str], *, protocol: PermanentResponse, question: str) -> Memo:
        """A memo whose key is in a file. The file is made if it does not exist: see `device_key`.

        Args:
            path: Where the key is. Only its owner may read the file.
            protocol: One of the four forms of RAPPOR.
            question: The name of the question.

        Returns:
            The memo.

        Raises:
            InvalidParameter: If protocol is not a form of RAPPOR, if question is not a name, or if the file does not
                hold a key.

        >>> import tempfile
        >>> from lapwing.crowd import Rappor
        >>> survey = Rappor(permanent_noise=0.5, one_if_unset=0.5, one_if_set=0.75)
        >>> path = tempfile.mkdtemp() + "/device.key"
        >>> first, again = (Memo.on_device(path, protocol=survey, question="homepage") for _ in range(2))
        >>> bool((first.permanent("example.org") == again.permanent("example.org")).all())
        True
        """
        return cls(protocol=protocol, question=question, key=device_key(path))

    @property
    def cohort(self) -> int:
        """The cohort of this device for this question. It never changes and does not depend on answers."""
        return self.protocol.drawn_cohort(self._stream("cohort", self.question))

    def permanent(self, value: Any) -> NDArray[np.uint64]:
        """The permanent response to an answer. Do not send it where a report would do.

        Args:
            value: The true answer.

        Returns:
            A row of packed bits: the same for the same answer, whenever it is asked for.
        """
        import numpy as np

        from lapwing.crowd.bits import pack

        protocol, cohort = self.protocol, self.cohort
        set_by = protocol.decided_by(cohort, value)
        begun = self._begun("permanent", protocol.version, protocol.permanent_noise, self.question, *set_by)
        flip = protocol.permanent_probability(False)
        bits = np.array([bernoulli(flip, entropy=_Stream(begun, i)) for i in range(protocol.width)])
        places = sorted(set(protocol.set_places(cohort, value)))
        bits[places] = ~bits[places]
        return pack(bits)

    def report(self, value: Any, entropy: Entropy = SYSTEM) -> Reports:
        """One report: the permanent response with fresh noise, ready for `to_bytes` or an aggregator.

        Args:
            value: The true answer; None if there is none.
            entropy: Source of random bits for the fresh noise.

        Returns:
            One report of the protocol.
        """
        rows = self.protocol.instantaneous(self.permanent(value).reshape(1, -1), entropy)
        return Reports(self.protocol, 1, self.protocol.reported(self.cohort, rows))

    def lifetime_loss(self, distinct_values: int = 1) -> PureDP:
        """What all reports of this device to this question cost together.

        It compares two histories in which the answer changes at the same times. Answers that the protocol does not tell
        apart (None and all outside a list, 1 and "1") count as one.

        Args:
            distinct_values: How many different answers the person gives over time.

        Returns:
            The loss of all reports, however many there are.

        Raises:
            InvalidParameter: If distinct_values is not a whole number from 1 on.
        """
        return self.protocol.lifetime_loss() * checks.whole(distinct_values=distinct_values)

    def _begun(self, *parts: object) -> hmac.HMAC:
        return hmac.new(self.key, b"".join(map(_written, ("lapwing memo 1", *parts))), hashlib.sha256)

    def _stream(self, *parts: object) -> _Stream:
        return _Stream(self._begun(*parts), 0)


def _check_protocol(protocol: object) -> None:
    if not isinstance(protocol, PermanentResponse):
        why = "has no permanent response"
        raise InvalidParameter("protocol", f"<{type(protocol).__name__}>", why, "Use one of RAPPOR's forms.")


def check_key(key: object) -> bytes:
    """A key as it is; refused if it is short. No error shows it."""
    if not isinstance(key, bytes) or len(key) < FEWEST_KEY_BYTES:
        why = f"must be at least {FEWEST_KEY_BYTES} bytes that nobody can guess"
        raise InvalidParameter("key", "<key>", why, "Write key=new_key(), and keep it on the device.")
    return key


def new_key(entropy: Entropy = SYSTEM) -> bytes:
    """256 fresh bits."""
    return entropy.bits(8 * KEY_BYTES).to_bytes(KEY_BYTES, "big")


def device_key(path: str | os.PathLike[str]) -> bytes:
    """The key in a file that only its owner may read; made from the system's entropy if there is none.

    The file appears whole or not at all, and the first of several processes wins. If the file is lost, a new key is
    made. Answers that were reported before then cost their loss again.
    """
    try:
        return _read_key(path)
    except FileNotFoundError:
        _write_key(path, new_key())
        return _read_key(path)


def _read_key(path: str | os.PathLike[str]) -> bytes:
    with open(path, "rb") as file:
        mode = os.fstat(file.fileno()).st_mode
        if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
            why = "may be read or changed by others than its owner"
            raise InvalidParameter("path", os.fspath(path), why, "Run chmod 600, or delete it and begin anew.")
        return check_key(file.read())


def _write_key(path: str | os.PathLike[str], key: bytes) -> None:
    draft = f"{os.fspath(path)}.{os.getpid()}.{SYSTEM.bits(64):016x}"
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(key)
            file.flush()
            os.fsync(file.fileno())
        os.link(draft, path)
    except FileExistsError:  # another process was faster
        pass
    finally:
        os.unlink(draft)
    if os.name == "posix":  # a key that a power failure takes back would be drawn anew, and answers cost twice
        directory = os.open(os.path.dirname(os.path.abspath(path)), os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


class _Stream(Entropy):
    """The bits that a key gives for one input."""

    __slots__ = ("_begun", "_block", "_left", "_value")
    private = True

    def __init__(self, begun: hmac.HMAC, index: int) -> None:
        self._begun = begun.copy()
        self._begun.update(_written(index))
        self._block = self._value = self._left = 0

    def bits(self, count: int) -> int:
        while self._left < count:
            block = self._begun.copy()
            block.update(self._block.to_bytes(8, "big"))
            self._value = self._value << 256 | int.from_bytes(block.digest(), "big")
            self._block, self._left = self._block + 1, self._left + 256
        self._left -= count
        taken, self._value = self._value >> self._left, self._value & (1 << self._left) - 1
        return taken

    def fill(self, target: memoryview) -> None:
        target[:] = self.bits(8 * len(target)).to_bytes(len(target), "big")


def _written(part: object) -> bytes:
    """One part of an input, so that parts cannot run into one another."""
    text = part if isinstance(part, bytes) else str(part).encode("utf-8", "surrogatepass")
    return len(text).to_bytes(8, "big") + text
