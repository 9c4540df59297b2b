"""Measures one HTTP server once: server on one CPU, load (and upstream) on the other."""

import re
import subprocess
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from .building import Unavailable
from .catalog import Metric, Peer, column_row
from .http_catalog import EVENTS_PER_SECOND, HTTP_PEERS
from .js_servers import COMMANDS as JS_COMMANDS
from .js_servers import make_requests
from .process import (CLIENT_CPU, SERVER_CPU, SPARE_FDS, Failed, Figures, cpu_nanoseconds,
                      expect_word, free_port, last_line, on_cpu, raise_fd_limit, running, start,
                      tell)
from .servers import Ground, command_of, environment_of, make_certificate, make_files

SECONDS = 2.0
WARM_SECONDS = 0.5
SETTLE_SECONDS = 0.5
# So many connections come and go before the memory of the others is counted.
CONNECTIONS_BEFORE = 50
EVENTS_ENOUGH = 0.9
SPEED_SECONDS = 1
OPERATIONS_PER_SECOND = {
    "sign": re.compile(r"256 bits ecdsa \(nistp256\)\s+\S+\s+\S+\s+([\d.]+)"),
    "agree": re.compile(r"253 bits ecdh \(X25519\)\s+\S+\s+([\d.]+)"),
}


class Session:
    """A server, what stands behind it, and the load that is put on it; ends with the block."""

    def __init__(self, peer: Peer, metric: Metric, built: dict):
        self.peer, self.metric, self.built = peer, metric, built
        self.stack = ExitStack()

    def __enter__(self):
        with self.stack:
            self.open_server()
            self.stack = self.stack.pop_all()
        return self

    def __exit__(self, *failure):
        return self.stack.__exit__(*failure)

    def open_server(self) -> None:
        folder = Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
        upstream_port = self.open_upstream(folder) if self.metric.upstream else 0
        self.ground = Ground(folder, free_port(), upstream_port,
                             bool(self.metric.load.get("tls")), self.metric.workload)
        self.server = self.open(self.peer, self.ground, SERVER_CPU)

    def open_upstream(self, folder: Path) -> int:
        ground = Ground(folder, free_port())
        bare = next(peer for peer in HTTP_PEERS if peer.family == "epoll")
        self.open(bare, ground, CLIENT_CPU)
        return ground.port

    def open(self, peer: Peer, ground: Ground, cpu: int) -> subprocess.Popen:
        binary = program(self.built, peer.built_as)
        if peer.built_as in JS_COMMANDS:
            command = JS_COMMANDS[peer.built_as](binary, ground)
        else:
            command = command_of(peer, binary, ground)
        with on_cpu(cpu, peer):
            self.started = time.perf_counter()
            child = start(command, env=environment_of(peer, ground))
        return self.stack.enter_context(running(child, self.metric.timeout_seconds))

    def load(self, connections: int) -> subprocess.Popen:
        """Has connected and warmed up when this returns."""
        options = {"port": self.ground.port, "connections": connections, "seconds": SECONDS,
                   "warm": WARM_SECONDS} | self.metric.load
        command = [program(self.built, "http.load"),
                   *(f"{name}={value}" for name, value in options.items())]
        with on_cpu(CLIENT_CPU, self.peer):
            client = start(command)
        self.stack.enter_context(running(client, self.metric.timeout_seconds))
        expect_word(client, self.server, "ready")
        return client


def program(built: dict, name: str) -> Path:
    if isinstance(built[name], Unavailable):
        raise Failed(built[name].reason)
    return built[name]


@dataclass(frozen=True)
class Done:
    """What the load says at the end; latencies in microseconds."""

    requests: float
    seconds: float
    p50: float
    p99: float
    steady: float  # p99 over p50 within a short while


def parse_done(line: str) -> Done:
    words = line.split()
    if len(words) != 6 or words[0] != "done":
        raise Failed(f"the load said `{line.strip()}`")
    return Done(*map(float, words[1:]))


def run_load(session: Session) -> tuple[int, Done]:
    """CPU nanoseconds of the server, and what the load says."""
    client = session.load(session.metric.count)
    before = cpu_nanoseconds(session.server.pid)
    tell(client)
    line = expect_word(client, session.server, "done")
    return cpu_nanoseconds(session.server.pid) - before, parse_done(line)


def run_requests(session: Session) -> Figures:
    spent, done = run_load(session)
    name = session.metric.name
    figures = {column_row(name, "rate"): done.requests / done.seconds,
               column_row(name, "p50"): done.p50, column_row(name, "p99"): done.p99}
    cpu = spent / 1000 / done.requests
    if session.metric.kind == "rate":
        return {name: done.steady, column_row(name, "cpu"): cpu} | figures
    return {name: cpu} | figures


def run_events(session: Session) -> Figures:
    spent, done = run_load(session)
    # The first event of a client may come up to a period after the start.
    expected = session.metric.count * (EVENTS_PER_SECOND * done.seconds - 1)
    if done.requests < EVENTS_ENOUGH * expected:
        raise Failed(f"only {done.requests:.0f} of {expected:.0f} events came")
    name = session.metric.name
    return {name: spent / done.seconds / 1e9 * 100,
            column_row(name, "rate"): done.requests / done.seconds}


def resident_bytes(pid: int) -> int:
    """Page tables count too, as everywhere in bench/."""
    status = Path(f"/proc/{pid}/status").read_text()
    fields = re.findall(r"^(?:VmRSS|VmPTE):\s*(\d+) kB$", status, re.MULTILINE)
    return sum(map(int, fields)) * 1024


def run_idle_connections(session: Session) -> Figures:
    count = session.metric.count
    client = session.load(CONNECTIONS_BEFORE)
    tell(client)
    expect_word(client, session.server, "done")
    client.kill()
    time.sleep(SETTLE_SECONDS)
    before = resident_bytes(session.server.pid)
    session.load(count)
    time.sleep(SETTLE_SECONDS)
    return {session.metric.name: (resident_bytes(session.server.pid) - before) / count}


def parse_speed(text: str) -> float:
    """Microseconds of the server's part of a handshake: one signature, two X25519 (a key of its
    own, and the agreement)."""
    found = {name: line.search(text) for name, line in OPERATIONS_PER_SECOND.items()}
    if not all(found.values()):
        raise Failed(f"openssl speed said `{last_line(text)}`")
    sign, agree = (float(found[name].group(1)) for name in ("sign", "agree"))
    return 1e6 / sign + 2e6 / agree


def run_speed(metric: Metric, binary: Path) -> Figures:
    command = [binary, "speed", "-seconds", str(SPEED_SECONDS), "ecdsap256", "ecdhx25519"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=metric.timeout_seconds)
    return {metric.name: parse_speed(done.stdout)}


RUNS = {"http": run_requests, "rate": run_requests, "sse": run_events,
        "resident": run_idle_connections}


def measure_http(peer: Peer, metric: Metric, built: dict) -> Figures:
    if peer.family == "openssl":
        return run_speed(metric, program(built, peer.built_as))
    program(built, peer.built_as)
    if raise_fd_limit() < metric.count + SPARE_FDS:
        raise Failed(f"needs {metric.count + SPARE_FDS} file descriptors (ulimit -Hn)")
    make_files()
    if metric.load.get("request"):
        make_requests()
    if metric.load.get("tls"):
        make_certificate()
    with Session(peer, metric, built) as session:
        return RUNS[metric.kind](session)
