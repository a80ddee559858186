"""The ledger in a PostgreSQL database: the same tables in a schema of their own, the same transactions on a server.

Privacy: a charge is granted when the server says that it is committed, which here means flushed to its disk. If the
connection breaks before that, the charge may be there or not; nothing is shown, and asking again under the same key
finds it. Somebody who may write to the schema can forge it, as with a file. A server restored from an old backup, or a
replica that took over too early, is found by the anchor."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import quote

from lapwing.errors import InvalidParameter, LapwingError, LedgerDamaged, LedgerUnavailable, MissingExtra
from lapwing.privacy import store
from lapwing.privacy.journal import SCHEMA, SINCE_BREAKER, Database, Rows

if TYPE_CHECKING:
    import psycopg

HOME = "lapwing_ledger"
"""The schema that holds the tables and nothing else."""
TURN = int.from_bytes(hashlib.sha256(b"lapwing ledger").digest()[:8], "big", signed=True)
"""The advisory lock of those who write; every database has its own."""

_TYPES = {"INTEGER": "BIGINT", "BLOB": "BYTEA", "TEXT": 'TEXT COLLATE "C"'}
_BEGIN = """
BEGIN ISOLATION LEVEL {level}; SET LOCAL search_path = {home}, pg_temp; SET LOCAL lock_timeout = {patience};
SET LOCAL synchronous_commit = on; SET LOCAL row_security = off; SET LOCAL quote_all_identifiers = off
"""
_CLOSED = "no right to use the schema"
_LAYOUT = f"""
WITH home AS (SELECT oid FROM pg_namespace WHERE nspname = :home),
tables AS (SELECT c.* FROM pg_class c JOIN home ON relnamespace = home.oid WHERE relkind NOT IN ('i', 't', 'c'))
SELECT CASE WHEN has_schema_privilege(oid, 'USAGE') THEN 'schema' ELSE '{_CLOSED}' END AS line FROM home
UNION ALL SELECT relname || ' (' || (
    SELECT string_agg(attname || ' ' || format_type(atttypid, atttypmod)
        || CASE WHEN attcollation NOT IN (0, 950) THEN ' COLLATE' ELSE '' END
        || CASE WHEN attnotnull THEN ' NOT NULL' ELSE '' END
        || CASE WHEN atthasdef OR attidentity <> '' THEN ' DEFAULT' ELSE '' END, ', ' ORDER BY attnum)
    FROM pg_attribute WHERE attrelid = tables.oid AND attnum > 0 AND NOT attisdropped
    ) || ')' || CASE WHEN (relkind, relpersistence) = ('r', 'p') THEN '' ELSE ' that does not last' END FROM tables
UNION ALL SELECT relname || ' ' || pg_get_constraintdef(k.oid)
    FROM pg_constraint k JOIN tables ON conrelid = tables.oid WHERE contype <> 'n'
UNION ALL SELECT 'index ' || relname FROM pg_class c JOIN home ON relnamespace = home.oid
    WHERE relkind = 'i' AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = c.oid)
UNION ALL SELECT 'trigger ' || tgname FROM pg_trigger JOIN tables ON tgrelid = tables.oid
UNION ALL SELECT 'rule ' || rulename FROM pg_rewrite JOIN tables ON ev_class = tables.oid
UNION ALL SELECT 'policy ' || polname FROM pg_policy JOIN tables ON polrelid = tables.oid
UNION ALL SELECT 'heir ' || inhrelid FROM pg_inherits JOIN tables ON tables.oid IN (inhparent, inhrelid)
UNION ALL SELECT 'function ' || proname FROM pg_proc JOIN home ON pronamespace = home.oid
UNION ALL SELECT 'operator ' || oprname FROM pg_operator JOIN home ON oprnamespace = home.oid
"""
"""Everything that decides what a statement of ours does: tables, columns, constraints and what runs beside them.

The collation "C", under which only equal names are equal, has the number 950 on every server.
"""


def in_postgres(home: str, *statements: str) -> tuple[str, ...]:
    """Statements in the words of SQLite as PostgreSQL takes them, for tables in a schema of their own."""
    return f"CREATE SCHEMA {home}", *_spelt(statements)


def _spelt(statements: Sequence[str]) -> tuple[str, ...]:
    return tuple(re.sub("|".join(_TYPES), lambda word: _TYPES[word[0]], statement) for statement in statements)


class PostgresStore(store.Store):
    """A database on a server; what the URL leaves to the environment is read from there once."""

    __slots__ = ("_parameters",)

    home: ClassVar[str] = HOME
    """The schema that holds the tables."""
    statements: ClassVar[Sequence[str]] = in_postgres(HOME, *SCHEMA)
    since_breaker: ClassVar[Sequence[str]] = _spelt(SINCE_BREAKER)
    layout = frozenset(
        {
            "schema",
            "entry (number bigint NOT NULL, body text NOT NULL, hash text NOT NULL)",
            "entry PRIMARY KEY (number)",
            "budget (dataset text NOT NULL, analyst text NOT NULL, kind text NOT NULL, relation text NOT NULL, "
            "unit text NOT NULL, size bigint NOT NULL, delta bigint NOT NULL, spent_size bigint NOT NULL, "
            "spent_delta bigint NOT NULL)",
            "budget PRIMARY KEY (dataset, unit, analyst)",
            "release (charge bigint NOT NULL, key text, binding text NOT NULL, content bytea)",
            "release PRIMARY KEY (charge)",
            "release UNIQUE (key)",
        }
    )
    breaker_layout = frozenset(
        {
            "rule (dataset text NOT NULL, questions bigint NOT NULL, parts bigint NOT NULL, failures bigint NOT NULL)",
            "rule PRIMARY KEY (dataset)",
            "standing (dataset text NOT NULL, analyst text NOT NULL, questions bigint NOT NULL, "
            "failures bigint NOT NULL)",
            "standing PRIMARY KEY (dataset, analyst)",
        }
    )

    def __init__(
        self,
        url: str,
        anchor: str | os.PathLike[str] | None,
        failures: str | os.PathLike[str] | None = None,
    ) -> None:
        self._parameters = _parameters(url)
        super().__init__(_without_secrets(self._parameters), anchor, failures)

    def _place(self) -> object:
        return self._parameters, self.anchor

    @contextmanager
    def transaction(self, *, write: bool = True, fresh: bool = False) -> Iterator[Database]:
        import psycopg
        from psycopg.rows import dict_row

        with store.IN_USE:
            connection = None
            try:
                options: dict[str, Any] = {**self._parameters, "client_encoding": "UTF8"}
                connection = psycopg.connect(**options, autocommit=True, row_factory=dict_row, prepare_threshold=None)
                self._begin(connection, write)
                database = _NamedPlaceholders(connection)
                self._check_anchor(database)
                yield database
                self._commit(connection)
            except (psycopg.Error, UnicodeError) as error:
                raise self._refusal(error) from None  # its text is in ours, without the password
            finally:
                if connection is not None:
                    connection.close()  # what was not committed is rolled back

    def _begin(self, connection: psycopg.Connection[Any], write: bool) -> None:
        """Begin what is durable and comes after everybody else's; the snapshot of a reader is not taken here."""
        level = "READ COMMITTED READ WRITE" if write else "REPEATABLE READ READ ONLY"
        connection.execute(_BEGIN.format(level=level, home=self.home, patience=round(store.PATIENCE * 1000)))
        if not write:
            return
        turn = f"SELECT current_setting('fsync') AS fsync, pg_advisory_xact_lock({TURN})"
        [row] = connection.execute(turn).fetchall()
        # a machine that vanishes would keep its turn for hours, until the server misses it
        connection.execute(f"SET LOCAL idle_in_transaction_session_timeout = {round(store.PATIENCE * 500)}")
        if row["fsync"] != "on":
            raise LedgerUnavailable(self.name, "the server runs with fsync off, so a charge may vanish")

    def _commit(self, connection: psycopg.Connection[Any]) -> None:
        status = connection.execute("COMMIT").statusmessage
        if status != "COMMIT":  # what failed before is rolled back, and that is not an error
            raise LedgerUnavailable(self.name, "the server did not commit")

    def _refusal(self, error: Exception) -> LapwingError:
        import psycopg

        if isinstance(error, psycopg.IntegrityError) or getattr(error, "sqlstate", None) in _DAMAGE:
            return LedgerDamaged(self.name, "its tables")
        why = " ".join(str(error).split()).rstrip(".") or "the server did not answer"
        for name in ("password", "sslpassword"):
            why = why.replace(self._parameters.get(name) or "\0", "…")
        return LedgerUnavailable(self.name, why)

    def tables(self, database: Database) -> set[str]:
        lines = {row["line"] for row in database.execute(_LAYOUT, {"home": self.home})}
        if _CLOSED in lines:  # its tables would seem not to be there
            raise LedgerUnavailable(self.name, f"its owner has to GRANT USAGE ON SCHEMA {self.home} to you")
        return lines


_DAMAGE = {"42P01", "42703", "3F000", "XX001", "XX002"}
"""No such table, column or schema; a page or an index that the server found broken."""


class _NamedPlaceholders:
    """A connection that takes `:names` for placeholders, as SQLite does."""

    __slots__ = ("_connection",)

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    def execute(self, sql: str, parameters: Mapping[str, Any] | None = None, /) -> Rows:
        if parameters is not None:
            sql = re.sub(r":([a-z_]+)", r"%(\1)s", sql)
        return self._connection.execute(sql, parameters)


def _parameters(url: str) -> dict[str, Any]:
    """What libpq reads in the URL, and where the environment leads today."""
    try:
        import psycopg
        from psycopg.conninfo import conninfo_to_dict
    except ImportError as error:
        raise MissingExtra("psycopg", "postgres") from error
    hint = "Write 'postgresql://user@host/database', and put the password into ~/.pgpass."
    if "://" not in url:
        why = "is not an address, which begins with two slashes and is text, not a Path"
        raise InvalidParameter("path", url.partition(":")[0] + ":…", why, hint)
    try:
        given = conninfo_to_dict(url)
    except (psycopg.Error, UnicodeError):
        why = "is not an address that PostgreSQL understands"
        raise InvalidParameter("path", url.partition(":")[0] + "://…", why, hint) from None
    patience = {"connect_timeout": round(store.PATIENCE), "tcp_user_timeout": round(store.PATIENCE * 1000)}
    if "service" in given:
        return {**patience, **given}
    places = ("host", "hostaddr", "port", "dbname", "user")
    defaults = {option.keyword.decode(): option.val for option in psycopg.pq.Conninfo.get_defaults() if option.val}
    today = {name: value.decode() for name, value in defaults.items() if name in places}
    return {**patience, **today, **given}


def _without_secrets(parameters: Mapping[str, Any]) -> str:
    user, host, port, database = (str(parameters.get(name, "")) for name in ("user", "host", "port", "dbname"))
    where = quote(host, safe=",:[]") + (f":{port}" if port else "")
    return f"postgresql://{quote(user)}@{where}/{quote(database)}"
