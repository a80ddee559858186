"""Every public name of an earlier version works, perhaps with a warning that says the new one."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

import pytest
from frozen import FILES

from lapwing.errors import LapwingError

NAMES = (FILES / "names.txt").read_text(encoding="utf-8").split()


def named(path: str) -> Any:
    """What somebody gets who writes this, importing what must be imported."""
    thing: Any = import_module("lapwing")
    known = "lapwing"
    for part in path.split(".")[1:]:
        known = f"{known}.{part}"
        try:
            thing = getattr(thing, part)
        except AttributeError:
            thing = import_module(known)
    return thing


@pytest.mark.parametrize("room", sorted({name.rpartition(".")[0] for name in NAMES}))
def test_every_name_of_the_first_version_works_or_says_what_to_write(room: str) -> None:
    wrong = []
    for name in NAMES:
        if name.rpartition(".")[0] != room:
            continue
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            try:
                assert named(name) is not None
            except (LapwingError, AttributeError) as error:
                if "Write" not in str(error):
                    wrong.append(f"{name}: {error}")
            except ImportError as error:
                wrong.append(f"{name}: {error}")
        ours = [str(warning.message) for warning in told if "lapwing" in str(warning.message)]
        wrong += [f"{name}: {message}" for message in ours if "Write" not in message]
    assert not wrong, "\n".join(wrong)
