"""Towards whom an answer of two servers is private, and what that takes."""

from __future__ import annotations

from typing import Any

from lapwing.pair.runs import Way


def trust_of(way: Way) -> Any:
    """Of both ways of making noise."""
    return None
