"""Clients of others at our server."""
import re
import subprocess
import threading
import time
import urllib.request

LARGE = bytes(range(256)) * 1200
HUGE_BYTES = 16 * 1024 * 1024
ATTACKERS = 200
FEW = 5
SLOWEST_S = 2
STALL_LOOK_S = 0.05


def output_of(*command, limit_s=20):
    done = subprocess.run([str(word) for word in command], capture_output=True, timeout=limit_s,
                          check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} ended with {done.returncode}: {done.stderr[-200:]!r}")
    return done.stdout, done.stderr.decode("latin-1")


def differs(what, got, wanted):
    return "" if got == wanted else f"{what}: {got!r:.200}, not {wanted!r:.200}"


class Curl:
    def __init__(self, url, folder):
        self.url = url
        self.file = folder / "large"

    def keeps_a_connection(self):
        got, _ = output_of("curl", "-sS", "-w", "%{num_connects} ", self.url, self.url, self.url)
        return differs("bodies and connects", got, b"hello, world\n1 " + b"hello, world\n0 " * 2)

    def uploads_in_chunks(self):
        got, said = output_of("curl", "-sSv", "-H", "Transfer-Encoding: chunked", "-H", "Expect:",
                              "--data-binary", f"@{self.file}", self.url + "echo")
        if "> Transfer-Encoding: chunked" not in said:
            return "curl did not send chunks"
        return differs("echo", got, LARGE)

    def waits_for_100(self):
        got, said = output_of("curl", "-sSv", "-H", "Expect: 100-continue", "--data-binary",
                              f"@{self.file}", self.url + "echo")
        if "< HTTP/1.1 100" not in said:
            return "there was no 100 (Continue)"
        return differs("echo", got, LARGE)

    def speaks_http_1_0(self):
        for target, wanted in (("", 13), ("stream", 64 * 4096)):
            got, _ = output_of("curl", "-sS", "--http1.0", self.url + target)
            if len(got) != wanted:
                return f"/{target} gave {len(got)} bytes, not {wanted}"
        return ""

    def asks_for_the_head(self):
        got, _ = output_of("curl", "-sSI", "-w", "%{size_download}", self.url)
        if not re.search(rb"\r\ncontent-length: 13\r\n", got, re.IGNORECASE):
            return f"no length: {got!r}"
        return "" if got.endswith(b"\r\n\r\n0") else f"with a body: {got!r}"

    def asks_for_ranges(self):
        for asked, wanted in (("100-199", LARGE[100:200]), ("-5", LARGE[-5:]),
                              (f"{len(LARGE) - 3}-", LARGE[-3:])):
            got, _ = output_of("curl", "-sS", "-w", "%{http_code}", "-r", asked,
                               self.url + "files/large")
            if trouble := differs(asked, got, wanted + b"206"):
                return trouble
        return ""

    def is_told_that_nothing_changed(self):
        got, _ = output_of("curl", "-sS", "-w", "%{http_code}", "-z", self.file,
                           self.url + "files/large")
        return differs("conditional", got, b"304")


def wrk(url):
    said = output_of("wrk", "-t1", "-c16", "-d2s", url)[0].decode()
    count = re.search(r"(\d+) requests in", said)
    if not count or int(count[1]) < 100 or "Socket errors" in said or "Non-2xx" in said:
        return said
    return ""


def h2load(url):
    said = output_of("h2load", "--h1", "-n", 4000, "-c", 16, "-t", 1, url)[0].decode()
    good = "4000 succeeded, 0 failed, 0 errored, 0 timeout" in said
    return "" if good else said


def connections(url):
    return int(urllib.request.urlopen(url + "stats", timeout=5).read().split()[0])


def attack(url, mode, target, *more):
    """slowhttptest with many connections. A good client is answered meanwhile, and the server lets
    go of the bad ones by itself before the attack is over. The attacker need not see that: who does
    not read does not come to the end of what the kernel still has for him."""
    answers = []
    stalls = [0.0]
    over = threading.Event()

    def watch():
        while not over.is_set():
            begun = time.monotonic()
            time.sleep(STALL_LOOK_S)
            stalls.append(time.monotonic() - begun - STALL_LOOK_S)

    def ask():
        while not over.is_set():
            begun = time.monotonic()
            body = urllib.request.urlopen(url, timeout=10).read()
            answers.append((body, time.monotonic() - begun, connections(url), begun))
            time.sleep(0.02)

    threads = [threading.Thread(target=ask), threading.Thread(target=watch)]
    for thread in threads:
        thread.start()
    try:
        said = output_of("slowhttptest", mode, "-c", ATTACKERS, "-r", ATTACKERS, "-i", 1, "-l", 8,
                         "-p", 3, "-v", 1, "-u", url + target, *more)[0].decode("latin-1")
    finally:
        ended = time.monotonic()
        over.set()
        for thread in threads:
            thread.join()
    if len(answers) < 5 or any(body != b"hello, world\n" for body, *_ in answers):
        return f"a good client was not answered: {answers[-3:]}"
    # Whoever is to blame for a moment in which nobody on this machine ran, the server is not.
    if (slowest := max(took for _, took, *_ in answers)) > SLOWEST_S + max(stalls):
        return f"a good client was answered after {slowest:.1f} s"
    during = [count for *_, count, when in answers if when < ended - 0.5]
    if (most := max(during)) < ATTACKERS // 4:
        return f"there was no attack: {most} connections"
    if "No open connections left" not in said and min(during[during.index(most):]) > FEW:
        return f"connections stayed: {during[-1]}; {said[-300:]}"
    return ""


def tests(servers, server_program):
    folder = servers.new_folder("files")
    (folder / "large").write_bytes(LARGE)
    (folder / "huge").write_bytes(bytes(HUGE_BYTES))
    server, port = servers.start_ours([server_program, "127.0.0.1:0", folder])
    url = f"http://127.0.0.1:{port}/"
    curl = Curl(url, folder)
    for name in ("keeps_a_connection", "uploads_in_chunks", "waits_for_100", "speaks_http_1_0",
                 "asks_for_the_head", "asks_for_ranges", "is_told_that_nothing_changed"):
        yield f"curl {name.replace('_', ' ')}", getattr(curl, name)
    yield "wrk gets no errors", lambda: wrk(url)
    yield "h2load --h1 gets no errors", lambda: h2load(url)
    yield "the server ends in order", lambda: servers.end(server)

    strict, port = servers.start_ours([server_program, "127.0.0.1:0", folder, "short-limits"])
    attacked = f"http://127.0.0.1:{port}/"
    yield "slowhttptest: slow heads", lambda: attack(attacked, "-H", "")
    yield "slowhttptest: slow bodies", lambda: attack(attacked, "-B", "echo")
    yield ("slowhttptest: slow reading",
           lambda: attack(attacked, "-X", "files/huge", "-n", 1, "-z", 5))
    yield "the attacked server ends in order", lambda: servers.end(strict)
