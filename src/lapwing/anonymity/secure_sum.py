"""The secure sum of the Boston wage study: totals over many companies, and no company's numbers seen by anybody.

Boston University built it for the Boston Women's Workforce Council (Lapets, Volgushev, Bestavros, Jansen and Varia
2016, Secure multi-party computation for analytics deployed as a lightweight web application; Lapets and others 2018,
COMPASS). The study of 2016 added up the pay of 112,600 people: on average $78,954 a year for women and $103,155 for
men, 77 cents for a dollar.

Every company masks each cell of its table with a fresh random number; one server adds up the masks, another the masked
numbers, and an analyst who gets the two sums takes one from the other. Here the masks are uniform in a prime field, so
that what either server sees says nothing at all (see `sharing`), and there may be more servers: with a `threshold`, any
so many of them suffice.

Who must be trusted: that fewer than `threshold` servers (without one: not all of them) put together what they saw, and
that everybody does what was agreed. A company can still lie about its own numbers, and whoever listens on a line must
be kept out by encryption, which is left to the line.

What it does not protect is the sum. Two sums that differ by a company give that company away; with few people in a cell
a sum gives people away. With `epsilon` every server adds noise of its own, and then the totals are private for
employees, even towards an analyst who has one of the servers on their side.

>>> study = SecureSum(cells=["women", "men"], companies=["ABC", "Beta", "Gamma"])
>>> tables = {"ABC": {"women": 40, "men": 60}, "Beta": {"women": 7, "men": 9}, "Gamma": {"women": 1, "men": 0}}
>>> study.run(tables).totals
{'women': 48, 'men': 69}
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from lapwing import checks
from lapwing.anonymity.sharing import (
    LARGEST_SECRET,
    MERSENNE_61,
    NOISE_SCALES,
    AdditiveSharing,
    ShamirSharing,
    Share,
    Sharing,
)
from lapwing.checks import Number
from lapwing.errors import InvalidParameter, LapwingError
from lapwing.noise import SYSTEM, Entropy, discrete_laplace

FEWEST = 3
Table = Mapping[str, int]


class ProtocolFailed(LapwingError):
    """A party did not do what was agreed, so nothing is added up."""

    def __init__(self, party: str, why: str) -> None:
        self.party, self.why = party, why
        super().__init__(f"{party}: {why}. Nothing was added up. Start again when all parties are there.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The totals, and what each party saw on the way.

    Attributes:
        totals: The total of each cell.

    >>> protocol = SecureSum(cells=["women", "men"], companies=["A", "B", "C"])
    >>> own = {"women": 3, "men": 4}
    >>> outcome = protocol.run({"A": own, "B": own, "C": own})
    >>> outcome.totals["women"], sorted(outcome.seen)
    (9, ['analyst', 'server A', 'server B'])
    """

    totals: dict[str, int]
    seen: Mapping[str, Mapping[str, Sequence[int]]]
    """By party: what came in, by sender, in the order of the cells. A real server would show this to nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SecureSum:
    """The secure sum of a study: who takes part and which cells are added up. All of it is public.

    Privacy: with `epsilon`, the totals are epsilon-private for one person more or less (add_remove), towards everybody
    but all servers together. Each of the cells a person is in has noise for epsilon/cells_per_person, by every server.

    Args:
        cells: The names of the numbers to add up.
        companies: The names of those who contribute, at least three.
        servers: How many servers add up shares, at least two.
        largest: The largest absolute value of one number of a company.
        prime: The size of the field. All totals and their noise must fit into half of it.
        epsilon: The ε of the totals, for noise that every server adds. None adds no noise: the totals are exact.
        sensitivity: By how much one person changes each cell at most; required with `epsilon`. Companies clamp what
            goes beyond.
        cells_per_person: In how many cells one person may be at once.

    Raises:
        InvalidParameter: If there are too few cells, companies or servers, if names repeat, if a total might not fit
            below half of prime, or if epsilon comes with a threshold or without a sensitivity for each cell.

    >>> protocol = SecureSum(cells=["women", "men"], companies=["A", "B", "C"])
    >>> own = {"women": 3, "men": 4}
    >>> outcome = protocol.run({"A": own, "B": own, "C": own})
    >>> outcome.totals
    {'women': 9, 'men': 12}
    """

    cells: Sequence[str]
    companies: Sequence[str]
    servers: int = 2
    threshold: int | None = None
    """How many servers suffice; None means all of them."""
    largest: int = LARGEST_SECRET
    prime: int = MERSENNE_61
    epsilon: Number | None = None
    sensitivity: Mapping[str, int] = field(default_factory=dict)
    cells_per_person: int = 1
    sharing: Sharing = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "cells", _names(1, "Write cells=['women', 'men'].", cells=self.cells))
        few = "With two companies, each could subtract its own numbers."
        object.__setattr__(self, "companies", _names(FEWEST, few, companies=self.companies))
        checks.whole(servers=self.servers, minimum=2)
        scheme: Sharing
        if self.threshold is None:
            scheme = AdditiveSharing(parties=self.servers, prime=self.prime, largest=self.largest)
        else:
            scheme = ShamirSharing(
                parties=self.servers, threshold=self.threshold, prime=self.prime, largest=self.largest
            )
        object.__setattr__(self, "sharing", scheme)
        self._check_noise()
        most = len(self.companies) * self.largest + self._most_noise()
        if most > self.prime // 2:
            raise InvalidParameter(
                "largest", self.largest, f"the total might not fit into a field of {self.prime}", "Use a larger prime."
            )

    def _check_noise(self) -> None:
        checks.whole(cells_per_person=self.cells_per_person)
        if self.epsilon is None:
            return
        checks.positive(epsilon=self.epsilon)
        if self.threshold is not None:
            hint = "Leave the threshold out, or let a company share the noise with `ShamirSharing.noise`."
            raise InvalidParameter("epsilon", self.epsilon, "servers that may be left out cannot add noise", hint)
        if set(self.sensitivity) != set(self.cells):
            hint = "Write sensitivity={'women': 1, …}, one for every cell."
            raise InvalidParameter("sensitivity", dict(self.sensitivity), "must name every cell", hint)
        for cell in self.cells:
            checks.whole(sensitivity=self.sensitivity[cell])

    def _scale(self, cell: str) -> Fraction:
        """Of the noise of one server on one cell."""
        return self.sensitivity[cell] * self.cells_per_person / checks.positive(epsilon=self.epsilon)

    def _most_noise(self) -> int:
        if self.epsilon is None:
            return 0
        return self.servers * math.ceil(NOISE_SCALES * max(self._scale(cell) for cell in self.cells))

    def split(self, table: Table, entropy: Entropy = SYSTEM) -> list[list[int]]:
        """A company's part: cut its numbers into shares.

        Args:
            table: The number of the company for each cell.
            entropy: Where the random masks come from.

        Returns:
            For each server a list with a random-looking number for each cell.

        Raises:
            InvalidParameter: If the table has not exactly the cells of the study, or if a number is too large.

        >>> protocol = SecureSum(cells=["women", "men"], companies=["A", "B", "C"])
        >>> [len(shares) for shares in protocol.split({"women": 3, "men": 4})]  # two servers, two cells
        [2, 2]
        """
        if set(table) != set(self.cells):
            why, hint = "must have exactly the cells of the study", f"Its cells are {', '.join(self.cells)}."
            raise InvalidParameter("table", sorted(table), why, hint)
        shares = [self.sharing.share(table[cell], entropy) for cell in self.cells]
        return [[cell[server].value for cell in shares] for server in range(self.servers)]

    def add_up(self, received: Mapping[str, Sequence[int]], entropy: Entropy = SYSTEM) -> list[int]:
        """A server's part: add up the shares of all companies, and noise if there is an epsilon.

        Nothing is added up unless every company is there: sums over different companies are a differencing attack.

        Args:
            received: What each company sent to this server.
            entropy: Where the noise comes from.

        Returns:
            For each cell a share of the total.

        Raises:
            ProtocolFailed: If a company is missing or sent something else than numbers of the field.

        >>> protocol = SecureSum(cells=["women"], companies=["A", "B", "C"])
        >>> sent = {company: protocol.split({"women": 3}) for company in protocol.companies}
        >>> first, second = (protocol.add_up({company: sent[company][place] for company in sent}) for place in (0, 1))
        >>> protocol.reveal({1: first, 2: second})
        {'women': 9}
        """
        missing = [company for company in self.companies if company not in received]
        if missing:
            raise ProtocolFailed(" and ".join(missing), "did not send its numbers")
        for company, values in received.items():
            self._check(company, values)
        sums = [sum(column) % self.prime for column in zip(*received.values(), strict=True)]
        if self.epsilon is None:
            return sums
        noise = (discrete_laplace(self._scale(cell), entropy=entropy) for cell in self.cells)
        return [(total + more) % self.prime for total, more in zip(sums, noise, strict=True)]

    def _check(self, sender: str, values: object) -> None:
        if not isinstance(values, Sequence) or isinstance(values, str) or len(values) != len(self.cells):
            raise ProtocolFailed(sender, f"sent something else than {len(self.cells)} numbers")
        if not all(type(value) is int and 0 <= value < self.prime for value in values):
            raise ProtocolFailed(sender, "sent something that is not a number of the field")

    def reveal(self, sums: Mapping[int, Sequence[int]]) -> dict[str, int]:
        """The analyst's part: put the sums of the servers together.

        Args:
            sums: The sums of enough servers, by the number of the server from 1.

        Returns:
            The total of each cell.

        Raises:
            ProtocolFailed: If too few servers sent their sums, or one sent something else than numbers of the field.
        """
        if len(sums) < self.sharing.needed:
            raise ProtocolFailed("servers", f"{len(sums)} sent their sums, {self.sharing.needed} are needed")
        for server, values in sums.items():
            self._check(server_name(server), values)
        limit = self.prime // 2
        return {
            cell: self.sharing.reconstruct(Share(self.sharing, server, sums[server][place], limit) for server in sums)
            for place, cell in enumerate(self.cells)
        }

    def run(self, tables: Mapping[str, Table], entropy: Entropy = SYSTEM) -> Outcome:
        """All parts, one after another, in this process. `parties.run_apart` runs them in separate ones.

        Args:
            tables: The table of each company.
            entropy: Where masks and noise come from.

        Returns:
            The totals, and what each party saw.
        """
        sent = {company: self.split(table, entropy) for company, table in tables.items()}
        seen: dict[str, dict[str, Sequence[int]]] = {}
        sums: dict[int, list[int]] = {}
        for server in range(1, self.servers + 1):
            received = {company: parts[server - 1] for company, parts in sent.items()}
            seen[server_name(server)] = dict(received)
            sums[server] = self.add_up(received, entropy)
        seen["analyst"] = {server_name(server): values for server, values in sums.items()}
        return Outcome(totals=self.reveal(sums), seen=seen)


def _names(least: int, hint: str, **named: Sequence[str]) -> tuple[str, ...]:
    [(name, words)] = named.items()
    if isinstance(words, str) or len(set(words)) != len(words) or len(words) < least:
        raise InvalidParameter(name, words, f"must be at least {least} different names", hint)
    return tuple(words)


def server_name(number: int) -> str:
    """What the server of this number is called.

    >>> server_name(1)
    'server A'
    """
    return f"server {chr(ord('A') + number - 1)}" if number <= 26 else f"server {number}"
