"""From a device to an estimate, over real HTTP."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from collecting import LATE, NOON, devices, running

from lapwing.collect import hops
from lapwing.collect.relay import wrapped


@pytest.mark.parametrize("relay", [False, True], ids=["directly", "through a relay"])
def test_what_devices_answer_becomes_an_estimate(tmp_path: Path, relay: bool) -> None:
    with running(tmp_path, relay=relay) as parties:
        people = devices(parties, tmp_path, ["bus"] * 6 + ["bike"] * 4 + [None] * 2)
        for moment in (NOON, LATE):
            parties.clock[0] = moment
            for person in people:
                person.tick()
        assert all(person.status().envelopes == 0 for person in people)
        assert parties.ingestor.totals["stored"] == 12
        assert parties.settle() == 12
        [result] = parties.analyzer.results()
        assert result.reports == 12
        assert {row["answer"] for row in result.rows()} == {"bus", "bike", "car"}
        assert parties.sealer.totals()["sealed"] == 12
        assert parties.aggregator.totals()["counted"] == 12


def test_a_report_of_a_past_epoch_does_not_wait_for_ever_behind_a_relay(tmp_path: Path) -> None:
    with running(tmp_path, relay=True) as parties:
        [person] = devices(parties, tmp_path, ["bus"])
        person.tick()
        parties.clock[0], parties.ingestor.intake._most_waiting = LATE, 0
        person.tick()
        assert person.status().envelopes == 1, "the ingestor was busy"
        parties.clock[0] = NOON + timedelta(days=46)  # the epoch ended a day and its grace ago
        parties.ingestor.retire()
        reply = hops.post(
            parties.collection.servers["ingestor"].address + "/relayed", wrapped(parties.collection, 1, b"x" * 10)[1]
        )
        assert (reply.status, parties.ingestor.totals["no epoch in use"]) == (403, 1)
        person.tick()
        assert person.status().envelopes == 0
        assert parties.ingestor.totals["no epoch in use"] == 1, "nothing was sent for nothing"
