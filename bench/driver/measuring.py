"""Runs one program once and returns its figures. Every run has a time limit."""

import os
import re
import resource
import socket
import subprocess
import threading
import time
from contextlib import contextmanager
from pathlib import Path

from .building import Unavailable
from .catalog import Metric, Peer

MESSAGE_BYTES = 64
SERVER_CPU = 0
CLIENT_CPU = 1
SPARE_FDS = 100
IDLE_SETTLE_SECONDS = 1
IDLE_SECONDS = 5
SIM_STEPS = re.compile(r"([\d.]+) M steps/s")

Figures = dict[str, float]  # row → value


class Failed(Exception):
    """The program gave no figure; the text says why."""


def raise_fd_limit() -> int:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def environment_for(peer: Peer) -> dict[str, str]:
    return os.environ | {peer.workers_variable: str(peer.workers)}


def parse_lines(text: str, peer: Peer, metric: Metric) -> Figures:
    """Lines `peer metric value unit`; anything else a program says is not for us."""
    figures = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) == 4 and words[0] == peer.name and words[1] in metric.rows():
            figures[words[1]] = float(words[2])
    if metric.name not in figures:
        raise Failed(f"no line `{peer.name} {metric.name} …` in the output")
    return figures


def last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:160] if lines else "no message"


def output_of(peer: Peer, metric: Metric, command: list) -> str:
    try:
        done = subprocess.run(command, env=environment_for(peer), capture_output=True, text=True,
                              timeout=metric.timeout_seconds)
    except subprocess.TimeoutExpired:
        raise Failed(f"not finished within {metric.timeout_seconds} s") from None
    if done.returncode != 0:
        raise Failed(f"ended with {done.returncode}: {last_line(done.stderr)}")
    return done.stdout


def run_program(peer: Peer, metric: Metric, binary: Path) -> Figures:
    text = output_of(peer, metric, [binary, metric.name, str(metric.count)])
    return parse_lines(text, peer, metric)


def run_sim(peer: Peer, metric: Metric, binary: Path) -> Figures:
    text = output_of(peer, metric, [binary, "--seeds", str(metric.count)])
    match = SIM_STEPS.search(text)
    if match is None:
        raise Failed(f"no `… M steps/s` in the output: {last_line(text)}")
    return {metric.name: float(match.group(1)) * 1e6}


def start(command: list, **options) -> subprocess.Popen:
    return subprocess.Popen(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, **options)


@contextmanager
def running(child: subprocess.Popen, timeout_seconds: int):
    """Kills the child at the end of the block, or when it has run for too long."""
    watchdog = threading.Timer(timeout_seconds, child.kill)
    watchdog.start()
    try:
        yield child
    finally:
        watchdog.cancel()
        child.kill()
        child.communicate()


@contextmanager
def on_cpu(cpu: int, peer: Peer):
    """What is started in the block inherits the CPU; peers of several workers use all of them."""
    allowed = os.sched_getaffinity(0)
    if peer.workers == 1 and cpu in allowed:
        os.sched_setaffinity(0, {cpu})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def cpu_nanoseconds(pid: int) -> int:
    """User and system time of all threads of a process, by the kernel's CPU clock of that process
    (clock_getcpuclockid): nanoseconds, where /proc/<pid>/stat counts in hundredths of a second."""
    cpu_clock_of_process = (~pid << 3) | 2
    return time.clock_gettime_ns(cpu_clock_of_process)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def expect_word(client: subprocess.Popen, server: subprocess.Popen, word: str) -> None:
    line = client.stdout.readline()
    if line.startswith(word):
        return
    if server.poll() is not None:
        raise Failed(f"the server ended: {last_line(server.communicate()[1])}")
    raise Failed(f"the client got no answer: {last_line(client.communicate()[1])}")


def tell(client: subprocess.Popen) -> None:
    client.stdin.write("\n")
    client.stdin.flush()


def run_echo(peer: Peer, metric: Metric, server_binary: Path, client_binary: Path) -> Figures:
    """CPU time of the server from the first message to the last; not the connecting, not the end.

    A server of one worker has CPU 0 and the client CPU 1; others share both.
    """
    if raise_fd_limit() < metric.count + SPARE_FDS:
        raise Failed(f"needs {metric.count + SPARE_FDS} file descriptors (ulimit -Hn)")
    port = str(free_port())
    load = [client_binary, port, str(metric.count), str(metric.messages_each), str(MESSAGE_BYTES)]
    limit = metric.timeout_seconds
    with on_cpu(SERVER_CPU, peer):
        server = start([server_binary, "echo", port], env=environment_for(peer))
    with running(server, limit):
        with on_cpu(CLIENT_CPU, peer):
            client = start(load)
        with running(client, limit):
            expect_word(client, server, "connected")
            before = cpu_nanoseconds(server.pid)
            tell(client)
            expect_word(client, server, "done")
            spent = cpu_nanoseconds(server.pid) - before
    return {metric.name: spent / 1000 / (metric.count * metric.messages_each)}


def context_switches(pid: int) -> int:
    total = 0
    for status in Path(f"/proc/{pid}/task").glob("*/status"):
        for line in status.read_text().splitlines():
            if "voluntary_ctxt_switches" in line:  # also matches nonvoluntary_…
                total += int(line.split()[1])
    return total


def run_idle(peer: Peer, metric: Metric, binary: Path) -> Figures:
    """The program parks its fibers, prints `ready`, and is watched."""
    command = [binary, "idle", str(metric.count)]
    child = start(command, env=environment_for(peer))
    with running(child, metric.timeout_seconds):
        if not child.stdout.readline().startswith("ready"):
            raise Failed(f"did not get ready: {last_line(child.communicate()[1])}")
        time.sleep(IDLE_SETTLE_SECONDS)
        before = context_switches(child.pid)
        time.sleep(IDLE_SECONDS)
        return {metric.name: (context_switches(child.pid) - before) / IDLE_SECONDS}


def warm_memory(metric: Metric, built: dict) -> None:
    """Touches a page for each fiber of the run, and frees them again.

    A virtual machine gives free memory back to its host within seconds; the next to touch it pays
    for that, up to five times the time of the whole run, and it would be chance whom it hits.
    """
    if isinstance(built["floor"], Unavailable):
        raise Failed(built["floor"].reason)
    done = subprocess.run([built["floor"], "sleep", str(metric.count)], capture_output=True,
                          text=True, timeout=metric.timeout_seconds)
    if done.returncode != 0:
        raise Failed(f"memory could not be warmed: {last_line(done.stderr)}")


def measure(peer: Peer, metric: Metric, built: dict) -> Figures:
    binary = built["sim" if metric.kind == "sim" else peer.family]
    if isinstance(binary, Unavailable):
        raise Failed(binary.reason)
    if metric.warm_memory:
        warm_memory(metric, built)
    if metric.kind == "program":
        return run_program(peer, metric, binary)
    if metric.kind == "echo":
        client = built["client"]
        if isinstance(client, Unavailable):
            raise Failed(client.reason)
        return run_echo(peer, metric, binary, client)
    if metric.kind == "idle":
        return run_idle(peer, metric, binary)
    return run_sim(peer, metric, binary)
