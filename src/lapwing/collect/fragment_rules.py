"""Which settings of a collection cannot be used with fragments, and what to write instead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

from lapwing.collect.answer_fragments import By
from lapwing.collect.collection import MORE_SHUFFLERS, Collection
from lapwing.collect.string_protocol import NAME as STRINGS
from lapwing.collect.tokens import MOST_AT_ONCE

NOBODY = "A" * 43 + "="
"""The key of nobody, in drafts and in epochs that were over before a party came."""


def misfits(document: Mapping[str, Any], hops: Sequence[str]) -> list[str]:
    """One sentence for each; `hops` are the parties between ingestor and aggregator."""
    more, crowd = tuple(party for party in hops if party in MORE_SHUFFLERS), document.get("crowd")
    source = crowd.get("from") if isinstance(crowd, Mapping) else None
    if "fragments" not in document:
        instead = "delete it, or write fragments: {by: report, count: 3}"
        problems = [f"servers.{party}: has nothing to do without fragments; {instead}" for party in more]
        return problems + _position(source)
    item, protocol = document["fragments"], document.get("protocol")
    if isinstance(protocol, Mapping) and protocol.get("protocol") == STRINGS:
        return ["fragments: a string is sent whole; delete the line, or use a protocol that lists answers"]
    by: Any = item.get("by") if isinstance(item, Mapping) else None
    if by not in get_args(By):
        return ["fragments: must be {by: report, count: 3} or {by: attribute}"]
    problems = list[str]()
    if by == "attribute" and "count" in item:
        problems.append("fragments.count: is the number of answers, one bit for each; delete it")
    if document.get("transport") != "shuffled":
        why = "each fragment goes through one shuffler, which coins choose"
        problems.append(f"fragments: {why}; write transport: shuffled")
    if document.get("accounting") != "lifetime":
        why = "donations of a day leave together, and fragments at times of their own"
        problems.append(f"fragments: {why}; write accounting: lifetime")
    if by == "attribute" and source != "position":
        why = "a bit hides among the bits at its own position, so there must be enough of them"
        problems.append(f"crowd.from: {why}; write from: position")
    if more != MORE_SHUFFLERS[: len(more)]:
        problems.append("servers: several shufflers are called shuffler, shuffler2, shuffler3, without a gap")
    return problems + (_position(source) if by == "report" else []) + _shared_keys(document, ("shuffler", *more))


def _position(source: Any) -> list[str]:
    if source != "position":
        return []
    return ["crowd.from: position is for fragments: {by: attribute}; write from: report"]


def _shared_keys(document: Mapping[str, Any], shufflers: Sequence[str]) -> list[str]:
    """Two shufflers with one key are one shuffler."""
    epochs = document.get("epochs")
    maps = [epoch for epoch in epochs if isinstance(epoch, Mapping)] if isinstance(epochs, list) else []
    keys = [[str(epoch.get(f"{party}_key")) for party in shufflers] for epoch in maps]
    given = [[key for key in held if key != NOBODY] for held in keys]
    shared = any(len(set(held)) < len(held) for held in given)
    return ["epochs: two shufflers have the same key; each needs one of its own"] if shared else []


def too_many_tokens(collection: Collection) -> list[str]:
    """A device asks once for all tokens of an epoch."""
    most = max((collection.tokens_each(epoch) for epoch in collection.epochs), default=0)
    if not collection.tokens or collection.fragments is None or most <= MOST_AT_ONCE:
        return []
    why = f"a device would need {most:,} tokens for an epoch, {MOST_AT_ONCE:,} are the most"
    return [f"fragments: {why}; write fewer fragments, fewer reports a day, or shorter epochs"]
