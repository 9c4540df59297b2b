"""How each HTTP server of bench/ is started: its command, its environment, its configuration."""

import getpass
import os
import random
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .building import BENCH, OUTPUT
from .catalog import Peer

WWW = OUTPUT / "www"
TLS = OUTPUT / "tls"
HELLO = b"Hello, World!"
FILE_BYTES = {"10k.bin": 10 * 1024, "1m.bin": 1024 * 1024}

NGINX_TLS_LINES = f"""ssl_certificate {TLS}/cert.pem;
        ssl_certificate_key {TLS}/key.pem;
        ssl_protocols TLSv1.3;
        ssl_ecdh_curve X25519;
        ssl_session_cache off;"""

# Configuration file, and the arguments that come before its path.
CONFIGURED = {
    "nginx": ("nginx/nginx.conf", ["-e", "stderr", "-c"]),
    "haproxy": ("haproxy/haproxy.cfg", ["-f"]),
    "h2o": ("h2o/h2o.conf", ["-c"]),
}


@dataclass(frozen=True)
class Ground:
    """Where one server runs; a port 0 is none."""

    folder: Path  # for its configuration and what it leaves behind
    port: int
    upstream_port: int = 0
    tls: bool = False
    workload: str = ""  # of a server of bench-js


def make_files() -> None:
    """What the servers serve: the same bytes for all."""
    WWW.mkdir(parents=True, exist_ok=True)
    (WWW / "plaintext").write_bytes(HELLO)
    for name, count in FILE_BYTES.items():
        if not (WWW / name).exists():
            (WWW / name).write_bytes(random.Random(count).randbytes(count))


def make_certificate() -> None:
    if (TLS / "cert.pem").exists():
        return
    TLS.mkdir(parents=True, exist_ok=True)
    subprocess.run(["openssl", "req", "-x509", "-nodes", "-days", "3650", "-subj", "/CN=localhost",
                    "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                    "-keyout", TLS / "key.pem", "-out", TLS / "cert.pem"],
                   check=True, capture_output=True)


def fill(template: str, ground: Ground, **more: str) -> str:
    """The placeholders are @NAME@."""
    values = {
        "PORT": ground.port,
        "UPSTREAM_PORT": ground.upstream_port or 1,  # a configuration must name one
        "WORKLOAD": ground.workload,
        "WWW": WWW,
        "FOLDER": ground.folder,
        "USER": getpass.getuser(),
        "SSL": "ssl" if ground.tls else "",
        "SSL_LINES": NGINX_TLS_LINES if ground.tls else "",
    } | more
    for name, value in values.items():
        template = template.replace(f"@{name}@", str(value))
    return template


def write_configuration(name: str, ground: Ground, **more: str) -> Path:
    file = ground.folder / Path(name).name
    file.write_text(fill((BENCH / "peers" / name).read_text(), ground, **more))
    return file


def command_of(peer: Peer, binary: Path, ground: Ground) -> list:
    if peer.family == "node":
        return [binary, BENCH / "peers/node/server.mjs"]
    if peer.family not in CONFIGURED:
        return [binary]
    name, arguments = CONFIGURED[peer.family]
    return [binary, *arguments, write_configuration(name, ground)]


def environment_of(peer: Peer, ground: Ground) -> dict[str, str]:
    return os.environ | {
        peer.workers_variable: str(peer.workers),
        "PORT": str(ground.port),
        "WWW": str(WWW),
        "UPSTREAM_PORT": str(ground.upstream_port or ""),
        "TLS": str(TLS) if ground.tls else "",
        "WORKLOAD": ground.workload,
        "SERVER": peer.family,
        "NODE_ENV": "production",
        "DENO_NO_UPDATE_CHECK": "1",
    }
