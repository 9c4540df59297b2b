"""The databases: what is asked of them, and by which clients. See catalog.py."""

from .catalog import Metric, Peer, Suite

PREFIX = "data-"


def row(name: str, unit: str, count: int, what: str) -> Metric:
    return Metric(PREFIX + name, unit, count, what, kind="data", timeout_seconds=120)


DATA_METRICS = [
    row("pg_select", "us/query", 40_000,
        "PostgreSQL: a row by its key, 64 callers over 4 connections; wall time a query"),
    row("pg_batch20", "us/batch", 3_000,
        "20 such queries in one request, 16 callers over 4 connections"),
    row("pg_tx3", "us/tx", 4_000,
        "a transaction of a select, an update and an insert, 16 callers, 16 connections"),
    row("pg_rows10k", "ns/row", 30, "10,000 rows of four columns, each read; one caller"),
    row("pg_stream1m", "ns/row", 1, "1 M such rows from a cursor, each read"),
    row("cursor_ndjson", "ns/row", 1, "1 M such rows from a cursor as a line of JSON each"),
    row("sqlite_select", "us/query", 100_000,
        "SQLite: a row by its key, of a file of 1 M rows; 64 callers where a query is awaited"),
    row("sqlite_scan", "ns/row", 1, "1 M rows of four columns from a cursor, each read"),
    row("sqlite_insert", "ns/row", 100_000, "rows of four values, in one transaction"),
    row("cancel_ms", "ms", 5, "from the cancel of `select pg_sleep(5)` to its end at the caller"),
]

SQLITE = tuple(PREFIX + name for name in ("sqlite_select", "sqlite_scan", "sqlite_insert"))
POSTGRES = tuple(PREFIX + name for name in ("pg_select", "pg_batch20", "pg_tx3", "pg_rows10k",
                                            "pg_stream1m", "cancel_ms"))
ROWS = (*POSTGRES, f"{PREFIX}cursor_ndjson")
BATCH = {f"{PREFIX}pg_batch20": "20 queries awaited together"}
ONE_BY_ONE = {f"{PREFIX}pg_tx3": "the statements one after another: there is no batch"}
BY_HAND = {f"{PREFIX}{name}": "no cursor: one is declared by hand, pages of 1,000"
           for name in ("pg_stream1m", "cursor_ndjson")}
AT_ONCE = {f"{PREFIX}sqlite_select": "on the thread that asks, which waits"}
GO_NOTES = ONE_BY_ONE | {f"{PREFIX}cancel_ms": "returns before the server has stopped"}


def client(label: str, only: tuple[str, ...], notes: dict[str, str], is_floor: bool = False,
           program: str = "") -> Peer:
    return Peer(label, 1, "GOMAXPROCS", only=only, notes=notes, label=label,
                program=program or f"data.{label}", is_floor=is_floor)


DATA_PEERS = [
    Peer("weft", 1, "WEFT_BENCH", program="data.weft"),
    Peer("weft", 1, "WEFT_BENCH", program="js.weft", label="weft-js"),
    client("libpq", POSTGRES, {}, is_floor=True),
    client("c", SQLITE, AT_ONCE, is_floor=True),
    client("bun", (*ROWS, *SQLITE), BATCH | ONE_BY_ONE | BY_HAND | AT_ONCE,
           program="js.bun"),
    client("postgresjs", ROWS, BATCH | ONE_BY_ONE, program="js.node24"),
    client("pg", ROWS, BATCH | ONE_BY_ONE, program="js.node24"),
    client("node", SQLITE, AT_ONCE, program="js.node24"),
    client("go", POSTGRES, GO_NOTES),
]

DATA = Suite("data", "make bench-data", DATA_METRICS, DATA_PEERS, (1,), prefix=PREFIX,
             folder="data")
