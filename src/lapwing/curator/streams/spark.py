"""Structured Streaming: a job of Spark brings rows to a stream, each micro-batch once; the clock closes the steps.

    readStream → foreachBatch → `Stream.add` (rows and number of the batch, one transaction) … `catch_up` by the clock

`foreachBatch` may be called again with a batch that it was given before: after a lost worker the tasks of a batch are
run again, after a lost driver the whole batch, with the same number. The number is in the state's transaction, so its
rows are kept once. The size of a batch closes no step, since it depends on the records.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from lapwing.errors import InvalidParameter
from lapwing.privacy.allowances import stable_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from lapwing.curator.streams.stream import Stream


def feed(
    stream: Stream,
    frame: DataFrame,
    *,
    name: str,
    checkpoint: str | os.PathLike[str],
    trigger: dict[str, Any] | None = None,
) -> StreamingQuery:
    """Start a job that keeps rows of a streaming frame for its step: `feed(stream, spark.readStream…, name="log")`.

    `name` is the name of the source, and `checkpoint` the folder in which Spark remembers how far it has read; both
    stay the same when the job is started again. `trigger` is what `DataStreamWriter.trigger` takes, such as
    `{"processingTime": "1 minute"}` or `{"availableNow": True}`. The job closes no step: call `stream.catch_up()` when
    the clock says so, here or in another process.
    """
    stable_name("name", name)
    if not getattr(frame, "isStreaming", False):
        why = "is not a streaming frame of Spark"
        raise InvalidParameter("frame", type(frame), why, "Write spark.readStream…, or stream.observe(frame).")
    if stream.definition.schedule.time is None and stream.definition.schedule.every != "step":
        why = "says when a row happened, and a micro-batch may have rows of several steps"
        raise InvalidParameter("time", None, why, "Write table.stream(…, time='at').")

    def observe(batch: DataFrame, number: int) -> None:
        stream.add(batch, batch=(name, int(number)))

    writer = frame.writeStream.foreachBatch(observe).option("checkpointLocation", os.fspath(checkpoint))
    return writer.trigger(**({"processingTime": "1 minute"} if trigger is None else trigger)).start()
