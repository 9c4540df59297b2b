"""Measures what a runtime costs before and beside its requests: its start, its memory, one more
isolate. The requests themselves are measured by http_measuring.py."""

import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

from .catalog import Metric, Peer
from .http_measuring import SETTLE_SECONDS, Session, program, resident_bytes, run_load
from .js_servers import Targets, many_command
from .process import (CLIENT_CPU, SERVER_CPU, Failed, Figures, free_port, last_line, on_cpu,
                      running, start)
from .servers import Ground, environment_of, make_files

MEBIBYTE = 2**20
ANSWER_SECONDS = 30
PAUSE_SECONDS = 0.0005
GOOD_START = b"HTTP/1.1 200"


def answers(port: int, host: str) -> bool:
    request = f"GET /plaintext HTTP/1.1\r\nHost: {host}\r\n\r\n"
    try:
        with socket.create_connection(("127.0.0.1", port), ANSWER_SECONDS) as connection:
            connection.sendall(request.encode())
            return connection.recv(len(GOOD_START)) == GOOD_START
    except OSError:
        return False


def wait_for_answers(server: subprocess.Popen, peer: Peer, targets: Targets) -> None:
    end = time.perf_counter() + ANSWER_SECONDS
    with on_cpu(CLIENT_CPU, peer):
        for port, host in targets:
            while not answers(port, host):
                if server.poll() is not None:
                    raise Failed(f"the server ended: {last_line(server.communicate()[1])}")
                if time.perf_counter() > end:
                    raise Failed(f"no answer within {ANSWER_SECONDS} s")
                time.sleep(PAUSE_SECONDS)


def run_cold_start(peer: Peer, metric: Metric, built: dict) -> Figures:
    with Session(peer, metric, built) as session:
        wait_for_answers(session.server, peer, [(session.ground.port, "localhost")])
        return {metric.name: (time.perf_counter() - session.started) * 1e3}


def run_idle_memory(peer: Peer, metric: Metric, built: dict) -> Figures:
    with Session(peer, metric, built) as session:
        wait_for_answers(session.server, peer, [(session.ground.port, "localhost")])
        time.sleep(SETTLE_SECONDS)
        return {metric.name: resident_bytes(session.server.pid) / MEBIBYTE}


def run_load_memory(peer: Peer, metric: Metric, built: dict) -> Figures:
    with Session(peer, metric, built) as session:
        run_load(session)
        return {metric.name: resident_bytes(session.server.pid) / MEBIBYTE}


@contextmanager
def many_isolates(peer: Peer, metric: Metric, built: dict, count: int):
    """The process and the milliseconds until all its applications have answered."""
    with tempfile.TemporaryDirectory() as folder:
        ground = Ground(Path(folder), free_port(), workload=metric.workload)
        command, targets = many_command(peer.built_as, program(built, peer.built_as), ground, count)
        with on_cpu(SERVER_CPU, peer):
            begin = time.perf_counter()
            child = start(command, env=environment_of(peer, ground) | {"ISOLATES": str(count)})
        with running(child, metric.timeout_seconds) as server:
            wait_for_answers(server, peer, targets)
            yield server, (time.perf_counter() - begin) * 1e3


def isolate_milliseconds(peer: Peer, metric: Metric, built: dict, count: int) -> float:
    with many_isolates(peer, metric, built, count) as (_, milliseconds):
        return milliseconds


def isolate_mebibytes(peer: Peer, metric: Metric, built: dict, count: int) -> float:
    with many_isolates(peer, metric, built, count) as (server, _):
        time.sleep(SETTLE_SECONDS)
        return resident_bytes(server.pid) / MEBIBYTE


def run_isolates(peer: Peer, metric: Metric, built: dict) -> Figures:
    """What each costs beyond the first."""
    one_run = isolate_milliseconds if metric.kind == "isolate_ms" else isolate_mebibytes
    one = one_run(peer, metric, built, 1)
    all_of_them = one_run(peer, metric, built, metric.count)
    return {metric.name: (all_of_them - one) / (metric.count - 1)}


RUNS = {"coldstart": run_cold_start, "rss_idle": run_idle_memory, "rss_load": run_load_memory,
        "isolate_ms": run_isolates, "isolate_mib": run_isolates}


def measure_js(peer: Peer, metric: Metric, built: dict) -> Figures:
    program(built, peer.built_as)
    make_files()
    return RUNS[metric.kind](peer, metric, built)
