"""Coroutines in tests that are plain functions."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Made = TypeVar("Made")


def in_a_loop(work: Coroutine[Any, Any, Made]) -> Made:
    """What comes of it in an event loop of its own; a browser that a test drives has one in this thread already."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()
