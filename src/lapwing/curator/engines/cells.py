"""Frames of this process, prepared so that no cell can stop DuckDB: what it would refuse becomes NULL.

DuckDB checks cells while it takes a frame in, where no statement can catch an error: half a character in a column of
Python objects, a moment with a zone that 64 bits of microseconds cannot hold. So such columns are handed over in
another form, which depends on their types alone: moments without their zone (in UTC), Python objects one by one, as
text or None. DuckDB does not check text of Arrow at all. It is checked here, or in statements if it comes from a file
piece by piece.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lapwing.curator.plan.text_forms import PLAIN, TRUE, Notation

if TYPE_CHECKING:
    import pyarrow as pa

Read = Callable[[Any], str | None]
"""What an object is as text."""
UNCHECKED_TEXT = "UNCHECKED VARCHAR"
"""Our name for the type of text that may be no UTF-8."""
_BLOCK = 1 << 16
_TEXT = ("VARCHAR", "JSON")
_NESTED = ("STRUCT", "MAP", "UNION", "LIST", "ARRAY", "VARIANT")
_UNCHECKED = (*_NESTED, "TIME", "INTERVAL", "JSON", "GEOMETRY", "BIT", "BIGNUM")


def is_unchecked(declared: str) -> bool:
    """Whether DuckDB may take a cell in without a check, and stop at it when it is read or turned into text."""
    return declared.endswith("]") or (declared.startswith(_UNCHECKED) and not declared.startswith("TIMESTAMP"))


def total(frame: Any, notation: Notation = PLAIN) -> Any:
    """The frame as DuckDB can take it in, whatever its cells are; objects are written as `notation` reads them."""
    read = partial(text_of, notation=notation)
    made_by, name = type(frame).__module__.partition(".")[0], type(frame).__name__
    if made_by == "pandas" and name == "DataFrame":
        return _pandas(frame, read)
    if made_by == "polars":
        return _arrow((frame.collect() if name == "LazyFrame" else frame).to_arrow())
    if made_by == "pyarrow" and name in ("Table", "RecordBatch"):
        return _arrow(frame)
    if isinstance(frame, dict):
        return {
            key: texts(column.astype(object, copy=False), read) if column.dtype.kind in "OU" else column
            for key, column in frame.items()
        }
    return frame


def without_rows(frame: Any) -> Any:
    """A frame with the same columns, to be described: no record is read."""
    name = type(frame).__name__
    if isinstance(frame, dict):
        return {key: column[:0] for key, column in frame.items()}
    if name == "LazyFrame":
        return frame.head(0)
    return frame.iloc[:0] if type(frame).__module__.startswith("pandas") else frame[:0] if name in _SLICED else frame


_SLICED = ("DataFrame", "Table", "RecordBatch")


def unchecked_text(frame: Any, types: Mapping[str, str]) -> tuple[str, ...]:
    """The columns of text that may be no UTF-8, given DuckDB's types: all that Arrow reads from a file by itself."""
    is_dataset = type(frame).__module__.startswith("pyarrow") and "Dataset" in type(frame).__name__
    return tuple(name for name, declared in types.items() if is_dataset and declared in _TEXT)


def parquet(path: Path) -> Any:
    """A Parquet file through Arrow, for what DuckDB's own reader would stop at; nothing is read yet."""
    import pyarrow as pa
    import pyarrow.dataset as files

    schema = _schema(files.dataset(str(path.absolute()), format="parquet").schema)
    for field in schema:
        if pa.types.is_dictionary(field.type):  # whose reader stops at text that is no UTF-8
            schema = schema.remove(schema.get_field_index(field.name))
    return files.dataset(str(path.absolute()), format="parquet", schema=schema)


def _schema(schema: pa.Schema) -> pa.Schema:
    """Moments without their zone, which are the same instants in UTC; dictionaries only of text."""
    import pyarrow as pa

    return pa.schema([field.with_type(_plain(field.type)) for field in schema])


def _plain(declared: pa.DataType) -> pa.DataType:
    import pyarrow as pa

    if pa.types.is_dictionary(declared) and not _is_text(declared):
        declared = declared.value_type
    return pa.timestamp(declared.unit) if pa.types.is_timestamp(declared) else declared


def _is_text(declared: pa.DataType) -> bool:
    import pyarrow as pa

    plain = declared.value_type if pa.types.is_dictionary(declared) else declared
    return pa.types.is_string(plain) or pa.types.is_large_string(plain) or str(plain) == "string_view"


def _arrow(frame: Any) -> Any:
    import pyarrow as pa

    table = pa.Table.from_batches([frame]) if isinstance(frame, pa.RecordBatch) else frame
    for place, field in enumerate(table.schema):
        column = table.column(place)
        if (taken := _arrow_column(column)) is not column:
            table = table.set_column(place, field.name, taken)
    return table


def _arrow_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column that DuckDB can take in: by its type alone, and with NULL for text that is no UTF-8."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(column.type, pa.BaseExtensionType) and _is_text(column.type.storage_type):  # JSON, for example
        column = pa.chunked_array([chunk.storage for chunk in column.chunks], column.type.storage_type)
    if pa.types.is_run_end_encoded(column.type):
        column = pa.chunked_array([pc.run_end_decode(chunk) for chunk in column.chunks], column.type.value_type)
    if (plain := _plain(column.type)) != column.type:
        column = column.cast(plain)
    if not _is_text(column.type):
        return column
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        words = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        cells = words.cast(pa.large_binary()).to_pylist()
        return pa.chunked_array([pa.array(_decoded(cells), pa.large_string())])
    return column


def _pandas(frame: Any, read: Read) -> Any:
    """The frame with other columns where needed; the others share their memory.

    One with a column of Arrow becomes a table of Arrow: DuckDB would guess what objects are from their cells.
    """
    import pandas as pd  # type: ignore[import-untyped]

    if any(isinstance(kind, pd.ArrowDtype) for kind in frame.dtypes):
        import pyarrow as pa

        columns = [_as_arrow(frame.iloc[:, place], read) for place in range(frame.shape[1])]
        return _arrow(pa.Table.from_arrays(columns, [str(label) for label in frame.columns]))
    copy = frame.copy(deep=False)
    for place in range(frame.shape[1]):
        column = frame.iloc[:, place]
        changed = _column(column, read)
        if changed is not column:
            copy.isetitem(place, changed.array)  # by position: labels of rows may be any, and may repeat
    return copy


def _as_arrow(column: Any, read: Read) -> Any:
    """A column of pandas as one of Arrow, of a type that follows from its own."""
    import pandas as pd
    import pyarrow as pa

    if isinstance(column.dtype, pd.ArrowDtype):
        return pa.chunked_array(column.array.__arrow_array__())
    plain = _column(column, read)
    words = plain.cat.categories if isinstance(plain.dtype, pd.CategoricalDtype) else plain
    if words.dtype == object or isinstance(words.dtype, pd.StringDtype):
        return pa.array(texts(plain.to_numpy(dtype=object), read).tolist(), pa.large_string())
    return pa.array(plain)


def _column(column: Any, read: Read) -> Any:
    import pandas as pd

    kind = column.dtype
    if isinstance(kind, pd.DatetimeTZDtype):
        return column.dt.tz_convert("UTC").dt.tz_localize(None)
    if isinstance(kind, pd.CategoricalDtype):
        return _categories(column, read)
    if isinstance(kind, pd.StringDtype):
        return _extension(column)
    if getattr(kind, "kind", "") != "O":
        return column
    cells = column.to_numpy()
    words = texts(cells, read)
    return column if words is cells else pd.Series(words, dtype=object)


def _categories(column: Any, read: Read) -> Any:
    """Categories with text that has no bytes one by one; others as they are.

    Whole numbers and truth values keep their type where a cell is missing: DuckDB would take them for doubles.
    """
    import numpy as np
    import pandas as pd

    words = column.cat.categories.to_numpy()
    if words.dtype.kind in _WITH_MISSING:
        cells = pd.array(words, dtype=_WITH_MISSING[words.dtype.kind])
        return pd.Series(cells.take(column.cat.codes.to_numpy(), allow_fill=True))
    if words.dtype != object or texts(words, read) is words:
        return column
    written = np.array([*texts(words, read), None], dtype=object)
    return pd.Series(written[column.cat.codes.to_numpy()], dtype=object)


_WITH_MISSING = {"i": "Int64", "u": "UInt64", "b": "boolean"}


def _extension(column: Any) -> Any:
    """Columns of pandas that are its own text, kept by Python or by Arrow."""
    import pandas as pd

    if column.dtype.storage != "pyarrow":
        return pd.Series(texts(column.to_numpy(dtype=object)), dtype=object)
    import pyarrow as pa

    return pd.Series(_decoded(pa.array(column).cast(pa.large_binary()).to_pylist()), dtype=object)


def _decoded(cells: Iterable[bytes | None]) -> list[str | None]:
    strings: list[str | None] = []
    for cell in cells:
        try:
            strings.append(None if cell is None else cell.decode())
        except UnicodeDecodeError:
            strings.append(None)
    return strings


def text_of(cell: Any, notation: Notation = PLAIN) -> str | None:
    """A Python object as text; what is missing, or has no text, is None.

    Beside text with decimal commas, or with words for true and false, numbers and truth values are written like it.
    """
    try:
        if cell is None or type(cell).__name__ in ("NAType", "NaTType") or cell != cell:
            return None
        if isinstance(cell, float | Decimal) and notation.decimal == ",":
            text = f"{Decimal(str(cell)):f}".replace(".", ",")
        elif isinstance(cell, bool) and notation.true != TRUE:
            text = (notation.true if cell else notation.false)[0]
        else:
            text = str(cell)
        text.encode()
    except Exception:  # whatever a class of somebody's does
        return None
    return text


def texts(cells: Any, read: Read = text_of) -> Any:
    """An array of Python objects with the text `read` from each, or None; itself, if all of it is text."""
    changed = None
    for start in range(0, len(cells), _BLOCK):
        part = cells[start : start + _BLOCK].tolist()
        try:
            "".join(part).encode()
        except (TypeError, UnicodeEncodeError):
            changed = cells.copy() if changed is None else changed
            changed[start : start + _BLOCK] = [read(cell) for cell in part]
    return cells if changed is None else changed
