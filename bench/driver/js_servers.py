"""How each runtime of bench-js is started, and what it is asked."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

from .building import BENCH
from .js_catalog import REQUESTS
from .process import free_port
from .servers import Ground, write_configuration

SCRIPTS = BENCH / "peers" / "js"
DENO_OPTIONS = ["run", "-A", "--no-lock", "--no-config", "--quiet"]
ITEMS = 16
JSON_BYTES = 1024
HEADERS_REQUEST = """GET /users/1234/posts/5678?page=3&sort=desc&q=hello%20world HTTP/1.1
Host: 127.0.0.1
User-Agent: bench/1.0 (linux)
Accept: application/json, text/plain
Accept-Language: en-GB,en;q=0.8
Authorization: Bearer abcdefghijklmnopqrstuvwxyz0123456789
X-Request-Id: 7b0c8f3e-1111-2222-3333-444455556666
Cookie: sid=abcdef0123456789; theme=dark
Cache-Control: no-cache

"""

Targets = list[tuple[int, str]]  # port and Host of every application


def json_request() -> str:
    items = [{"id": i, "name": f"item-{i:02}", "price": i * 3 + 0.5, "tag": "aaaaaa"}
             for i in range(1, ITEMS + 1)]
    value = {"user": "alice", "active": True, "n": 12345, "items": items}
    body = json.dumps(value, separators=(",", ":")).ljust(JSON_BYTES)
    return ("POST / HTTP/1.1\nHost: 127.0.0.1\nContent-Type: application/json\n"
            f"Content-Length: {len(body)}\n\n{body}")


def make_requests() -> None:
    """What the load sends where a GET of a path is not all."""
    REQUESTS.mkdir(parents=True, exist_ok=True)
    for name, text in (("json", json_request()), ("headers", HEADERS_REQUEST)):
        (REQUESTS / name).write_bytes(text.replace("\n", "\r\n").encode())


def weft_application(ground: Ground) -> Path:
    shutil.copy(SCRIPTS / "handlers.mjs", ground.folder)
    name = "weft_file" if ground.workload == "file" else "weft"
    return write_configuration(f"js/{name}.mjs", ground)


def weft_command(binary: Path, ground: Ground) -> list:
    return [binary, "serve", weft_application(ground), "--port", str(ground.port),
            "--isolates", "1", "--allow-fetch", "127.0.0.1"]


def write_workerd(ground: Ground, ports: list[int]) -> Path:
    shutil.copy(SCRIPTS / "handlers.mjs", ground.folder)
    write_configuration("js/workerd.mjs", ground)
    has_worker = ground.workload != "file"
    workers = [f"""(name = "app{i}", worker = (
      modules = [(name = "worker", esModule = embed "workerd.mjs"),
                 (name = "handlers", esModule = embed "handlers.mjs")],
      compatibilityDate = "2026-01-01", globalOutbound = "net")),""" for i in range(len(ports))]
    sockets = [f"""(name = "http{i}", address = "127.0.0.1:{port}", http = (),
     service = "{f'app{i}' if has_worker else 'www'}")""" for i, port in enumerate(ports)]
    return write_configuration("js/workerd.capnp", ground, SOCKETS=", ".join(sockets),
                               WORKERS="\n    ".join(workers) if has_worker else "")


def workerd_command(binary: Path, ground: Ground) -> list:
    return [binary, "serve", write_workerd(ground, [ground.port])]


COMMANDS = {
    "js.weft": weft_command,
    "js.workerd": workerd_command,
    "js.node20": lambda binary, _: [binary, SCRIPTS / "node.mjs"],
    "js.node24": lambda binary, _: [binary, SCRIPTS / "node.mjs"],
    "js.bun": lambda binary, _: [binary, SCRIPTS / "bun.mjs"],
    "js.deno": lambda binary, _: [binary, *DENO_OPTIONS, SCRIPTS / "deno.mjs"],
    "js.go": lambda binary, _: [binary],
}


def many_wefts(binary: Path, ground: Ground, count: int) -> tuple[list, Targets]:
    entry = weft_application(ground).name
    apps = [{"name": f"app{i}", "hosts": [f"app{i}"], "entry": entry} for i in range(count)]
    config = write_configuration("js/weft.json", ground,
                                 APPS=", ".join(json.dumps(app) for app in apps))
    return ([binary, "serve", "--config", config],
            [(ground.port, f"app{i}") for i in range(count)])


def many_workerds(binary: Path, ground: Ground, count: int) -> tuple[list, Targets]:
    ports = [ground.port, *(free_port() for _ in range(count - 1))]
    command = [binary, "serve", write_workerd(ground, ports)]
    return command, [(port, "localhost") for port in ports]


def many_workers(binary: Path, ground: Ground, _: int) -> tuple[list, Targets]:
    options = DENO_OPTIONS if binary.name == "deno" else []
    return [binary, *options, SCRIPTS / "workers.mjs"], [(ground.port, "localhost")]


MANY = {"js.weft": many_wefts, "js.workerd": many_workerds}


def many_command(built_as: str, binary: Path, ground: Ground, count: int) -> tuple[list, Targets]:
    """A process of so many applications, and where each of them answers."""
    plain = replace(ground, workload="plaintext")
    return MANY.get(built_as, many_workers)(binary, plain, count)
