"""`table.stream(…)`: a question that is to be answered again after every step, quoted and paid for once.

quote → **open** (charged once, durable) → observe a step (read, count, commit) → show it → observe the next …
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lapwing import checks
from lapwing.calls import helpful
from lapwing.checks import Number
from lapwing.curator.plan.text_forms import Notation
from lapwing.curator.streams import saving
from lapwing.curator.streams import state as states
from lapwing.curator.streams.definition import Definition
from lapwing.curator.streams.pricing import StreamItem, budget_of, price, sure_of
from lapwing.curator.streams.protection import ConsecutiveSteps
from lapwing.curator.streams.quote import StreamQuote, quote, refused
from lapwing.curator.streams.rows import Find
from lapwing.curator.streams.schedule import now
from lapwing.curator.streams.state import StateFile, anchor_beside
from lapwing.curator.streams.stream import Clock, Stream
from lapwing.errors import (
    BudgetExceeded,
    ChargeTooSmall,
    IncompatibleLosses,
    InvalidParameter,
    TooManyQuestions,
)
from lapwing.noise import SYSTEM, Entropy
from lapwing.privacy import Ledger, Loss
from lapwing.privacy.journal import append
from lapwing.privacy.store import FileStore
from lapwing.privacy.weak_privacy import warn_if_large


@dataclass(frozen=True, repr=False)
class StreamQuestion:
    """A stream that is not open yet: nothing has been read or spent. `PrivateTable.stream` makes it.

    Attributes:
        definition: The question, the schedule of the steps, and whom the stream protects.
        find: The function that opens a source of rows.
        notation: How numbers, dates and truth values are written in text.

    >>> question = patients.stream(lw.count(), every="month", steps=12, start="2024-01-01", active_steps=1)
    >>> print(question.quote(epsilon=1).loss)
    ε = 1 (add_remove, per patient)
    """

    definition: Definition
    find: Find = field(repr=False, compare=False)
    notation: Notation

    def __repr__(self) -> str:
        return f"<StreamQuestion {self.definition.explain()}>"

    @helpful
    def quote(
        self,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        confidence: Number = 0.95,
    ) -> StreamQuote:
        """What the stream costs, once for all steps, and how wide its intervals are; nothing is spent or read.

        Args:
            epsilon: What to spend on the whole stream, as ε.
            delta: With `epsilon`, allows Gaussian noise.
            rho: What to spend instead, in zero-concentrated differential privacy.
            confidence: The probability that an interval contains the exact answer.

        Returns:
            The price, and the expected errors after the first, the middle and the last step, at worst, and for 7 steps.

        >>> question = patients.stream(lw.count(), every="month", steps=12, start="2024-01-01", active_steps=1)
        >>> print(question.quote(epsilon=1).loss)
        ε = 1 (add_remove, per patient)
        """
        spend = budget_of(self.definition, epsilon, delta, rho)
        warn_if_large(spend.stated, "this stream")
        return quote(self.definition, spend, sure_of(confidence))

    @helpful
    def open(
        self,
        state: str | os.PathLike[str],
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        confidence: Number = 0.95,
        anchor: str | os.PathLike[str] | None = None,
        analyst: str | None = None,
        entropy: Entropy = SYSTEM,
        clock: Clock = now,
    ) -> Stream:
        """Pay for the stream, once and durably, and begin it in a new file; or go on with the one in this file.

        Args:
            state: The file of the stream. Only you may read it: it holds exact counts.
            epsilon: What to spend on the whole stream, as ε.
            delta: With `epsilon`, allows Gaussian noise.
            rho: What to spend instead, in zero-concentrated differential privacy.
            confidence: The probability that an interval contains the exact answer.
            anchor: A small file that notices if an older copy of the state is put back. None means a file beside it.
            analyst: Who pays, for allowances of single analysts. None means whoever the table was opened for.
            entropy: Where the noise comes from. Anything but the default is not private.
            clock: A function that tells the time in UTC.

        Returns:
            The open stream.

        Raises:
            BudgetExceeded: If the ledger has less left than the stream costs.
            InvalidParameter: If the file holds another stream.
            IncompatibleLosses: If the ledger promises more than the stream protects.

        >>> import tempfile
        >>> question = patients.stream(lw.count(), every="month", steps=12, start="2024-01-01", active_steps=1)
        >>> question.open(tempfile.mkdtemp() + "/patients.stream", epsilon=1).left
        12
        """
        checks.text_or_none(analyst=analyst)
        spend = budget_of(self.definition, epsilon, delta, rho)
        warn_if_large(spend.stated, "this stream")
        loss, items = price(self.definition, spend)
        context = self.definition.query.context
        who = analyst or context.analyst
        losses = _losses(self.definition, loss)
        file = _file(state, anchor)
        file.make()
        facts = {
            "version": states.VERSION,
            "id": states.new_id(),
            "digest": self.definition.digest(),
            "definition": saving.written(self.definition, self.notation),
            "items": [saving.item_written(item) for item in items],
            "loss": saving.loss_written(loss),
            "confidence": sure_of(confidence),
            "anchor": str(file.anchor),
            "ledger": _place_of(context.ledger),
            "analyst": who,
        }
        with file.transaction() as database:
            known = states.facts(database)
            for name, value in () if known else facts.items():
                states.remember(database, name, value)
            known = known or facts
        _same(file, known, facts)
        if "charge" not in known:
            number = None
            if context.ledger is not None:
                named = {} if who is None else {"analyst": who}
                binding = {"stream": known["id"], "definition": known["digest"], "loss": str(loss)}
                key = f"stream {known['id']}"
                try:
                    charge = context.ledger.charge(
                        context.datasets, losses, key=key, binding=binding, seeded=not entropy.private, **named
                    )
                except REFUSALS:
                    forget(file, known["id"])
                    raise
                number = charge.number
                _begin(file, items, number, entropy, charge.entry)
                context.ledger.record(charge, f"{key}: {self.definition.explain()}".encode())
            else:
                _begin(file, items, number, entropy)
        held = saving.notation_reread(known["definition"]["notation"])
        return Stream(file, self.definition, self.find, held, clock)


def reopened(
    state: str | os.PathLike[str],
    find: Find,
    *,
    ledger: Ledger | None = None,
    anchor: str | os.PathLike[str] | None = None,
    clock: Clock = now,
) -> Stream:
    """The stream in a file, by that file alone; a ledger on a server has to be named again."""
    file = _file(state, anchor)
    if not file.path.exists():
        raise InvalidParameter(
            "state", file.name, "there is no such file", "Open a stream with table.stream(…).open()."
        )
    file.check_private()
    states.verify(file)
    with file.transaction(write=False) as database:
        facts = states.facts(database)
    if facts and "version" not in facts:
        raise InvalidParameter("state", file.name, "holds no stream of a table", "Try lw.open_numeric_stream(…).")
    if "charge" not in facts:
        why = "is not paid for yet: opening it was interrupted or refused"
        raise InvalidParameter("state", file.name, why, "Open it once more: table.stream(…).open(…).")
    if facts["version"] != states.VERSION:
        raise InvalidParameter("state", file.name, "was written by another version of Lapwing", "Use that version.")
    if facts["ledger"] == ELSEWHERE and ledger is None:
        raise InvalidParameter("ledger", None, "this stream was charged to one on a server", "Name it: ledger=…")
    if ledger is None and facts["ledger"] is not None:
        if not Path(facts["ledger"][0]).exists():
            why = "is the ledger of this stream, and there is no such file any more"
            raise InvalidParameter("ledger", facts["ledger"][0], why, "If you moved it, say where: ledger='ledger.db'.")
        ledger = Ledger(facts["ledger"][0], anchor=facts["ledger"][1], create=False)
    definition, notation = saving.reread(facts["definition"], ledger, facts["analyst"])
    if definition.digest() != facts["digest"]:
        why = "cannot be read back as what it was: another version of Lapwing wrote it"
        raise InvalidParameter("state", file.name, why, "Open it with the table: table.stream(…).open(…).")
    return Stream(file, definition, find, notation, clock)


ELSEWHERE = "on a server"


def _file(state: str | os.PathLike[str], anchor: str | os.PathLike[str] | None) -> StateFile:
    """The file with its anchor: the one that is named, the one that it knows, or one beside it."""
    bare, known = StateFile(state, None), None
    if bare.path.exists() and bare.path.stat().st_size:
        bare.check_private()
        with bare.transaction(write=False) as database:
            if bare.tables(database):
                bare.check(database)
                known = states.facts(database).get("anchor")
    file = StateFile(state, anchor if anchor is not None else known or anchor_beside(bare.path))
    if known is not None and str(file.anchor) != known and file.anchor is not None and not file.anchor.exists():
        why = "does not exist, and the anchor of this stream is elsewhere: a copy cannot have an anchor of its own"
        raise InvalidParameter("anchor", str(file.anchor), why, f"Leave it out, or say where {known} was moved to.")
    return file


def _begin(
    file: StateFile, items: tuple[StreamItem, ...], charge: int | None, entropy: Entropy, entry: str | None = None
) -> None:
    """Draw what counters need before the first step, once; it is on disk before it is used."""
    with file.transaction() as database:
        facts = states.facts(database)
        if "charge" not in facts:
            opened = {place: item.counter.open(entropy).to_bytes() for place, item in enumerate(items)}
            states.keep_counters(database, opened)
            states.remember_seed(database, entropy)
            append(database, "open", {"step": 0, "stream": facts["id"], "definition": facts["digest"]})
            states.remember(database, "entry", entry)
            states.remember(database, "charge", charge)
    file.write_anchor()


REFUSALS = (BudgetExceeded, ChargeTooSmall, IncompatibleLosses, TooManyQuestions)
"""Of a ledger that has charged nothing. Any other error may come after a charge; then the same call goes on with it."""


def forget(file: StateFile, stream: str) -> None:
    """The file of a stream that was refused is free for another one, for example with a smaller budget."""
    with file.transaction() as database:
        facts = states.facts(database)
        if facts.get("id") == stream and "charge" not in facts:
            database.execute("DELETE FROM fact")


def _same(file: StateFile, known: dict[str, Any], facts: dict[str, Any]) -> None:
    """A file belongs to one stream: with another question, budget or data set it is refused."""
    named = {"digest": "question", "items": "budget", "loss": "loss", "confidence": "confidence", "ledger": "ledger"}
    held, wanted = map(_belonging, (known, facts))
    for name, what in {**named, "datasets": "data set", "notation": NOTATION}.items():
        if held.get(name) != wanted[name]:
            why = f"holds a stream with another {what}"
            raise InvalidParameter("state", file.name, why, "Name a new file, or write what it was opened with.")


NOTATION = "notation of its cells (decimal=, thousands=, true=, false= or missing=)"
"""What keeps apart two streams that ask the same question of cells which they read in different ways."""


def _belonging(facts: dict[str, Any]) -> dict[str, Any]:
    """Facts with data sets and notation, and with the place of the ledger alone, whose anchor may have been moved."""
    book, defined = facts.get("ledger"), facts.get("definition", {})
    read = {"notation": saving.notation_reread(defined["notation"]).written()} if defined else {}
    return {**facts, **defined, **read, "ledger": book[0] if isinstance(book, list) else book}


def _losses(definition: Definition, loss: Loss) -> list[Loss]:
    """What everybody loses who was promised something; a promise of more than the stream protects is refused."""
    context = definition.query.context
    if context.ledger is None:
        return []
    if not isinstance(definition.protection, ConsecutiveSteps):
        return context.losses(loss)
    why = refused(definition, loss)
    if why:
        raise IncompatibleLosses(context.remaining(context.analyst), loss, why)
    return [loss]


def _place_of(ledger: Ledger | None) -> Any:
    """Where a ledger is, for whoever opens the stream again; of a server nothing is written down, it has a password."""
    if ledger is None:
        return None
    store = ledger.store
    if not isinstance(store, FileStore):
        return ELSEWHERE
    return [str(store.path), None if store.anchor is None else str(Path(store.anchor))]
