"""A `weft serve` of one's own, and clients that do what clients do."""
import contextlib
import http.client
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

# The compiled code of the user is neither taken nor added to.
os.environ.setdefault("WEFT_CACHE_DIR", "")
WEFT = os.environ.get("WEFT_PROGRAM") or str(
    Path(__file__).resolve().parents[2] / "build" / "dev" / "bin" / "weft")
LONG = bool(os.environ.get("WEFT_TEST_LONG"))
SANITIZED = b"libasan" in Path(WEFT).read_bytes()
PATIENCE_S = 120
MIB = 1024 * 1024


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def text(self):
        return self.body.decode(errors="replace")

    @property
    def code(self):
        return self.headers.get("weft-error")

    def __repr__(self):
        return f"{self.status} {self.code} {self.text[:200]!r}"


class Weft:
    """A server with one application, whose source is given; or with a configuration."""

    def __init__(self, source="", *, limits=None, arguments=(), config=None, files=None,
                 drain_ms=None, folders=None):
        self.folder = tempfile.TemporaryDirectory(prefix="weft-serve.")
        self.path = Path(self.folder.name)
        (self.path / "app.js").write_text(source)
        for name, text in (files or {}).items():
            (self.path / name).write_text(text)
        if folders:
            folders(self.path)
        if config is None:
            config = {"listeners": [{"address": "127.0.0.1:0"}], "apps": [{"entry": "app.js"}]}
        if limits:
            config["limits"] = limits
        if drain_ms is not None:
            config["drainMs"] = drain_ms
        (self.path / "weft.json").write_text(json.dumps(config))
        self.log_file = open(self.path / "log", "w+b")
        self.process = subprocess.Popen(
            [WEFT, "serve", "--config", self.path / "weft.json", *arguments],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.log_file)
        line = self.process.stdout.readline().decode()
        match = re.search(r"http://[\d.]+:(\d+)/", line)
        if not match:
            status, log = self.close()
            raise AssertionError(f"weft said {line!r} and ended with {status}: {log}")
        self.port = int(match.group(1))

    def log(self):
        return (self.path / "log").read_text(errors="replace")

    def connect(self, timeout=PATIENCE_S):
        return socket.create_connection(("127.0.0.1", self.port), timeout)

    def ask(self, target="/", method="GET", body=None, headers=None, timeout=PATIENCE_S):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request(method, target, body, headers or {})
            response = connection.getresponse()
            return Answer(response.status, response.headers, response.read())
        finally:
            connection.close()

    def send(self, target="/", method="GET", headers="", body=b""):
        """A connection on which a request has been sent."""
        client = self.connect()
        client.sendall(f"{method} {target} HTTP/1.1\r\nhost: test\r\n{headers}\r\n".encode() + body)
        return client

    def begin(self, target, **options):
        """The same, when the handler has the request: the application counts them at /begun."""
        before = self.json("/begun")
        client = self.send(target, **options)
        self.until(lambda: self.json("/begun") > before, f"the begin of {target}")
        return client

    def json(self, target="/", **options):
        answer = self.ask(target, **options)
        assert answer.status == 200, answer
        return json.loads(answer.text)

    def until(self, condition, what="it", patience=PATIENCE_S):
        """Waits until the condition holds, and gives what it gave."""
        end = time.monotonic() + patience
        while time.monotonic() < end:
            found = condition()
            if found:
                return found
            time.sleep(0.02)
        raise AssertionError(f"{what} did not come about; the log: {self.log()[-2000:]}")

    def alive(self):
        return self.process.poll() is None

    def rss(self):
        if SANITIZED:
            return 0  # The sanitizer keeps what was freed for a while: it would be counted.
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        raise AssertionError("no VmRSS")

    def peak_rss(self):
        if SANITIZED:
            return 0
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
        raise AssertionError("no VmHWM")

    def cpu_ticks(self):
        """Of all threads; a hundred make a second."""
        words = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return int(words[11]) + int(words[12])

    def switches(self):
        """How often its threads have gone to sleep."""
        count = 0
        for status in Path(f"/proc/{self.process.pid}/task").glob("*/status"):
            with contextlib.suppress(OSError):  # a thread may have ended meanwhile
                for line in status.read_text().splitlines():
                    if line.startswith("voluntary_ctxt_switches:"):
                        count += int(line.split()[1])
        return count

    def sockets(self):
        """How many connections and listeners the process holds."""
        count = 0
        for entry in Path(f"/proc/{self.process.pid}/fd").iterdir():
            try:
                count += os.readlink(entry).startswith("socket:")
            except OSError:
                pass
        return count

    def stop(self):
        """Asks it to end, if it has begun, and gives its exit status."""
        if self.alive() and hasattr(self, "port"):
            self.process.terminate()
        try:
            return self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return "killed"

    def close(self):
        status = self.stop()
        text = self.log()
        self.process.stdout.close()
        self.log_file.close()
        self.folder.cleanup()
        return status, text


class ServeTest(unittest.TestCase):
    """A server for each class: SOURCE and OPTIONS. It ends well when all tests are over."""

    SOURCE = ""
    OPTIONS = {}

    @classmethod
    def setUpClass(cls):
        cls.weft = Weft(cls.SOURCE, **cls.OPTIONS)

    @classmethod
    def tearDownClass(cls):
        status, text = cls.weft.close()
        if status != 0:
            raise AssertionError(f"weft ended with {status}: {text[-4000:]}")

    def assert_answers(self, weft=None):
        """The server goes on."""
        weft = weft or self.weft
        answer = weft.ask("/ok")
        self.assertEqual((answer.status, answer.text), (200, "ok"), weft.log()[-2000:])

    def assert_failed(self, answer, code, text=""):
        self.assertEqual((answer.status, answer.code), (500, code), answer)
        self.assertIn(text, answer.text)


def read_to_end(client):
    parts = []
    try:
        while part := client.recv(65536):
            parts.append(part)
    except ConnectionResetError:
        pass
    client.close()
    return b"".join(parts)


def in_threads(count, function):
    """Calls function(index) in threads, and gives the outcomes in their order."""
    outcomes = [None] * count

    def work(index):
        try:
            outcomes[index] = function(index)
        except Exception as error:  # noqa: BLE001: told to whoever asked
            outcomes[index] = error

    threads = [threading.Thread(target=work, args=[index]) for index in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for outcome in outcomes:
        if isinstance(outcome, Exception):
            raise outcome
    return outcomes


def main():
    unittest.main(verbosity=2 if "-v" in sys.argv else 1)
