"""Totals of bounded numbers that go on (ToPS), from a file that survives crashes: paid for once, each step closed once.

    open_numeric_stream(file, lw.Tops(…), ledger=…, dataset=…)   charged once, durably
    stream.observe(numbers)                                      one step: one transaction, then the answer
    stream.estimate(), stream.between(first, last)               what was released; costs nothing

The caller is the clock: when a step ends must not depend on the numbers. Proof: numeric_stream.md
"""

from __future__ import annotations

import os
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any

from lapwing import checks
from lapwing.calls import helpful
from lapwing.curator.ask.quote import SEEDED
from lapwing.curator.streams import state as states
from lapwing.curator.streams.opening import REFUSALS, _file, forget
from lapwing.curator.streams.state import StateFile
from lapwing.errors import InvalidCall, InvalidParameter, StreamDamaged
from lapwing.mechanisms import Tops
from lapwing.noise import SYSTEM, Entropy
from lapwing.privacy import Ledger, Loss
from lapwing.privacy.journal import Database, append
from lapwing.privacy.weak_privacy import warn_if_large

KIND = "numeric stream 1"
LARGEST_ERROR = 1e300


@dataclass(frozen=True, slots=True)
class NumericTotal:
    """The sum of all numbers since the first steps, cut off at the threshold, or over some later steps.

    Attributes:
        step: The last step that is summed.
        threshold: Larger numbers count as this one, and numbers below 0 count as 0. None while it is still to be
            chosen.

    >>> print(lw.NumericTotal(step=600, total=1234.5, half_width=60.0, threshold=45.0))
    step 600: 1,234.5 ± 60 at 95 % confidence, numbers cut off at 0 and 45
    """

    step: int
    total: float | None
    """None while the first steps last."""
    half_width: float | None
    """Of the 95 % interval for what was not cut off, at the last end of a block; None where nothing is stated.

    It is about numbers that were rounded to the grid of the mechanism (`Tops.granularity`).
    """
    threshold: float | None
    seeded: bool = False
    """Whether noise of the stream came from a reproducible source: then this is not private."""

    def __str__(self) -> str:
        if self.seeded:
            return f"{replace(self, seeded=False)}. {SEEDED}"
        if self.total is None:
            return f"step {self.step:,}: the threshold is still to be chosen"
        within = "" if self.half_width is None else f" ± {self.half_width:,.4g} at 95 % confidence"
        return f"step {self.step:,}: {self.total:,.6g}{within}, numbers cut off at 0 and {self.threshold:,.6g}"


@dataclass(frozen=True, repr=False)
class NumericStream:
    """An open stream of numbers. Everything it shows was paid for when it was opened.

    Attributes:
        file: The file of the state. It is secret, since it holds exact sums.
        mechanism: The mechanism (ToPS), with its public parameters.

    >>> import tempfile
    >>> delays = lw.Tops(epsilon=1, bound=600, steps=400, first=200)
    >>> stream = lw.open_numeric_stream(tempfile.mkdtemp() + "/delays.stream", delays)
    >>> for minute in range(300):
    ...     total = stream.observe([minute % 30])
    >>> stream.closed, stream.left, 0 < total.threshold <= 600
    (300, 100, True)
    """

    file: StateFile
    mechanism: Tops

    def __repr__(self) -> str:
        return f"<NumericStream of {self.mechanism.steps:,} steps: {self.closed:,} closed>"

    @property
    def loss(self) -> Loss:
        """What the whole stream costs: charged once, when it was opened."""
        return self.mechanism.privacy_loss()

    @property
    def steps(self) -> int:
        """How many steps the stream has."""
        return self.mechanism.steps

    @property
    def closed(self) -> int:
        """How many steps are closed."""
        with self.file.transaction(write=False) as database:
            return states.closed_steps(database)

    @property
    def left(self) -> int:
        """How many steps are left; none if the stream was ended."""
        with self.file.transaction(write=False) as database:
            ended = "ended" in states.facts(database)
            return 0 if ended else self.mechanism.steps - states.closed_steps(database)

    def observe(self, numbers: Any = (), *, step: int | None = None, entropy: Entropy = SYSTEM) -> NumericTotal:
        """Close the next step with these numbers.

        Args:
            numbers: The numbers of the step, each between 0 and the bound. Numbers below 0 count as 0, and larger ones
                as the bound. What is no number is left out.
            step: The number of the step, so that a second try closes none twice. None means the next one.
            entropy: Where the noise comes from. Anything but the default is not private.

        Returns:
            The total after the step. For a step that is closed already this is the stored one.

        Raises:
            InvalidParameter: If `step` is later than the next one, or `entropy` is a seed, and a ledger was charged for
                a stream without one.
            InvalidCall: If the stream has ended.
            StreamDamaged: If the file of the stream holds counters of another step.

        >>> import tempfile
        >>> delays = lw.Tops(epsilon=1, bound=600, steps=400, first=200)
        >>> stream = lw.open_numeric_stream(tempfile.mkdtemp() + "/delays.stream", delays)
        >>> print(stream.observe([5, 8]))
        step 1: the threshold is still to be chosen
        """
        wanted = None if step is None else checks.whole(step=step)
        with self.file.transaction() as database:
            closed = states.closed_steps(database)
            target = closed + 1 if wanted is None else wanted
            if target > closed:
                self._must_go_on(database, closed, target)
                self._close(database, closed, numbers, entropy)
        self.file.write_anchor()
        return self.at(target)

    def at(self, step: int) -> NumericTotal:
        """What was shown after a closed step.

        Args:
            step: The number of the step, from 1 on.

        Returns:
            The stored total.

        Raises:
            InvalidParameter: If the step is not closed yet.
            InvalidCall: If no step is closed yet.

        >>> import tempfile
        >>> delays = lw.Tops(epsilon=1, bound=600, steps=400, first=200)
        >>> stream = lw.open_numeric_stream(tempfile.mkdtemp() + "/delays.stream", delays)
        >>> for minute in range(2):
        ...     total = stream.observe([5, 8])
        >>> stream.at(1).step
        1
        """
        with self.file.transaction(write=False) as database:
            return self._shown(database, step)

    def estimate(self) -> NumericTotal:
        """The total so far.

        Returns:
            The total after the last closed step.

        Raises:
            InvalidCall: If no step is closed yet.

        >>> import tempfile
        >>> delays = lw.Tops(epsilon=1, bound=600, steps=400, first=200)
        >>> stream = lw.open_numeric_stream(tempfile.mkdtemp() + "/delays.stream", delays)
        >>> for minute in range(2):
        ...     total = stream.observe([5, 8])
        >>> stream.estimate() == total
        True
        """
        with self.file.transaction(write=False) as database:
            return self._shown(database, states.closed_steps(database))

    def between(self, first: int, last: int) -> NumericTotal:
        """The sum over the steps from `first` to `last`, both included and both after the first steps.

        Args:
            first: The first step of the sum.
            last: The last step of the sum, which must be closed.

        Returns:
            The sum. It has an interval if it begins and ends with a block.

        Raises:
            InvalidParameter: If `first` is one of the first steps, or `last` is before `first` or not closed yet.
            InvalidCall: If no step is closed yet.

        >>> import tempfile
        >>> delays = lw.Tops(epsilon=1, bound=600, steps=400, first=20)
        >>> stream = lw.open_numeric_stream(tempfile.mkdtemp() + "/delays.stream", delays)
        >>> for minute in range(30):
        ...     total = stream.observe([5, 8])
        >>> stream.between(21, 30).step
        30
        """
        start = checks.whole(minimum=self.mechanism.first + 1, first=first) - 1
        stop = checks.whole(minimum=start + 1, last=last)
        with self.file.transaction(write=False) as database:
            late, early = self._shown(database, stop), self._shown(database, start)
        assert late.total is not None
        ends, width = [place - self.mechanism.first for place in (start, stop)], None
        if late.threshold is not None and all(self.mechanism.ends_block(end) for end in ends):
            width = self.mechanism.range_half_width(late.threshold, *ends)
        return NumericTotal(stop, late.total - (early.total or 0.0), width, late.threshold, late.seeded)

    def history(self, *, looking_back: bool = False) -> list[float]:
        """The totals after every closed step but the first ones.

        Args:
            looking_back: Whether to correct earlier totals by later ones, so that the series never falls.

        Returns:
            One total for each step.

        >>> import tempfile
        >>> delays = lw.Tops(epsilon=1, bound=600, steps=400, first=20)
        >>> stream = lw.open_numeric_stream(tempfile.mkdtemp() + "/delays.stream", delays)
        >>> for minute in range(22):
        ...     total = stream.observe([5, 8])
        >>> len(stream.history())  # of steps 21 and 22
        2
        """
        with self.file.transaction(write=False) as database:
            shown = [estimates[0][0] for estimates, _ in states.all_shown(database)]
        later = shown[self.mechanism.first :]
        return self.mechanism.looking_back(later) if looking_back else later

    def end(self) -> None:
        """End the stream for good and wipe its secrets; what was shown stays, and nothing is paid back.

        >>> import tempfile
        >>> delays = lw.Tops(epsilon=1, bound=600, steps=400, first=200)
        >>> stream = lw.open_numeric_stream(tempfile.mkdtemp() + "/delays.stream", delays)
        >>> for minute in range(2):
        ...     total = stream.observe([5, 8])
        >>> stream.end()
        >>> stream.left
        0
        """
        with self.file.transaction() as database:
            if "ended" not in states.facts(database):
                states.remember(database, "ended", True)
                append(database, "end", {"step": states.closed_steps(database)})
                database.execute("DELETE FROM counter")
        self.file.write_anchor()

    def _close(self, database: Database, closed: int, numbers: Any, entropy: Entropy) -> None:
        states.must_fit_the_charge(database, entropy)
        before = self.mechanism.state_from_bytes(states.counters(database)[0])
        if before.step != closed:
            raise StreamDamaged(self.file.name, "its counters, which are not those of the last step")
        after = self.mechanism.observe(before, numbers, entropy)
        limit = self.mechanism.threshold(after)
        error = min(self.mechanism.half_width(after), LARGEST_ERROR)
        estimates = [[self.mechanism.estimate(after)], [-1.0 if limit is None else limit]]
        states.close_step(database, closed + 1, estimates, [error])
        states.keep_counters(database, {0: self.mechanism.state_to_bytes(after)})
        states.remember_seed(database, entropy)

    def _shown(self, database: Database, step: int) -> NumericTotal:
        closed = states.closed_steps(database)
        if not closed:
            raise InvalidCall("stream", "no step is closed yet", "Write stream.observe(numbers) when a step is over.")
        if checks.whole(step=step) > closed:
            raise InvalidParameter("step", step, f"is not closed yet: {closed:,} steps are", "Observe it first.")
        [[total], [limit]], errors = states.shown_at(database, step)
        seeded, first = states.is_seeded(database), self.mechanism.first
        if step <= first:
            return NumericTotal(step, None if step < first else 0.0, None, limit if limit >= 0 else None, seeded)
        assert errors is not None
        return NumericTotal(step, total, errors[0] if self.mechanism.ends_block(step - first) else None, limit, seeded)

    def _must_go_on(self, database: Database, closed: int, target: int) -> None:
        if closed == self.mechanism.steps or "ended" in states.facts(database):
            raise InvalidCall("observe", "this stream has ended", "Open another one; it costs again.")
        if target != closed + 1:
            why = f"is not the next step, which is {closed + 1:,}"
            raise InvalidParameter("step", target, why, "Close steps one after another, also those without numbers.")


@helpful
def open_numeric_stream(
    state: str | os.PathLike[str],
    mechanism: Tops | None = None,
    *,
    ledger: Ledger | None = None,
    dataset: str | None = None,
    analyst: str | None = None,
    anchor: str | os.PathLike[str] | None = None,
    entropy: Entropy = SYSTEM,
) -> NumericStream:
    """Pay for a stream of numbers, once and durably, and begin it in a new file; or go on with the one in this file.

    Args:
        state: The file of the stream. Only you may read it: it holds exact sums.
        mechanism: What to open, `lw.Tops(…)`. None means to go on with the stream in the file, at no cost.
        ledger: The ledger to charge. None means that nobody adds up what is spent.
        dataset: The data set in the ledger. Its allowance must be about the unit of the mechanism, an event.
        analyst: Who pays, for allowances of single analysts.
        anchor: A small file that notices if an older copy of the state is put back. None means a file beside it.
        entropy: Where the noise comes from. Anything but the default is not private.

    Returns:
        The open stream.

    Raises:
        InvalidParameter: If a ledger is given without a data set, or the file holds another stream.
        BudgetExceeded: If the ledger has less left than the stream costs.

    >>> import tempfile
    >>> file = tempfile.mkdtemp() + "/delays.stream"
    >>> delays = lw.Tops(epsilon=1, bound=600, steps=400, first=200)
    >>> total = lw.open_numeric_stream(file, delays).observe([12, 7])
    >>> lw.open_numeric_stream(file).closed  # after a restart
    1
    """
    file = _file(state, anchor)
    if mechanism is None:
        return NumericStream(file, _reread(file))
    checks.of_kind(Tops, "is not a mechanism for numbers", "Write lw.Tops(epsilon=1, bound=…, …).", mechanism=mechanism)
    if ledger is not None and dataset is None:
        raise InvalidParameter("dataset", None, "says which allowance is spent", "Name the data set in the ledger.")
    loss = mechanism.privacy_loss()
    warn_if_large(loss, "this stream")
    file.make()
    facts = {
        "kind": KIND,
        "id": states.new_id(),
        "mechanism": _written(mechanism),
        "anchor": str(file.anchor),
    }
    with file.transaction() as database:
        known = states.facts(database)
        for name, value in () if known else facts.items():
            states.remember(database, name, value)
        known = known or facts
    if known.get("mechanism") != facts["mechanism"]:
        why = "holds another stream"
        raise InvalidParameter("state", file.name, why, "Name a new file, or write what it was opened with.")
    if "charge" not in known:
        number = None
        if ledger is not None and dataset is not None:
            key, named = f"stream {known['id']}", {} if analyst is None else {"analyst": analyst}
            binding = {"stream": known["id"], "mechanism": known["mechanism"]}
            try:
                charge = ledger.charge(dataset, loss, key=key, binding=binding, seeded=not entropy.private, **named)
            except REFUSALS:
                forget(file, str(known["id"]))
                raise
            number = charge.number
            _begin(file, mechanism, number, entropy)
            ledger.record(charge, key.encode())
        else:
            _begin(file, mechanism, number, entropy)
    return NumericStream(file, mechanism)


def holds_numbers(state: str | os.PathLike[str]) -> bool:
    """Whether a file holds a stream of numbers; False for any other file, also one that is not there."""
    file = StateFile(state, None)
    if not file.path.is_file() or not file.path.stat().st_size:
        return False
    with file.transaction(write=False) as database:
        return bool(file.tables(database) == file.layout and states.facts(database).get("kind") == KIND)


def _begin(file: StateFile, mechanism: Tops, charge: int | None, entropy: Entropy) -> None:
    with file.transaction() as database:
        facts = states.facts(database)
        if "charge" not in facts:
            states.keep_counters(database, {0: mechanism.state_to_bytes(mechanism.open(entropy))})
            states.remember_seed(database, entropy)
            append(database, "open", {"step": 0, "stream": facts["id"], "mechanism": facts["mechanism"]})
            states.remember(database, "charge", charge)
    file.write_anchor()


def _written(mechanism: Tops) -> dict[str, Any]:
    """The parameters as text, exactly."""
    named = {entry.name: getattr(mechanism, entry.name) for entry in fields(mechanism) if entry.init}
    words = {name: named.pop(name) for name in ("relation", "unit")}
    exact = {name: None if value is None else str(checks.exact(parameter=value)) for name, value in named.items()}
    return {**exact, **words}


def _reread(file: StateFile) -> Tops:
    """The mechanism of a file that was opened and paid for."""
    if not file.path.exists():
        hint = "Open one: open_numeric_stream(file, lw.Tops(…), ledger=…)."
        raise InvalidParameter("state", file.name, "there is no such file", hint)
    file.check_private()
    states.verify(file)
    with file.transaction(write=False) as database:
        facts = states.facts(database)
    if facts and facts.get("kind") != KIND:
        raise InvalidParameter("state", file.name, "holds no stream of numbers", "Open it with lw.open_stream(…).")
    if "charge" not in facts:
        why = "is not paid for yet: opening it was interrupted or refused"
        raise InvalidParameter("state", file.name, why, "Open it once more, with the same parameters.")
    written = dict(facts["mechanism"])
    words = {name: written.pop(name) for name in ("relation", "unit")}
    exact = {name: None if value is None else Fraction(value) for name, value in written.items()}
    plain = {
        name: int(value) if value is not None and value.denominator == 1 else value for name, value in exact.items()
    }
    named: dict[str, Any] = {**plain, **words}
    return Tops(**named)
