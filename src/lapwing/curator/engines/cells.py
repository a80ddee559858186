"""Frames of this process, prepared so that no cell can stop DuckDB: what it would refuse becomes NULL.

DuckDB checks cells while it takes a frame in, where no statement can catch an error: half a character in a column of
Python objects, a moment with a zone that 64 bits of microseconds cannot hold. So such columns are handed over in
another form, which depends on their types and on what their owner declared them to be: moments without their zone (in
UTC), Python objects one by one, as values of their kind or None. DuckDB does not check text of Arrow at all. It is
checked here, or in statements if it comes from a file piece by piece.

One word in a column of numbers makes objects of all of them in pandas, a missing moment alone makes moments, and an
imaginary part makes complex numbers. Then 17.0 must still be the number, and the person, that it is where nobody wrote
a word.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lapwing.curator.engines.objects import column_of, texts
from lapwing.curator.plan.expressions import Kind
from lapwing.curator.plan.text_forms import PLAIN, Notation

if TYPE_CHECKING:
    import pyarrow as pa

UNCHECKED_TEXT = "UNCHECKED VARCHAR"
"""Our name for the type of text that may be no UTF-8."""
_MOMENTS = ("date", "timestamp")
_TEXT = ("VARCHAR", "JSON")
_NESTED = ("STRUCT", "MAP", "UNION", "LIST", "ARRAY", "VARIANT")
_UNCHECKED = (*_NESTED, "TIME", "INTERVAL", "JSON", "GEOMETRY", "BIT", "BIGNUM")


def is_unchecked(declared: str) -> bool:
    """Whether DuckDB may take a cell in without a check, and stop at it when it is read or turned into text."""
    return declared.endswith("]") or (declared.startswith(_UNCHECKED) and not declared.startswith("TIMESTAMP"))


def total(frame: Any, notation: Notation = PLAIN, kinds: Mapping[str, Kind] | None = None) -> Any:
    """The frame as DuckDB can take it in, whatever its cells are; objects are read as what `kinds` declares them to be.

    Those of which nothing is declared are text.
    """
    declared = kinds or {}
    made_by, name = type(frame).__module__.partition(".")[0], type(frame).__name__
    if made_by == "pandas" and name == "DataFrame":
        return _pandas(frame, notation, declared)
    if made_by == "polars":
        return _arrow((frame.collect() if name == "LazyFrame" else frame).to_arrow())
    if made_by == "pyarrow" and name in ("Table", "RecordBatch"):
        return _arrow(frame)
    if isinstance(frame, dict):
        return {key: _array(column, notation, declared.get(key)) for key, column in frame.items()}
    return frame


def with_texts(frame: Any, kinds: Mapping[str, Kind]) -> tuple[Any, dict[str, str]]:
    """A frame with a column of text for each that is read cell by cell as something else, and their names by its."""
    is_dict = isinstance(frame, dict)
    if not is_dict and type(frame).__module__.partition(".")[0] != "pandas":
        return frame, {}
    names, more = [str(name) for name in frame], dict(frame) if is_dict else frame.copy(deep=False)
    texts_of: dict[str, str] = {}
    for place, name in enumerate(names):
        column = frame[name] if is_dict else frame.iloc[:, place]
        if name in kinds and _is_loose(column.dtype, kinds[name]):
            texts_of[name] = f"{name} as text {'_' * max(map(len, names))}"  # longer than all others: a name of its own
            more[texts_of[name]] = column if is_dict else column.array
    return more, texts_of


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


def _is_loose(declared: Any, kind: Kind) -> bool:
    """Whether cells of a type are read one by one as what they were declared to be, for one of them may have made it.

    The types decide that, and no cell. Text is not among them: it is read by the engine, and so are types of Arrow.
    """
    inner = getattr(getattr(declared, "categories", None), "dtype", declared)  # of a category, that of its values
    form = getattr(inner, "kind", "")
    if hasattr(inner, "storage") or hasattr(inner, "pyarrow_dtype"):
        return False
    if form == "M":
        return kind not in _MOMENTS or inner is not declared
    return form in ("m", "c") or (form == "O" and kind != "text")


def _objects(column: Any) -> Any:
    """A column as an array of Python objects, whatever pandas or numpy made of it."""
    import numpy as np

    inner = getattr(getattr(column.dtype, "categories", None), "dtype", column.dtype)
    if inner.kind == "M":
        return _instants(column if inner is column.dtype else column.astype(inner))
    if isinstance(column, np.ma.MaskedArray):
        return np.ma.filled(column.astype(object), None)
    return np.asarray(column, dtype=object)


def _instants(column: Any) -> Any:
    """Moments as Python's own, in UTC and cut to microseconds; None for those that Python cannot hold."""
    import numpy as np

    zone = getattr(column.dtype, "tz", None)
    bare = column if zone is None else column.dt.tz_convert("UTC").dt.tz_localize(None)
    moments: Any = np.asarray(np.ma.filled(bare, np.datetime64("NaT")))
    unit: Any = np.datetime_data(moments.dtype)[0]
    if unit != "ns":  # all of which Python holds
        first, end = np.datetime64("0001-01-01", unit), np.datetime64("10000-01-01", unit)
        moments = np.where((moments >= first) & (moments < end), moments, np.datetime64("NaT", unit))
    return moments.astype("datetime64[us]").astype(object)


def _cut(column: Any) -> Any:
    """Moments in microseconds: what is smaller is cut off, as in text and in Python's own moments."""
    if not str(column.dtype).startswith("datetime64[ns"):
        return column
    zone = getattr(column.dtype, "tz", None)
    return column.astype("datetime64[us]" if zone is None else f"datetime64[us, {zone}]")


def _array(column: Any, notation: Notation, kind: Kind | None) -> Any:
    """An array of numpy as DuckDB can take it in."""
    if kind is not None and _is_loose(column.dtype, kind):
        return column_of(_objects(column), kind, notation)
    if column.dtype.kind in "OU":
        return texts(_objects(column))
    return _cut(column) if kind in _MOMENTS else column


def _pandas(frame: Any, notation: Notation, kinds: Mapping[str, Kind]) -> Any:
    """The frame with other columns where needed; the others share their memory.

    One with a column of Arrow becomes a table of Arrow: DuckDB would guess what objects are from their cells.
    """
    import pandas as pd  # type: ignore[import-untyped]

    declared = [kinds.get(str(label)) for label in frame.columns]
    if any(isinstance(dtype, pd.ArrowDtype) for dtype in frame.dtypes):
        import pyarrow as pa

        columns = [_as_arrow(frame.iloc[:, place], notation, kind) for place, kind in enumerate(declared)]
        return _arrow(pa.Table.from_arrays(columns, [str(label) for label in frame.columns]))
    copy = frame.copy(deep=False)
    for place, kind in enumerate(declared):
        column = frame.iloc[:, place]
        changed = _column(column, notation, kind)
        if changed is not column:
            copy.isetitem(place, changed.array)  # by position: labels of rows may be any, and may repeat
    return copy


def _as_arrow(column: Any, notation: Notation, kind: Kind | None) -> Any:
    """A column of pandas as one of Arrow, of a type that follows from its own and from what it was declared to be."""
    import pandas as pd
    import pyarrow as pa

    if isinstance(column.dtype, pd.ArrowDtype):
        return pa.chunked_array(column.array.__arrow_array__())
    plain = _column(column, notation, kind)
    words = plain.cat.categories if isinstance(plain.dtype, pd.CategoricalDtype) else plain
    if words.dtype == object or isinstance(words.dtype, pd.StringDtype):
        return pa.array(texts(plain.to_numpy(dtype=object)).tolist(), pa.large_string())
    return pa.array(plain)


def _column(column: Any, notation: Notation, kind: Kind | None) -> Any:
    """A column of pandas as DuckDB can take it in."""
    import pandas as pd

    if kind is not None and _is_loose(column.dtype, kind):
        return _series(column_of(_objects(column), kind, notation))
    column = _cut(column) if kind in _MOMENTS else column
    declared = column.dtype
    if isinstance(declared, pd.DatetimeTZDtype):
        return column.dt.tz_convert("UTC").dt.tz_localize(None)
    if isinstance(declared, pd.CategoricalDtype):
        return _categories(column)
    if isinstance(declared, pd.StringDtype):
        return _extension(column)
    if getattr(declared, "kind", "") != "O":
        return column
    cells = column.to_numpy()
    words = texts(cells)
    return column if words is cells else pd.Series(words, dtype=object)


def _series(column: Any) -> Any:
    """An array as a column of pandas, with its mask."""
    import numpy as np
    import pandas as pd

    if not isinstance(column, np.ma.MaskedArray):
        return pd.Series(column)
    masked = pd.arrays.BooleanArray if column.dtype == np.bool_ else pd.arrays.IntegerArray
    return pd.Series(masked(column.data, column.mask))


def _categories(column: Any) -> Any:
    """Categories with text that has no bytes one by one; others as they are.

    Whole numbers and truth values keep their type where a cell is missing: DuckDB would take them for doubles.
    """
    import numpy as np
    import pandas as pd

    words = column.cat.categories.to_numpy()
    if words.dtype.kind in _WITH_MISSING:
        cells = pd.array(words, dtype=_WITH_MISSING[words.dtype.kind])
        return pd.Series(cells.take(column.cat.codes.to_numpy(), allow_fill=True))
    if words.dtype != object or texts(words) is words:
        return column
    written = np.array([*texts(words), None], dtype=object)
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
