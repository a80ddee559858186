"""The road of a report in the console: who is on it, what they count, and what they know alone and together."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from collecting import CROWD, Keys, document, free_addresses, publish, working
from fastapi import FastAPI
from playwright.sync_api import expect
from school_site import open_school, site_of, visit_as

from lapwing.collect import reader
from lapwing.collect.collection import Collection
from lapwing.collect.collusions import alone, collusions
from lapwing.collect.drafts import ports_of
from lapwing.collect.workspace import Workspace
from lapwing.web.collections import watch
from lapwing.web.collections.pipeline import DOES, Station, in_steps, stations
from lapwing.web.collections.watch import RUNS, SILENT, Now, Party

KEYS = Keys()
BLINDED: dict[str, Any] = {"transport": "blinded", "crowd": CROWD}
Visitor = Callable[..., Any]


@pytest.fixture
def app(tmp_path: Path) -> FastAPI:
    return open_school(tmp_path)


@pytest.fixture(autouse=True)
def _nothing_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "PATIENCE", 60.0)  # a busy machine is slow
    monkeypatch.setattr(watch, "WATCH", watch.Watch(60.0))


def collection(*, relay: bool = False, **changes: Any) -> Collection:
    draft = document(KEYS, publishing={"smallest_batch": 100, "every_hours": 1}, **changes)
    if relay:
        draft["servers"] = draft["servers"] | {"relay": {"address": "http://127.0.0.1:9005"}}
    return reader.sign(reader.checked(draft), KEYS.operator)


def road(ours: Collection, **totals: dict[str, int]) -> dict[str, Station]:
    """The figure when the parties tell these totals, and nothing is published."""
    parties = [Party(name, server.address, RUNS, totals.get(name, {})) for name, server in ours.servers.items()]
    return {station.name: station for station in stations(ours, Now(tuple(parties), None, None))}


def test_a_report_loses_one_layer_at_each_hop() -> None:
    ways: dict[str, tuple[dict[str, Any], list[int]]] = {
        "direct": ({}, [1, 1, 0]),
        "relayed": ({"relay": True}, [2, 2, 1, 0]),
        "shuffled": ({"transport": "shuffled", "crowd": CROWD}, [2, 2, 1, 0]),
        "blinded": (BLINDED, [3, 3, 2, 1, 0]),
        "both": ({**BLINDED, "relay": True}, [4, 4, 3, 2, 1, 0]),
    }
    for name, (changes, layers) in ways.items():
        ours = collection(**changes)
        figure = road(ours)
        assert [one.layers for one in figure.values() if one.layers is not None] == layers, name
        assert list(figure) == [one for one in DOES if one == "devices" or one in ours.servers]


def test_no_number_changes_because_one_report_came() -> None:
    """Of a collection without shufflers, over a batch and a half: eleven numbers, each for a tenth of a batch."""
    assert [in_steps(count, 100) for count in (0, 9, 10, 19, 20, 1234)] == [
        *("under 10", "under 10", "10+", "10+", "20+", "1,230+"),
    ]
    ours, shown = collection(), []
    for count in range(151):
        figure = road(ours, ingestor={"sealed": count}, aggregator={"counted": count})
        shown.append((figure["ingestor"].counts, figure["aggregator"].counts))
    changes = [place for place in range(1, 151) if shown[place] != shown[place - 1]]
    assert changes == list(range(10, 151, 10))


def test_each_hop_shows_what_it_took_passed_on_and_dropped() -> None:
    figure = road(
        collection(**BLINDED),
        blinder={"taken": 1234, "passed on": 1240, "duplicate": 2},
        thresholder={"taken": 1240, "passed on": 1200, "no crowd": 1, "sealed for another key": 0},
        aggregator={"counted": 1200, "before thresholding": 1234},
    )
    assert figure["blinder"].counts == (("taken", "1,234"), ("passed on", "1,240"))
    assert figure["blinder"].refused == (("duplicate", "2"),)
    assert figure["thresholder"].refused == (("small crowds", "39"), ("no crowd", "1"))
    assert figure["aggregator"].counts == (("counted", "1,200"),)
    assert figure["aggregator"].refused == ()
    one = road(collection(transport="shuffled", crowd=CROWD), shuffler={"taken": 100, "passed on": 93})
    assert one["shuffler"].refused == (("small crowds", "7"),)


def test_what_shufflers_take_is_not_called_refused() -> None:
    parties = [Party("blinder", "", RUNS, {"taken": 5, "passed on": 5, "duplicate": 1})]
    assert Now(tuple(parties), None, None).refused() == [("blinder", "duplicate", 1)]


def test_the_figure_and_its_tables_are_there_without_scripts(app: FastAPI) -> None:
    folder = site_of(app).settings.collections
    assert folder is not None
    workspace = Workspace(folder / "nobody")
    servers = free_addresses(ports_of("blinded"))
    workspace.create(question="How?", answers=["bus", "bike"], transport="blinded", servers=servers)
    ours = workspace.open()
    page = visit_as(app, "operator").get(f"/collections/{ours.id}").text
    boxes = re.findall(r'<input type="checkbox" value="(\w+)" autocomplete="off" hidden>', page)
    assert boxes == list(alone(ours))
    assert page.count(f'<p class="failing">{SILENT}</p>') == len(ours.servers)
    rows = re.findall(r'<tr data-of="([^"]+)">', page)
    assert sorted(rows) == sorted([*alone(ours), *map(" ".join, collusions(ours))])
    assert '<a href="#learns">Two tables' in page


def test_the_part_that_changes_brings_the_figure_along(app: FastAPI) -> None:
    folder = site_of(app).settings.collections
    assert folder is not None
    with working(folder / "commute") as parties:
        publish(parties, 2)
        now = visit_as(app, "operator").get(f"/collections/{parties.collection.id}/now").text
    assert re.findall(r'data-live="(\w+)"', now) == ["devices", *parties.collection.servers]
    assert "<dt>batches</dt><dd>2</dd>" in now
    assert "<dt>published</dt><dd>80</dd>" in now
    assert '<div data-part="now">' in now


def test_two_parties_are_chosen_by_keyboard_and_stay_chosen_while_numbers_change(
    visit: Visitor, live_school: Any
) -> None:
    folder = site_of(live_school.app).settings.collections
    assert folder is not None
    with working(folder / "road", name="road") as parties:
        begun = visit()
        begun.become(visit_as(live_school.app, "operator"))
        page = begun.open(f"/collections/{parties.collection.id}")
        panel = page.locator(".knowledge")
        expect(panel).to_contain_text("The aggregator alone")
        page.get_by_role("checkbox", name="Ingestor").focus()
        page.keyboard.press("Space")
        expect(panel).to_contain_text("Ingestor with aggregator")
        expect(panel).to_contain_text("which randomised report")
        page.get_by_role("checkbox", name="Issuer").press("Space")  # a third: the first goes
        expect(panel).to_contain_text("Issuer with ingestor")
        expect(page.get_by_role("checkbox", name="Aggregator")).not_to_be_checked()
        publish(parties, 1)
        expect(page.locator('[data-live="analyzer"]')).to_contain_text("published40")
        expect(page.get_by_role("checkbox", name="Issuer")).to_be_focused()
        expect(panel).to_contain_text("Issuer with ingestor")
