"""The servers that any test may ask for; each starts when the first test does."""

from __future__ import annotations

from postgres import postgres_server, postgres_url

__all__ = ["postgres_server", "postgres_url"]
