"""Results for files and screens: a table to read, CSV, JSON, Parquet."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

from lapwing.collect import hops
from lapwing.collect.workspace import Workspace
from lapwing.crowd.estimates import aligned
from lapwing.errors import InvalidParameter, MissingExtra

FORMS = ("table", "csv", "json", "parquet")
Published = dict[str, Any]
"""What `GET /results` of an analyzer says."""


def published(workspace: Workspace) -> Published:
    """What the analyzer of this folder has published; on another machine it is asked."""
    if (workspace.folder / "analyzer").is_dir():
        return workspace.analyzer().plain()
    address = workspace.collection().servers["analyzer"].address
    try:
        reply = hops.get(f"{address}/results")
        results: Published = json.loads(reply.body)
        if reply.status != 200 or results["collection"] != workspace.collection().name:
            raise ValueError
    except (OSError, ValueError, KeyError, TypeError):
        why = f"has no results, and the analyzer at {address} does not answer"
        raise InvalidParameter(
            "folder", str(workspace.folder), why, "Start it: lapwing collect serve analyzer."
        ) from None
    return results


def exported(results: Published, form: str) -> bytes:
    """All that is published, in one of the forms."""
    if form not in FORMS:
        raise InvalidParameter("format", form, "is not known", f"Write one of: {', '.join(FORMS)}.")
    if form == "json":
        return json.dumps(results, indent=2).encode()
    if form == "table":
        return _table(results).encode()
    rows = [
        {"batch": batch["batches"][-1], "day": batch["day"], **row}
        for batch in results["batches"]
        for row in batch["answers"]
    ]
    return _csv(rows).encode() if form == "csv" else _parquet(rows)


def _table(results: Published) -> str:
    if not results["batches"]:
        least = results["smallest_batch"]
        return f"No batch is published yet. One is published when {least:,} reports or more have come."
    together, count = results["together"], len(results["batches"])
    batches = f"{count} batch{'es' if count > 1 else ''}"
    lines = [results["question"], f"{together['reports']:,} reports in {batches}, the last of {together['day']}", ""]
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
