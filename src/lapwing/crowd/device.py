"""A device that sends reports as Apple's do: opt-in, samples, limits, no metadata. It counts the total loss.

    event → randomised at once, the event forgotten → stored, in no order
    once a day → some stored reports drawn at random, charged (durable), the others deleted → envelopes

What Apple was criticised for (Tang et al. 2017) is bounded here: a day that was not used is not saved up, and a
lifetime has an allowance that a restart does not renew.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from typing import Any, Protocol

from lapwing import checks
from lapwing.calls import Helpful
from lapwing.checks import Number
from lapwing.crowd import protocol as crowd
from lapwing.errors import InvalidParameter
from lapwing.noise import SYSTEM, Entropy, permutation, uniform_below
from lapwing.privacy import PureDP
from lapwing.privacy.allowances import stable_name
from lapwing.privacy.journal import Database
from lapwing.privacy.store import FileStore

MOST_STORED = 64
"""Reports of a feature that wait at a time; of more events, a uniform sample waits."""


class Allowance(Protocol):
    """Somebody else who must agree to every donation, such as one account for several devices or collectors.

    `charge` is durable when it returns True, and must not depend on any answer.
    """

    def remaining(self) -> PureDP:
        """What may still be charged."""

    def charge(self, loss: PureDP) -> bool:
        """Charge this, or refuse and charge nothing."""


@dataclass(frozen=True, slots=True)
class Envelope:
    """What leaves a device: which collection it is for, and one report. No name, number, time or order.

    Attributes:
        feature: The name of the collection.

    >>> import tempfile
    >>> from lapwing.crowd import Device, Reports
    >>> from lapwing.crowd.apple import preset
    >>> sketch = preset("popular emoji")
    >>> emoji = Donation(protocol=sketch, lifetime=12)
    >>> device = Device(tempfile.mkdtemp() + "/device.db", {"popular emoji": emoji})
    >>> device.opt_in()
    >>> device.record("popular emoji", "😀")
    >>> [envelope] = device.donate()
    >>> envelope.feature, Reports.from_bytes(sketch, envelope.report).n
    ('popular emoji', 1)
    """

    feature: str
    report: bytes
    """The bytes of one report, as long as every other of its protocol (`Reports.from_bytes`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Donation(metaclass=Helpful):
    """What a device may donate for one feature: so many reports a day, and a limit on their total epsilon.

    Args:
        protocol: What events are randomised with.
        lifetime: The largest epsilon that all donations of this feature may cost together, for ever.
        per_day: How many reports may leave the device on one day.

    Raises:
        InvalidParameter: If per_day is not a whole number from 1 on, or if lifetime is less than one report costs.

    >>> from lapwing.crowd import UnaryEncoding
    >>> layouts = UnaryEncoding.from_epsilon(epsilon=1, domain=["qwerty", "azerty"])
    >>> donation = Donation(protocol=layouts, lifetime=10, per_day=2)
    >>> f"{int(donation.lifetime / layouts.privacy_loss().epsilon)} reports in a lifetime"
    '10 reports in a lifetime'
    """

    protocol: crowd.Protocol
    lifetime: Number
    per_day: int = 1
    _lifetime: Fraction = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        checks.whole(per_day=self.per_day)
        lifetime, loss = checks.positive(lifetime=self.lifetime), crowd.as_protocol(self.protocol).privacy_loss()
        if loss.epsilon > lifetime:
            why = "is less than one report costs, so nothing could ever be donated"
            raise InvalidParameter("lifetime", self.lifetime, why, f"Allow {float(loss.epsilon):.6g} or more.")
        object.__setattr__(self, "_lifetime", lifetime)

    def loss(self, epsilon: Fraction) -> PureDP:
        """An epsilon as a loss with the protocol's unit.

        Args:
            epsilon: The exact epsilon.

        Returns:
            The loss, under the relation replace.

        >>> from fractions import Fraction
        >>> from lapwing.crowd.apple import preset
        >>> print(Donation(protocol=preset("popular emoji"), lifetime=12).loss(Fraction(4)))
        ε = 4 (replace, per person)
        """
        return PureDP(epsilon, relation="replace", unit=self.protocol.unit)


class DeviceFile(FileStore):
    """The SQLite file of a device. It holds randomised reports and what was spent; never an event."""

    __slots__ = ()

    statements = (
        "CREATE TABLE device (opted_in INTEGER NOT NULL, last_day INTEGER)",
        "CREATE TABLE promise (feature TEXT PRIMARY KEY, lifetime TEXT NOT NULL, spent TEXT NOT NULL, seen INTEGER)",
        "CREATE TABLE record (place INTEGER PRIMARY KEY, feature TEXT NOT NULL, protocol BLOB, report BLOB NOT NULL)",
    )
    layout = frozenset(statements)


class Device:
    """One person's device. Any number of threads and processes may use one file.

    Privacy: what leaves the device in its lifetime is alike within e^(Σ lifetimes of the features), for any two
    histories that differ in what happened but not in when something did. What is sent, and when, depends on numbers of
    events and on coins, never on what an event was. Nothing is sent before `opt_in`.
    Proof: device.md

    Args:
        path: The SQLite file of the device; made if it does not exist. It holds randomised reports and what was spent.
        features: For each feature by name, what may be donated. A lifetime may be lowered later, never raised.
        clock: Gives today's date.
        entropy: Source of random bits. Only tests should use another than the system's.
        allowance: An account that must agree to every donation, such as one for several devices. None if there is none.

    Raises:
        InvalidParameter: If features is not a mapping from names to `Donation`, or if a lifetime is longer than this
            device was promised before.

    >>> import tempfile
    >>> from lapwing.crowd.apple import preset
    >>> emoji = Donation(protocol=preset("popular emoji"), lifetime=12, per_day=1)
    >>> device = Device(tempfile.mkdtemp() + "/device.db", {"popular emoji": emoji})
    >>> device.opt_in()
    >>> for event in "😀🎉😀":
    ...     device.record("popular emoji", event)
    >>> [envelope.feature for envelope in device.donate()], device.donate()
    (['popular emoji'], [])
    >>> print(device.remaining("popular emoji"))
    ε = 8.00347 (replace, per person)
    """

    __slots__ = ("_allowance", "_clock", "_entropy", "_features", "_file")

    def __init__(
        self,
        path: str | os.PathLike[str],
        features: Mapping[str, Donation],
        *,
        clock: Callable[[], date] = date.today,
        entropy: Entropy = SYSTEM,
        allowance: Allowance | None = None,
    ) -> None:
        self._features = _checked(features)
        self._clock, self._entropy, self._allowance = clock, entropy, allowance
        self._file = DeviceFile(path, None)
        self._file.create(allowed=True)
        with self._file.transaction() as database:
            self._file.check(database)
            self._promise(database)

    def __repr__(self) -> str:
        return f"Device({self._file.name!r}, {list(self._features)!r})"

    @property
    def opted_in(self) -> bool:
        """Whether the person wants to donate; nobody does before they say so."""
        with self._file.transaction(write=False) as database:
            return _opted_in(database)

    def opt_in(self) -> None:
        """Agree to donate: from now on events are recorded."""
        with self._file.transaction() as database:
            database.execute("UPDATE device SET opted_in = 1")

    def opt_out(self) -> None:
        """Stop: nothing is recorded or donated any more, and stored reports are deleted. What was spent stays spent.

        >>> import tempfile
        >>> from lapwing.crowd.apple import preset
        >>> emoji = Donation(protocol=preset("popular emoji"), lifetime=12)
        >>> device = Device(tempfile.mkdtemp() + "/device.db", {"popular emoji": emoji})
        >>> device.opt_in()
        >>> device.record("popular emoji", "😀")
        >>> device.opt_out()
        >>> device.opted_in, device.stored("popular emoji")
        (False, 0)
        """
        with self._file.transaction() as database:
            database.execute("UPDATE device SET opted_in = 0")
            _delete(database, self._features)

    def forget(self, feature: str | None = None) -> None:
        """Delete the stored reports.

        Args:
            feature: The feature to forget; None for all of them.

        Raises:
            InvalidParameter: If the device has no such feature.

        >>> import tempfile
        >>> from lapwing.crowd.apple import preset
        >>> emoji = Donation(protocol=preset("popular emoji"), lifetime=12)
        >>> device = Device(tempfile.mkdtemp() + "/device.db", {"popular emoji": emoji})
        >>> device.opt_in()
        >>> device.record("popular emoji", "😀")
        >>> device.forget("popular emoji")
        >>> device.opted_in, device.stored("popular emoji")
        (True, 0)
        """
        with self._file.transaction() as database:
            _delete(database, self._features if feature is None else [self._known(feature)])

    def record(self, feature: str, event: Any) -> None:
        """Randomise an event and store the report, if the person has opted in. The event is kept nowhere.

        Errors are about the feature, which is public; no event raises one.

        Args:
            feature: The feature that the event belongs to.
            event: What happened: an answer to the protocol of the feature.

        Raises:
            InvalidParameter: If the device has no such feature.
        """
        protocol = self._features[self._known(feature)].protocol
        report = protocol.randomize([event], self._entropy).to_bytes()
        here = {"feature": feature, "protocol": protocol.fingerprint, "report": report}
        with self._file.transaction() as database:
            if not _opted_in(database):
                return
            database.execute("PRAGMA secure_delete = ON")
            database.execute("UPDATE promise SET seen = seen + 1 WHERE feature = :feature", here)
            [seen] = database.execute("SELECT seen FROM promise WHERE feature = :feature", here).fetchone()
            if seen > MOST_STORED:  # a reservoir: each event waits with the same probability
                places, drawn = _places(database, feature, protocol), uniform_below(seen, entropy=self._entropy)
                if drawn >= len(places):
                    return
                database.execute("DELETE FROM record WHERE place = :place", {"place": places[drawn]})
            place = uniform_below(1 << 62, entropy=self._entropy)  # so that places tell no order
            database.execute(
                "INSERT OR REPLACE INTO record VALUES (:place, :feature, :protocol, :report)", {**here, "place": place}
            )

    def donate(self) -> list[Envelope]:
        """Today's envelopes. Call it once a day: a second call on a day, or a clock that went back, gives none.

        They are charged, and gone from the device, before this returns: a crash loses donations, and repeats none.

        Returns:
            The envelopes to send, in a random order.
        """
        envelopes: list[Envelope] = []
        today = {"today": self._clock().toordinal()}
        with self._file.transaction() as database:
            [last_day] = database.execute("SELECT last_day FROM device").fetchone()
            if not _opted_in(database) or (last_day is not None and today["today"] <= last_day):
                return []
            database.execute("UPDATE device SET last_day = :today", today)
            for feature, donation in self._features.items():
                envelopes += self._drawn(database, feature, donation)
            _delete(database, self._features)
        return [envelopes[place] for place in permutation(len(envelopes), self._entropy).tolist()]

    def spent(self, feature: str) -> PureDP:
        """What the donations of a feature have cost so far.

        Args:
            feature: The name of the feature.

        Returns:
            The sum of the losses of all reports that left the device.

        Raises:
            InvalidParameter: If the device has no such feature.

        >>> import tempfile
        >>> from lapwing.crowd.apple import preset
        >>> emoji = Donation(protocol=preset("popular emoji"), lifetime=12)
        >>> device = Device(tempfile.mkdtemp() + "/device.db", {"popular emoji": emoji})
        >>> device.opt_in()
        >>> device.record("popular emoji", "😀")
        >>> envelopes = device.donate()
        >>> print(device.spent("popular emoji"))
        ε = 3.99654 (replace, per person)
        """
        _, spent = self._row(feature)
        return self._features[feature].loss(spent)

    def remaining(self, feature: str) -> PureDP:
        """What the donations of a feature may still cost.

        Args:
            feature: The name of the feature.

        Returns:
            What is left of its lifetime.

        Raises:
            InvalidParameter: If the device has no such feature.
        """
        lifetime, spent = self._row(feature)
        return self._features[feature].loss(max(lifetime - spent, Fraction(0)))

    def stored(self, feature: str) -> int:
        """How many randomised reports wait on the device.

        Args:
            feature: The name of the feature.

        Returns:
            Their number, at most 64.

        Raises:
            InvalidParameter: If the device has no such feature.

        >>> import tempfile
        >>> from lapwing.crowd.apple import preset
        >>> emoji = Donation(protocol=preset("popular emoji"), lifetime=12)
        >>> device = Device(tempfile.mkdtemp() + "/device.db", {"popular emoji": emoji})
        >>> device.opt_in()
        >>> device.record("popular emoji", "😀")
        >>> device.stored("popular emoji")
        1
        """
        with self._file.transaction(write=False) as database:
            return len(_places(database, feature, self._features[self._known(feature)].protocol))

    def _promise(self, database: Database) -> None:
        """Write down what is promised: a lifetime may fall, it never rises. Delete what nobody wants."""
        if database.execute("SELECT * FROM device").fetchone() is None:
            database.execute("INSERT INTO device VALUES (0, NULL)")
        for feature, donation in self._features.items():
            lifetime, spent = _promised(database, feature) or (donation._lifetime, Fraction(0))
            if donation._lifetime > lifetime:
                why = f"is more than the {lifetime} that this device was promised before"
                raise InvalidParameter(
                    "lifetime", donation.lifetime, why, f"Write lifetime={float(lifetime):g} or less."
                )
            promise = {"feature": feature, "lifetime": str(donation._lifetime), "spent": str(spent)}
            database.execute("INSERT OR IGNORE INTO promise VALUES (:feature, :lifetime, '0', 0)", promise)
            database.execute("UPDATE promise SET lifetime = :lifetime WHERE feature = :feature", promise)
        known = {(name, donation.protocol.fingerprint) for name, donation in self._features.items()}
        waiting = database.execute("SELECT DISTINCT feature, protocol FROM record")
        _delete(database, {feature for feature, protocol in waiting if (feature, protocol) not in known})

    def _drawn(self, database: Database, feature: str, donation: Donation) -> list[Envelope]:
        """As many of the reports that wait as day, lifetime and allowance let go, drawn at random, and charged."""
        lifetime, spent = _promised(database, feature) or (Fraction(0), Fraction(0))
        loss, places = donation.protocol.privacy_loss(), _places(database, feature, donation.protocol)
        affordable = int((lifetime - spent) / loss.epsilon) if lifetime > spent else 0
        envelopes = []
        for turn in permutation(len(places), self._entropy).tolist()[: min(donation.per_day, affordable)]:
            if self._allowance is not None and not self._allowance.charge(loss):
                break
            query = "SELECT report FROM record WHERE place = :place"
            [report] = database.execute(query, {"place": places[turn]}).fetchone()
            envelopes.append(Envelope(feature, bytes(report)))
        charged = {"spent": str(spent + len(envelopes) * loss.epsilon), "feature": feature}
        database.execute("UPDATE promise SET spent = :spent WHERE feature = :feature", charged)
        return envelopes

    def _row(self, feature: str) -> tuple[Fraction, Fraction]:
        with self._file.transaction(write=False) as database:
            promise = _promised(database, self._known(feature))
        return promise or (Fraction(0), Fraction(0))

    def _known(self, feature: str) -> str:
        if feature not in self._features:
            hint = f"Write one of: {', '.join(self._features)}."
            raise InvalidParameter("feature", feature, "is not a feature of this device", hint)
        return feature


def _checked(features: Mapping[str, Donation]) -> dict[str, Donation]:
    if not isinstance(features, Mapping) or not all(isinstance(donation, Donation) for donation in features.values()):
        why = "must say for each feature what may be donated: a Donation"
        hint = "Write {'emoji': Donation(protocol=preset('popular emoji'), lifetime=12)}."
        raise InvalidParameter("features", f"<{type(features).__name__}>", why, hint)
    return {stable_name("features", name): donation for name, donation in features.items()}


def _opted_in(database: Database) -> bool:
    [opted_in] = database.execute("SELECT opted_in FROM device").fetchone()
    return bool(opted_in)


def _promised(database: Database, feature: str) -> tuple[Fraction, Fraction] | None:
    """The lifetime that was promised, and what of it is spent."""
    query = "SELECT lifetime, spent FROM promise WHERE feature = :feature"
    row = database.execute(query, {"feature": feature}).fetchone()
    return None if row is None else (Fraction(row["lifetime"]), Fraction(row["spent"]))


def _places(database: Database, feature: str, protocol: crowd.Protocol) -> list[int]:
    """Of the reports that wait. Who runs with other parameters may have stored some, at another price."""
    query = "SELECT place FROM record WHERE feature = :feature AND protocol = :protocol"
    return [place for (place,) in database.execute(query, {"feature": feature, "protocol": protocol.fingerprint})]


def _delete(database: Database, features: Any) -> None:
    """Overwrite what waits with zeros, and begin to sample anew."""
    database.execute("PRAGMA secure_delete = ON")
    for feature in features:
        database.execute("DELETE FROM record WHERE feature = :feature", {"feature": feature})
        database.execute("UPDATE promise SET seen = 0 WHERE feature = :feature", {"feature": feature})
