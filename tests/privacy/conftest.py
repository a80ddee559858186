"""Generated examples may take as long as they need: no test depends on timing."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("patient", deadline=None, database=None)
settings.load_profile("patient")
