"""A class with its teacher, and pupils who join it."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI
from fastapi.testclient import TestClient
from school_site import PERSON, signed_in, site_of, visit_as
from sqlalchemy import func, select

from lapwing.web.service.tables import ClassPupil, ClassResult, Classroom

SLUG = "attacks-on-privacy"
"""What pupils finish unless a test names something else."""


@dataclass
class Made:
    """A class with its teacher."""

    app: FastAPI
    teacher: TestClient
    id: str

    @property
    def address(self) -> str:
        return f"/classes/{self.id}"

    @property
    def page(self) -> str:
        return self.teacher.get(self.address, headers=PERSON).text

    @property
    def code(self) -> str:
        found = re.search(r'class="code large">([A-Z]{4}-[A-Z]{4})<', self.page)
        assert found
        return found[1]

    def join(self, name: str, pseudonym: str, client: TestClient | None = None) -> TestClient:
        client = client or signed_in(self.app, name)
        answer = client.post("/join", data={"code": self.code, "pseudonym": pseudonym})
        assert (answer.status_code, answer.headers["location"]) == (303, "/classes")
        return client

    def marks(self) -> dict[str, str]:
        found = re.findall(rf'href="{self.address}/pupils/([^"]+)"[^>]*>([^<]+)<', self.page)
        return {name: mark for mark, name in found}

    def table(self) -> list[dict[str, str]]:
        answer = self.teacher.get(f"{self.address}/class.csv")
        assert answer.status_code == 200
        return list(csv.DictReader(io.StringIO(answer.content.decode("utf-8-sig"))))


def made(app: FastAPI, teacher: TestClient | None = None, name: str = "Mathematics 11b") -> Made:
    teacher = teacher or visit_as(app, "instructor")
    answer = teacher.post("/classes", data={"name": name})
    assert answer.status_code == 303
    return Made(app, teacher, answer.headers["location"].removeprefix("/classes/"))


def finish(client: TestClient, slug: str = SLUG, right: int = 3) -> dict[str, Any]:
    answer = client.post("/classes/finished", json={"slug": slug, "right": right})
    assert answer.status_code == 200
    told: dict[str, Any] = answer.json()
    return told


def rows(app: FastAPI) -> tuple[int, ...]:
    with site_of(app).database.reading() as db:
        tables = (Classroom, ClassPupil, ClassResult)
        return tuple(db.scalar(select(func.count()).select_from(table)) or 0 for table in tables)
