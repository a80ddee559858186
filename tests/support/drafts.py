"""Drafts of nuggets, written and published through the pages of a school."""

from __future__ import annotations

import re
from typing import Any

from fastapi import FastAPI
from fastapi.testclient import TestClient
from school_site import site_of
from sqlalchemy import update

from lapwing.web.authoring import placeholders
from lapwing.web.authoring.store import nuggets
from lapwing.web.authoring.store.nuggets import mark_of
from lapwing.web.service.tables import Version

SLUG = "a-new-nugget"


def text_of(app: FastAPI, slug: str = SLUG) -> str:
    with site_of(app).database.reading() as db:
        found = nuggets.find(db, slug)
    assert found is not None
    return found.text


def begun(app: FastAPI, client: TestClient, slug: str = SLUG, title: str = "A new nugget") -> str:
    """A draft that could be published: somebody replaced all of the template's words."""
    assert client.post("/write", data={"title": title, "slug": slug}).status_code == 303
    with site_of(app).database.writing() as db:
        db.execute(update(Version).where(Version.slug == slug).values(text=finished(text_of(app, slug))))
    return text_of(app, slug)


def finished(text: str) -> str:
    """The text with words of one's own wherever the template has its words."""
    text = re.sub(r"^summary: [^\n]*\n(?:  [^\n]*\n)*", "summary: Why one reads it.\n", text, flags=re.MULTILINE)
    text = text.replace(placeholders.OBJECTIVE, "Explain it in your own words.")
    text = text.replace("## A first screen {", "## A first screen, and more {").replace(
        "lines of its own:", "its own lines:"
    )
    for sample in ("Begin with what your", "The one sentence that", "What one can do now."):
        text = text.replace(sample, f"So: {sample}")
    return text


def autosave(client: TestClient, text: str, base: str, slug: str = SLUG) -> Any:
    return client.post(f"/write/{slug}/text", json={"text": text, "base": mark_of(base)})


def decide(client: TestClient, action: str, slug: str = SLUG, **more: str) -> Any:
    return client.post(f"/write/{slug}/state", data={"action": action, **more})


def publish(app: FastAPI, client: TestClient, slug: str = SLUG) -> Any:
    return decide(client, "publish", slug, base=mark_of(text_of(app, slug)))
