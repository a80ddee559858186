"""What two parties could learn together: a row for every pair, and none that promises more than one of them alone."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from collecting import CROWD, FRAGMENTS, Keys, document

from lapwing.collect import reader
from lapwing.collect.collection import Collection
from lapwing.collect.collusions import DEVICES, SEALED, alone, collusions, parties_of
from lapwing.collect.quotes import local_words, promises
from lapwing.collect.shuffled_promises import central_words

KEYS = Keys()
DUMMIES = {"epsilon": 1, "delta": "0.000001"}
SOURCES: dict[str, dict[str, Any]] = {
    "direct": {},
    "shuffled, report": {"transport": "shuffled", "crowd": CROWD},
    "shuffled, attribute": {"transport": "shuffled", "crowd": {**CROWD, "from": "attribute", "values": ["a", "b"]}},
    "blinded, report": {"transport": "blinded", "crowd": CROWD},
    "blinded, attribute": {"transport": "blinded", "crowd": {**CROWD, "from": "attribute", "values": ["a", "b"]}},
    "blinded, answer": {"transport": "blinded", "crowd": {**CROWD, "from": "answer"}},
    "blinded, dummies": {
        "transport": "blinded",
        "crowd": {**CROWD, "from": "answer", "threshold": 100, "mean_drop": 20, "dummies": DUMMIES},
    },
}


def collection(name: str, *, relay: bool = True, **changes: Any) -> Collection:
    draft = document(KEYS, **SOURCES[name], **changes)
    if relay:
        draft["servers"] = draft["servers"] | {"relay": {"address": "http://127.0.0.1:9005"}}
    return reader.sign(reader.checked(draft), KEYS.operator)


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("relay", [False, True], ids=["alone", "with a relay"])
def test_every_pair_has_a_row_and_a_quote_is_repeated_word_for_word(name: str, relay: bool) -> None:
    ours = collection(name, relay=relay)
    rows, names = collusions(ours), parties_of(ours)
    assert set(alone(ours)) == set(names) == {DEVICES, *ours.servers}
    assert list(rows) == list(combinations(names, 2))
    assert all(row.learns and row.guarantee for row in rows.values())
    together = {frozenset(row.party.split(" with ")): row for row in promises(ours) if " with " in row.party}
    assert relay == (frozenset(("relay", "ingestor")) in together)
    for pair, row in rows.items():
        quoted = together.pop(frozenset(name.replace(DEVICES, "devices of its own") for name in pair), None)
        if quoted is not None:
            assert (row.learns, row.guarantee) == (quoted.learns, quoted.guarantee)
    assert together == {}, "every pair of the quote is there"


@pytest.mark.parametrize("name", SOURCES)
def test_a_pair_is_never_promised_more_than_one_of_them_alone(name: str) -> None:
    """As far as words can be put in order: nothing about answers, then central, then local, then none."""
    ours = collection(name)
    each, local = alone(ours), local_words(ours)

    def strength(words: str) -> int:
        if "none" in words:
            return 0
        if words.startswith(local) or f": {local}" in words.partition("; with ")[0]:
            return 1
        return 3 if "nothing about answers" in words or "cannot link a token" in words else 2

    for (first, second), row in collusions(ours).items():
        weakest = min(strength(each[party].guarantee) for party in (first, second) if party != DEVICES)
        if "the attribute is revealed" not in row.guarantee:
            assert strength(row.guarantee) <= weakest, row


def test_whoever_can_add_reports_is_a_device_without_a_limit() -> None:
    ours = collection("blinded, answer")
    rows, central = collusions(ours), central_words(ours)
    for party in ("issuer", "ingestor"):
        assert rows[party, "thresholder"].guarantee.startswith("none for answers that they try out")
        assert rows[party, "aggregator"].guarantee.startswith(central)
        assert "none about crowds" in rows[party, "aggregator"].guarantee
        assert rows[party, "blinder"].guarantee.startswith(SEALED)
    assert rows["relay", "aggregator"].guarantee == central
    assert rows["thresholder", "analyzer"].guarantee.startswith("none")
    assert rows[DEVICES, "analyzer"].guarantee == rows[DEVICES, "aggregator"].guarantee


@pytest.mark.parametrize("by", FRAGMENTS)
def test_each_of_several_shufflers_has_a_row_with_everybody(by: str) -> None:
    changes = {**FRAGMENTS[by], "transport": "shuffled", "shufflers": ("shuffler", "shuffler2", "shuffler3")}
    ours = reader.sign(reader.checked(document(KEYS, **changes)), KEYS.operator)
    rows, quoted = collusions(ours), {row.party: row for row in promises(ours)}
    assert list(rows) == list(combinations(parties_of(ours), 2))
    assert set(parties_of(ours)) == {DEVICES, *ours.servers}
    for party in ours.shufflers:
        assert rows[party, "aggregator"].guarantee == quoted["one of 3 shufflers with aggregator"].guarantee
        assert rows["ingestor", party].guarantee == quoted["one of 3 shufflers"].guarantee
    assert rows["shuffler", "shuffler3"].learns.endswith("of both")
    local = local_words(ours)
    assert (local in rows["shuffler", "shuffler2"].guarantee) == (by == "report"), "positions are public"


def test_without_tokens_there_is_no_issuer_to_work_with() -> None:
    ours = collection("direct", admission="nobody-asked")
    assert "issuer" not in alone(ours)
    assert not any("issuer" in pair for pair in collusions(ours))
