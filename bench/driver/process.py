"""Child processes of the driver: starting, pinning, talking with them, and what they have used."""

import os
import resource
import socket
import subprocess
import threading
import time
from contextlib import contextmanager

from .catalog import Peer

SERVER_CPU = 0
CLIENT_CPU = 1
SPARE_FDS = 100

Figures = dict[str, float]  # row → value


class Failed(Exception):
    """The program gave no figure; the text says why."""


def raise_fd_limit() -> int:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:160] if lines else "no message"


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


def expect_word(client: subprocess.Popen, server: subprocess.Popen, word: str) -> str:
    """The line that the client says, which must begin with the word."""
    line = client.stdout.readline()
    if line.startswith(word):
        return line
    if server.poll() is not None:
        raise Failed(f"the server ended: {last_line(server.communicate()[1])}")
    raise Failed(f"the client got no answer: {last_line(client.communicate()[1])}")


def tell(client: subprocess.Popen) -> None:
    client.stdin.write("\n")
    client.stdin.flush()
