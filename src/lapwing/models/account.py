"""Where the fits of a model are paid for: a ledger, a data set in it, and the analyst who pays."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

from lapwing import checks
from lapwing.calls import Helpful
from lapwing.privacy import Ledger, Loss
from lapwing.privacy.journal import EVERYBODY
from lapwing.privacy.neighbours import as_unit


@dataclass(frozen=True, slots=True)
class Account(metaclass=Helpful):
    """A data set of a ledger that has an allowance. Every fit is charged to it before a row is read.

    Copies are the same account: `sklearn.clone`, cross validation and processes of a pool all spend the one allowance.

    Args:
        ledger: The ledger, or its path or URL. It must exist already.
        dataset: The name of the data set in the ledger, which must have an allowance.
        analyst: Who pays, if analysts have allowances of their own. The default charges nobody in particular.
        unit: Whom one row is about, as the ledger calls it: "person", "patient" and so on.

    Raises:
        InvalidParameter: If unit is empty or is not text, or if there is no ledger at this place.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from lapwing.privacy import Ledger, PureDP
    >>> ledger = Ledger(Path(tempfile.mkdtemp()) / "ledger.db")
    >>> ledger.open("patients", PureDP(3, unit="patient"))
    >>> account = Account(ledger, "patients", unit="patient")
    >>> account.charge(PureDP(1, unit="patient"))
    >>> print(account.remaining())
    ε = 2 (add_remove, per patient)
    """

    ledger: Ledger | str | os.PathLike[str]
    dataset: str
    analyst: str = EVERYBODY
    unit: str = "person"
    _opened: Ledger = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        as_unit(self.unit)
        opened = self.ledger if isinstance(self.ledger, Ledger) else Ledger(self.ledger, create=False)
        object.__setattr__(self, "_opened", opened)

    def __deepcopy__(self, memo: Any) -> Account:
        return self

    def charge(self, loss: Loss, *, seeded: bool = False) -> None:
        """Spend it durably.

        Args:
            loss: What to spend, for the unit of this account.
            seeded: Whether the noise comes from a seed. The ledger then says that what was spent is not private.

        Raises:
            BudgetExceeded: If the allowance does not cover it. Nothing was spent.
        """
        self._opened.charge(self.dataset, loss, analyst=self.analyst, seeded=seeded)

    def remaining(self) -> Loss:
        """What the allowance has left.

        Returns:
            The allowance minus all charges so far.
        """
        return self._opened.remaining(self.dataset, analyst=self.analyst)


def unit_of(account: Account | None) -> str:
    """Whom the losses of a fit are about, whether or not it is charged."""
    if account is None:
        return "person"
    checks.of_kind(Account, "is not an account", "Write account=Account(ledger, 'patients').", account=account)
    return account.unit
