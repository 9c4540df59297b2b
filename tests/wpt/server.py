"""The server of the Web Platform Tests' checkout, on loopback and on ports of its own."""
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

PATIENCE_S = 60
# As `wpt serve`, without the virtual environment that it would make in the checkout.
PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
from tools import localpaths
from tools.serve import serve
if __name__ == "__main__":
    options = serve.get_parser().parse_args(["--config", sys.argv[2]])
    serve.run(venv=None, **vars(options))
"""


def free_ports(count):
    """Ports that nobody has; held together, so that they differ."""
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


class Server:
    """A context: the server runs inside of it. `origin` is where."""

    def __init__(self, checkout):
        self.checkout = checkout
        self.folder = tempfile.TemporaryDirectory(prefix="weft-wpt-server.")
        self.ports = free_ports(7)
        # Whoever is to trust the server is given this file.
        self.authority = Path(self.folder.name) / "authority.pem"
        # Tests take 127.0.0.1 for another origin than localhost.
        self.origin = f"http://localhost:{self.ports[0]}"

    def configuration(self):
        folder = Path(self.folder.name)
        none = {name: [] for name in (
            "http-local", "http-public", "https-local", "https-public",
            "http-private", "https-private", "webtransport-h3", "dns")}
        return {
            "browser_host": "localhost",
            "alternate_hosts": {"alt": "127.0.0.1"},
            "check_subdomains": False,
            "bind_address": True,
            "ports": {"http": self.ports[0:2], "https": self.ports[2:4], "ws": [self.ports[4]],
                      "wss": [self.ports[5]], "h2": [self.ports[6]], **none},
            "ssl": {"type": "pregenerated", "pregenerated": {
                "host_key_path": str(folder / "key.pem"),
                "host_cert_path": str(folder / "certificate.pem")}},
        }

    def make_certificate(self):
        """The checkout's own names a host that is not loopback without an entry in /etc/hosts."""
        folder = Path(self.folder.name)
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
        for arguments in [
            ["-subj", "/CN=tests", "-keyout", folder / "authority.key", "-out", self.authority],
            # Some clients take no certificate that is its own authority.
            ["-subj", "/CN=localhost", "-CA", self.authority, "-CAkey", folder / "authority.key",
             "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
             "-addext", "basicConstraints=critical,CA:FALSE",
             "-keyout", folder / "key.pem", "-out", folder / "certificate.pem"],
        ]:
            subprocess.run(["openssl", "req", "-x509", *key, *arguments], check=True,
                           capture_output=True)

    def __enter__(self):
        folder = Path(self.folder.name)
        program = folder / "serve.py"
        program.write_text(PROGRAM)
        self.make_certificate()
        (folder / "config.json").write_text(json.dumps(self.configuration()))
        self.log = (folder / "log").open("w")
        # A session of its own: it has children, which end with it.
        self.child = subprocess.Popen(
            [sys.executable, program, str(self.checkout), str(folder / "config.json")],
            stdout=self.log, stderr=subprocess.STDOUT, start_new_session=True, cwd=self.checkout)
        end = time.monotonic() + PATIENCE_S
        while not self.answers():
            if time.monotonic() > end or self.child.poll() is not None:
                text = (folder / "log").read_text()
                self.__exit__()
                sys.exit(f"the server of the tests does not start:\n{text[-3000:]}")
            time.sleep(0.2)
        return self

    def answers(self):
        # Each port has a process of its own, and those of WebSockets are the last to come.
        try:
            for port in self.ports:
                socket.create_connection(("localhost", port), timeout=5).close()
            urllib.request.urlopen(self.origin + "/resources/testharness.js", timeout=5).close()
        except (urllib.error.URLError, OSError):
            return False
        return True

    def __exit__(self, *_):
        try:
            os.killpg(self.child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.child.wait()
        self.log.close()
        self.folder.cleanup()
