"""Results for files and screens: a table to read, CSV, JSON, Parquet."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from datetime import date
from typing import Any

from lapwing.collect import hops
from lapwing.collect.analyzer import Analyzer
from lapwing.collect.collection import Collection
from lapwing.collect.versions import earlier
from lapwing.collect.workspace import Workspace
from lapwing.crowd.estimates import aligned
from lapwing.errors import InvalidParameter, MissingExtra

FORMS = ("table", "csv", "json", "parquet")
Published = dict[str, Any]
"""What `GET /results` of an analyzer says."""


def published(workspace: Workspace, version: int | None = None) -> Published:
    """What the analyzer of this folder has published, of the present version or another one.

    On another machine it is asked.
    """
    present = workspace.collection().version
    if version is not None and version != present and version not in (known := published_versions(workspace)):
        hint = f"Write one of: {', '.join(map(str, sorted({present, *known})))}."
        raise InvalidParameter("version", version, "has no results", hint)
    if _is_here(workspace):
        return _analyzers(workspace)[present if version is None else version].plain()
    return _asked(workspace, "/results" if version in (None, present) else f"/results/{version}")


def published_versions(workspace: Workspace) -> list[int]:
    """The versions that have results, in order."""
    if _is_here(workspace):
        return sorted(number for number, analyzer in _analyzers(workspace).items() if analyzer.count())
    listed = _asked(workspace, "/versions")["versions"]
    return sorted(item["version"] for item in listed if item["batches"])


def _is_here(workspace: Workspace) -> bool:
    return (workspace.folder / "analyzer").is_dir()


def _analyzers(workspace: Workspace) -> dict[int, Analyzer]:
    """Of every version that this folder has something of."""
    places = (*earlier(workspace, "analyzer"), workspace)
    return {place.collection().version: place.analyzer() for place in places}


def _asked(workspace: Workspace, path: str) -> dict[str, Any]:
    """What the analyzer says, where it is another machine's."""
    address = workspace.collection().servers["analyzer"].address
    try:
        reply = hops.get(address + path)
        answer: dict[str, Any] = json.loads(reply.body)
        if reply.status != 200 or answer["collection"] != workspace.collection().name:
            raise ValueError
    except (OSError, ValueError, KeyError, TypeError):
        why = f"has no results, and the analyzer at {address} does not answer"
        raise InvalidParameter(
            "folder", str(workspace.folder), why, "Start it: lapwing collect serve analyzer."
        ) from None
    return answer


def exported(results: Published, form: str) -> bytes:
    """All that is published of one version, in one of the forms."""
    if form == "json":
        return json.dumps(results, indent=2).encode()
    if form == "table":
        return _table(results).encode()
    return _flat(_rows(results), form)


def exported_versions(versions: Sequence[Published], form: str) -> bytes:
    """What is published of several versions: each by itself, since their questions may differ."""
    if form == "json":
        return json.dumps(list(versions), indent=2).encode()
    if form == "table":
        return "\n\n".join(f"Version {results['version']}\n{_table(results)}" for results in versions).encode()
    return _flat([{"version": results["version"], **row} for results in versions for row in _rows(results)], form)


def outlasted(collection: Collection, last: date) -> str:
    """A warning where devices had nothing left to say when the last batch was closed; nothing before such a day."""
    days = -(-collection.policy().periods() // collection.reports_per_day)
    if (last - collection.opens).days < days:
        return ""
    return (
        f"The lifetime of a device pays for answers of {days:,} day{'' if days == 1 else 's'}, and the last of these "
        f"batches was closed on day {(last - collection.opens).days + 1:,}. Later reports of a device say nothing, so "
        "estimates of late batches, and of all together, are too small."
    )


def _rows(results: Published) -> list[dict[str, Any]]:
    """One for each answer of each batch."""
    return [
        {"batch": batch["batches"][-1], "day": batch["day"], **row}
        for batch in results["batches"]
        for row in batch["answers"]
    ]


def _flat(rows: list[dict[str, Any]], form: str) -> bytes:
    if form not in FORMS:
        raise InvalidParameter("format", form, "is not known", f"Write one of: {', '.join(FORMS)}.")
    names = list(dict.fromkeys(name for row in rows for name in row))  # versions may have other columns
    filled = [{name: row.get(name) for name in names} for row in rows]
    return _csv(filled).encode() if form == "csv" else _parquet(filled)


def _table(results: Published) -> str:
    if not results["batches"]:
        least = results["smallest_batch"]
        return f"No batch is published yet. One is published when {least:,} reports or more have come."
    together, count = results["together"], len(results["batches"])
    batches = f"{count} batch{'es' if count > 1 else ''}"
    reports = f"{together['reports']:,} reports"
    if together.get("fragments") is not None:
        reports = f"{together['fragments']:,} fragments, of about {together['reports']:,} people,"
    lines = [results["question"], f"{reports} in {batches}, the last of {together['day']}", ""]
    if together["removed"]:
        lines[2:] = [together["missing"], ""]
    rows, n = together["answers"], together["reports"]
    if not rows:
        lines.append("No string was sent by enough people.")
    elif "mean" in rows[0]:
        low, mean, high = (rows[0][name] for name in ("low", "mean", "high"))
        lines.append(f"mean {mean:,.6g} (95 % interval {low:,.6g} to {high:,.6g})")
    else:
        names = aligned(["answer", *(str(row["answer"]) for row in rows)])
        lines.append(f"{names[0]} {'people':>12} {'share':>8}   95 % interval of the share")
        lines += [
            f"{name} {row['count']:>12,.0f} {100 * row['count'] / n:>6.2f} %   "
            f"{100 * row['low'] / n:.2f} to {100 * row['high'] / n:.2f} %"
            for name, row in zip(names[1:], rows, strict=True)
        ]
    gain = together["gain_per_fake"]
    if gain is not None:
        what = "the sum behind the mean" if rows and "mean" in rows[0] else "a count of people"
        lines += ["", f"One false report can move {what} by {gain:,.2g} at most."]
    return "\n".join(lines)


def _csv(rows: list[dict[str, Any]]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]) if rows else ["batch", "day", "answer"])
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _parquet(rows: list[dict[str, Any]]) -> bytes:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingExtra("pyarrow", "arrow") from None
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist([row | {"answer": str(row["answer"])} for row in rows]), out)
    return out.getvalue()
