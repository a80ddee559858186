"""Writes the files of `0.1.0`. It ran once, with that version; it stays as the account of how they came to be.

PYTHONPATH=tests/support python tests/upgrade/make.py
"""

from __future__ import annotations

import json
import lzma
import pickle
import sqlite3
import sys
import tempfile
import warnings
from datetime import date, timedelta
from pathlib import Path
from typing import Any

NOW = 1_790_000_000
FAR = date(2126, 1, 1)
"""So that what is deleted after a while stays."""
KEY = bytes(range(32))
PASSWORD = "four quiet birds walk"
NUGGET = """---
slug: old-words
title: Old words
category: motivation
level: intuition
roles: [student]
summary: Words of the first version.
objectives: [Explain them.]
---
## A first screen
These words were written with the first version.

:::quiz
? Is noise random?
- [x] Yes
- [ ] No
! It is.
:::
"""


def crowd(folder: Path) -> None:
    """Reports and counts of every protocol."""
    import frozen

    import lapwing.crowd as rooms
    from lapwing.noise import Reproducible

    record = {}
    for name, (made, answers) in frozen.PROTOCOLS.items():
        protocol = eval(made, dict(vars(rooms)))
        reports = protocol.randomize(eval(answers), Reproducible(1))
        state = protocol.absorb(None, reports)
        record[name] = {
            "made": made,
            "class": type(protocol).__name__,
            "version": protocol.version,
            "parameters": protocol.parameters(),
            "fingerprint": protocol.fingerprint.hex(),
            "loss": str(protocol.privacy_loss().epsilon),
            "n": reports.n,
            "reports": reports.to_bytes().hex(),
            "counts": lzma.compress(state.to_bytes()).hex(),
        }
    (folder / "crowd.json").write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def devices(folder: Path) -> None:
    """The files of devices."""
    import frozen

    import lapwing.crowd as rooms
    from lapwing.privacy import PureDP

    known = {**vars(rooms), "folder": folder, "PureDP": PureDP, "timedelta": timedelta}
    device = eval(frozen.DEVICE, known)
    device.opt_in()
    device.record("emoji", "😀")
    device.donate()
    device.record("emoji", "🎉")
    lifetime, poll = eval(frozen.LIFETIME, known), eval(frozen.POLL, known)
    sent = [lifetime.report("to work", "bike", poll, period=week).hex() for week in (1, 2)]
    memo = eval(frozen.MEMO, known)
    record = {
        "device remaining": str(device.remaining("emoji").epsilon),
        "lifetime remaining": str(lifetime.remaining().epsilon),
        "lifetime sent": sent,
        "memo cohort": memo.cohort,
        "memo permanent": memo.permanent("bike").tolist(),
    }
    (folder / "devices.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def questions(folder: Path) -> None:
    """Saved questions, answers, and ledgers of every kind in which a question was asked with a key."""
    import frozen

    import lapwing as lw

    (folder / "visits.csv").write_text(frozen.CSV, encoding="utf-8")
    (folder / "areas.csv").write_text(frozen.AREAS_CSV, encoding="utf-8")
    known = {"lw": lw, "folder": folder, "more": {}}
    known |= {"table": eval(frozen.OPENED, known), "areas": eval(frozen.AREAS, known)}
    record: dict[str, Any] = {}
    for name, asked in frozen.QUESTIONS.items():
        query = eval(asked, known)
        record[name] = {"yaml": query.to_yaml(), "json": query.to_json(), "digest": query.digest()}
        answer = query.release(epsilon=2, entropy=lw.noise.Reproducible(1))
        record[name]["answer"] = answer.to_json()
    (folder / "questions.json").write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    kept = {}
    for kind, (allowance, spend) in frozen.LOSSES.items():
        ledger = folder / f"{kind}.db"
        known["more"] = {"ledger": lw.Ledger(ledger, anchor=folder / f"{kind}.anchor")}
        known["more"] |= {"allowance": eval(allowance, known), "rules": lw.Rules(failures=3)}
        known["table"] = eval(frozen.OPENED, known)
        query = eval(frozen.QUESTIONS[frozen.KEYED], known)
        answer = eval(f"query.release({spend}, key='first')", {"query": query})
        book = known["more"]["ledger"]
        kept[kind] = {
            "spent": str(book.spent("visits")),
            "remaining": str(book.remaining("visits")),
            "entries": [entry.act for entry in book.entries()],
            "answer": answer.to_json(),
        }
    units = lw.Ledger(folder / "units.db")
    units.open("visits", lw.PureDP(2, unit="patient"))
    units.open("visits", lw.PureDP(4, unit="household"))
    units.open("visits", lw.PureDP(1, unit="patient"), analyst="ada")
    charge = units.charge("visits", [lw.PureDP(0.5, unit="patient"), lw.PureDP(1, unit="household")], analyst="ada")
    units.record(charge, b"forty-two")
    units.trip(["visits"], "the engine said so", analyst="ada")
    kept["units"] = {"spent": str(units.spent("visits", "household")), "entries": [e.act for e in units.entries()]}
    (folder / "ledgers.json").write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    (folder / "visits.yaml").write_text(
        "lapwing_dataset: 1\nsource: visits.csv\nname: visits\nunit: patient\n"
        "bounds: {age: [0, 120], cost: [0, 1000]}\n"
        "keys: {region: [North, South]}\ntypes: {day: date}\nmax_groups_per_unit: 2\nmax_rows_per_group: 3\n"
        "allowance: {epsilon: 1}\nledger: described.db\n",
        encoding="utf-8",
    )


def says(model: Any, rows: Any) -> Any:
    """What a fitted estimator says about rows, in the way it has."""
    if hasattr(model, "predict"):
        return model.predict(rows)
    return model.transform(rows) if hasattr(model, "transform") else model.covariance_


def models(folder: Path) -> None:
    """Fitted estimators, pickled, and what they say about a few rows."""
    import numpy as np
    from estimators import ESTIMATORS, made

    rows = np.linspace(-9, 9, 60).reshape(30, 2)
    numbers, classes = rows @ [1.0, -0.5], np.arange(30) % 3
    record = {}
    for kind in ESTIMATORS:
        model = made(kind, epsilon=2.0) if kind.__name__ != "PrivateGridSearch" else made(kind)
        two = {"OccamLearner", "ParityLearner"}
        target = classes % 2 if kind.__name__ in two else classes if hasattr(model, "classes") else numbers
        if kind.__name__ == "PrivateGridSearch":
            target = classes
        data = (rows > 0).astype(float) if kind.__name__ in two else rows
        if kind.__name__ == "OccamLearner":
            data = data[:, :1]
        try:
            model.fit(data, target)
        except Exception as error:
            print(f"{kind.__name__}: {error}", file=sys.stderr)
            continue
        said = says(model, data)
        record[kind.__name__] = (pickle.dumps(model, 4), data, np.asarray(said))
    (folder / "models.pickle.xz").write_bytes(lzma.compress(pickle.dumps(record, 4)))


def school(folder: Path) -> None:
    """A school with somebody of every role, and something in every table."""
    from fractions import Fraction

    from argon2 import PasswordHasher
    from sqlalchemy import update

    from lapwing.web.accounts import passwords
    from lapwing.web.accounts.store import sessions, users
    from lapwing.web.authoring.store import nuggets, uploads
    from lapwing.web.classes.store import classes
    from lapwing.web.discussion.store import comments, moderation
    from lapwing.web.school.store import learning, votes
    from lapwing.web.service.database import Database
    from lapwing.web.service.tables import Classroom
    from lapwing.web.statistics.store import usage
    from lapwing.web.survey.parameters import Design
    from lapwing.web.survey.store import surveys

    place = folder / "school.db"
    database = Database(f"sqlite:///{place}")
    hashed = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash(PASSWORD)
    told: dict[str, Any] = {}
    with database.writing() as db:
        ada, ben, eve = (
            users.add(db, name, hashed, role)
            for name, role in (("Ada", "learner"), ("Ben", "instructor"), ("Eve", "admin"))
        )
        secret = passwords.new_secret()
        recovery = [passwords.recovery_hash("abcd-efgh-jkmn")]
        users.set_second_factor(db, eve.id, passwords.sealed(secret, KEY, eve.id), recovery)
        told["second factor"] = secret
        sessions.begin(db, ada.id, NOW, role="learner", verified=False)
        learning.tell(db, ada.id, learning.About(("student",), "some", ("understand",)))
        learning.carry(db, ada.id, {"old-words": {"parts": ["a-first-screen"], "right": 1}})
        nuggets.add(db, "old-words", ben.id, NUGGET, "First words.", NOW)
        nuggets.set_published(db, "old-words", 1)
        nuggets.set_state(db, "old-words", "published")
        nuggets.add(db, "old-draft", ben.id, NUGGET.replace("old-words", "old-draft"), "", NOW)
        first = comments.add(db, "old-words", None, ada.id, "Why *noise*?", NOW)
        comments.add(db, "old-words", first, ben.id, "Because of differences.", NOW + 1)
        rude = comments.add(db, "old-words", None, ada.id, "Rude words", NOW + 2)
        comments.report(db, comments.one(db, rude), ben.id, "It is rude.", NOW + 3)
        moderation.decide(db, comments.one(db, rude), "hide", "Please be kind.", eve.id, NOW + 4)
        uploads.add(db, "0" * 64, "image/png", b"\x89PNG not really", ben.id)
        votes.cast(db, "old-words", "student", True, token="a token", user_id=ada.id)
        usage.count(db, date(2026, 11, 1), "old-words")
        room = classes.add(db, ben.id, "7b", date(2026, 11, 1))
        classes.join(db, room, ada.id, "Lady L")
        classes.finish(db, ada.id, "old-words", 1, date(2026, 11, 2))
        db.execute(update(Classroom).values(ends=FAR))
        told["class"] = room
        designs = {
            "yes-no": Design(kind="yes-no", question="Do you cycle?", flip=Fraction(1, 4)),
            "choice": Design(
                kind="choice", question="How do you come?", answers=("Bus", "Bike", "On foot"), flip=Fraction(868, 4096)
            ),
            "number": Design(
                kind="number",
                question="How far is it?",
                answers=(),
                low="0",
                high="20",
                measure="km",
                flip=Fraction(1, 4),
            ),
        }
        for kind, design in designs.items():
            links = 3 if kind == "choice" else 0
            name, key = surveys.add(db, design, closes=FAR, public=True, links=links, today=date(2026, 11, 1))
            kept = surveys.find(db, name)
            report = design.protocol.randomize([1])[:1].to_bytes().hex()
            told[f"survey {kind}"] = {"name": name, "key": key, "report": report}
            for number in range(60 if kind == "yes-no" else 2):
                token = surveys.personal_token(key, number) if links else f"token {number}"
                surveys.answer(db, kept, number % 2, token, date(2026, 11, 1))
        surveys.report(db, told["survey number"]["name"])
    database.close()
    with sqlite3.connect(place) as copy:
        copy.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        copy.execute("PRAGMA journal_mode=DELETE")
        copy.execute("VACUUM")
        tables = [row[0] for row in copy.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
        told["rows"] = {name: copy.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in tables}
    empty = [name for name, count in told["rows"].items() if not count and not name.startswith("sqlite")]
    print("tables with nothing in them:", empty or "none")
    (folder / "school.json").write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    (folder / "school.db.xz").write_bytes(lzma.compress(place.read_bytes()))


MADE = (crowd, devices, questions, models, school)

if __name__ == "__main__":
    warnings.simplefilter("ignore")  # that reproducible noise is not private
    from frozen import FILES

    with tempfile.TemporaryDirectory() as scratch:
        for make in MADE:
            if sys.argv[1:] and make.__name__ not in sys.argv[1:]:
                continue
            make(Path(scratch))
        FILES.mkdir(exist_ok=True)
        for place in Path(scratch).iterdir():
            if place.suffix == ".db" and place.name != "school.db":
                (FILES / f"{place.name}.xz").write_bytes(lzma.compress(place.read_bytes()))
            elif place.suffix in (".json", ".yaml", ".anchor", ".key", ".xz"):
                (FILES / place.name).write_bytes(place.read_bytes())
