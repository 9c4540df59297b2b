"""Runs one program once and returns its figures. Every run has a time limit."""

import os
import re
import subprocess
import time
from pathlib import Path

from .building import Unavailable
from .catalog import Metric, Peer
from .data_measuring import RUNS as DATA_RUNS
from .data_measuring import measure_data
from .http_measuring import RUNS as HTTP_RUNS
from .http_measuring import measure_http
from .js_measuring import RUNS as JS_RUNS
from .js_measuring import measure_js
from .process import (CLIENT_CPU, SERVER_CPU, SPARE_FDS, Failed, Figures, cpu_nanoseconds,
                      expect_word, free_port, last_line, on_cpu, raise_fd_limit, running, start,
                      tell)

MESSAGE_BYTES = 64
IDLE_SETTLE_SECONDS = 3  # the report that no fiber can run comes after one, and once
IDLE_SECONDS = 5
SIM_STEPS = re.compile(r"([\d.]+) M steps/s")

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
    if metric.kind in HTTP_RUNS:
        return measure_http(peer, metric, built)
    if metric.kind in JS_RUNS:
        return measure_js(peer, metric, built)
    if metric.kind in DATA_RUNS:
        return measure_data(peer, metric, built)
    binary = built["sim" if metric.kind == "sim" else peer.built_as]
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
