"""Runs one client of a database once. The server of PostgreSQL and the file of SQLite are made when
they are first asked for, and serve every client until the end."""

import atexit
import os
import shutil
import sqlite3
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from .building import BENCH, OUTPUT, ROOT, Unavailable
from .catalog import Metric, Peer
from .process import Failed, Figures, last_line

SERVER = ROOT / "tests/data/postgres_server"
CLIENTS = BENCH / "peers/data"
ROWS = 1_000_000
# With the runtime, and the file beside data.mjs that speaks its client.
SCRIPTS = {"weft-js", "bun", "postgresjs", "pg", "node"}
ADAPTERS = {"weft-js": "weft"}
TABLES = f"""
create table world (id int primary key, randomnumber int not null);
insert into world select i, (i * 7919) % 10000 from generate_series(1, 10000) i;
create table ins (id bigserial primary key, a int, b text);
create table big (id int primary key, n bigint not null, name text not null,
                  ts timestamptz not null);
insert into big select i, i * 7::bigint, 'row name number ' || i,
    '2026-01-01T00:00:00Z'::timestamptz + i * interval '1 second'
    from generate_series(1, {ROWS}) i;
vacuum analyze world; vacuum analyze big;
"""


@cache
def server() -> dict[str, str]:
    """Where it is, as libpq's variables."""
    child = subprocess.Popen([SERVER], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    atexit.register(lambda: (child.stdin.close(), child.wait()))
    words = {}
    for line in child.stdout:
        word, _, value = line.strip().partition(" ")
        if word == "ready":
            break
        words[word] = value
    if "folder" not in words:
        raise Failed("PostgreSQL does not start, or is not installed")
    where = {"PGHOST": words["folder"], "PGPORT": words["port"], "PGUSER": "weft",
             "PGDATABASE": "postgres"}
    done = subprocess.run(["psql", "-q", "-v", "ON_ERROR_STOP=1"], input=TABLES, text=True,
                          env=os.environ | where, capture_output=True)
    if done.returncode != 0:
        raise Failed(f"the tables could not be made: {last_line(done.stderr)}")
    return where


@cache
def sqlite_file() -> str:
    folder = tempfile.mkdtemp(prefix="weft-bench-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = f"{folder}/bench.db"
    with sqlite3.connect(path) as file:
        file.execute("pragma journal_mode = wal")
        file.execute("create table big(id integer primary key, n integer not null, "
                     "name text not null, r real not null)")
        file.executemany("insert into big values (?, ?, ?, ?)",
                         ((i, i * 7, f"row name number {i}", i / 2) for i in range(1, ROWS + 1)))
    return path


def command_of(peer: Peer, metric: Metric, program: Path) -> list[str]:
    name = metric.name.partition("-")[2]
    if peer.name not in SCRIPTS:
        return [str(program), name, str(metric.count)]
    runtime = [str(program), "run"] if peer.name == "weft-js" else [str(program)]
    return [*runtime, str(CLIENTS / "data.mjs"), ADAPTERS.get(peer.name, peer.name), peer.name,
            name, str(metric.count)]


def measure_data(peer: Peer, metric: Metric, built: dict) -> Figures:
    program = built[peer.built_as]
    if isinstance(program, Unavailable):
        raise Failed(program.reason)
    modules = OUTPUT / "npm/data/node_modules"
    if peer.name in ("postgresjs", "pg") and isinstance(built["data.modules"], Unavailable):
        raise Failed(built["data.modules"].reason)
    name = metric.name.partition("-")[2]
    where = {"WEFT_BENCH_SQLITE": sqlite_file()} if name.startswith("sqlite") else server()
    environment = os.environ | where | {"WEFT_BENCH_MODULES": str(modules.parent)}
    try:
        done = subprocess.run(command_of(peer, metric, program), env=environment, text=True,
                              capture_output=True, timeout=metric.timeout_seconds)
    except subprocess.TimeoutExpired:
        raise Failed(f"not finished within {metric.timeout_seconds} s") from None
    if done.returncode != 0:
        raise Failed(f"ended with {done.returncode}: {last_line(done.stderr)}")
    for line in done.stdout.splitlines():
        words = line.split()
        if len(words) == 4 and words[:2] == [peer.name, name]:
            return {metric.name: float(words[2])}
    raise Failed(f"no line `{peer.name} {name} …` in the output")


RUNS = {"data": measure_data}
